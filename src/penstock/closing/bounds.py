"""Bounds: how much a piece of state may hold, in numbers where there are any, and in words.

From the best to the worst: nothing, a constant, the rows of a window, what a k-constraint leaves, what is not yet
punctuated, one entry per live key, and no bound at all. All but the last are safe. A sum of bounds is as bad as the
worst of them, and so is a product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from math import prod

from penstock.effort import spend


class BoundKind(Enum):
    """The kinds of bounds, best first."""

    NONE = "none"
    CONSTANT = "constant"
    WINDOW = "window"
    K = "k"
    OPEN = "open"
    KEYS = "keys"
    UNBOUNDED = "unbounded"

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {kind: rank for rank, kind in enumerate(BoundKind)}


@dataclass(frozen=True, slots=True)
class Bound:
    """At most `size` entries, where that number is known; `words` say entries of what, the number included."""

    kind: BoundKind
    words: str = ""
    size: int | None = None
    #: What is counted, where `words` are just a number of it.
    noun: str = ""
    #: The terms of a sum.
    terms: tuple[Bound, ...] = ()

    @property
    def is_safe(self) -> bool:
        return self.kind is not BoundKind.UNBOUNDED


NONE = Bound(BoundKind.NONE, "no state", 0)
UNBOUNDED = Bound(BoundKind.UNBOUNDED, "rows without end")

#: Larger numbers are not written out.
MOST = 10**100


def constant(size: int | None, words: str) -> Bound:
    return Bound(BoundKind.CONSTANT, words, size) if size != 0 else NONE


def entries(size: int, noun: str) -> Bound:
    """A constant number of things.

    >>> entries(9, "bucket").words, entries(1, "row").words
    ('9 buckets', '1 row')
    """
    if size > MOST:
        return Bound(BoundKind.CONSTANT, f"finitely many {plural(noun)}")
    return replace(constant(size, counted(size, noun)), noun=noun)


def _readable(size: int | None) -> int | None:
    """A number, unless it is so large that it says nothing."""
    return None if size is None or size > MOST else size


def least(bounds: Iterable[Bound]) -> Bound:
    """The best of several bounds on one piece of state: the smallest number, or the better kind.

    >>> least([Bound(BoundKind.WINDOW, "1 HOUR of bid"), entries(9, "bucket"), entries(4, "group")]).words
    '4 groups'
    """
    return min(bounds, key=badness, default=UNBOUNDED)


def badness(bound: Bound) -> tuple[int, bool, int]:
    """What a smaller value is better of."""
    return bound.kind.rank, bound.size is None, bound.size or 0


def times(bounds: Iterable[Bound], words: str | None = None) -> Bound:
    """The bound on combinations of an entry of each.

    >>> times([entries(3, "group"), Bound(BoundKind.WINDOW, "10 rows of s", 10)]).words
    '3 groups x 10 rows of s'
    """
    factors = list(bounds)
    if any(factor.size == 0 for factor in factors):
        return NONE
    worst = max(factors, key=lambda factor: factor.kind.rank, default=constant(1, "1 row"))
    if not worst.is_safe:
        return UNBOUNDED
    sizes = [factor.size for factor in factors]
    size = _readable(None if None in sizes else prod(size for size in sizes if size is not None))
    return Bound(worst.kind, words or " x ".join(map(_factor, factors)), size)


def _factor(bound: Bound) -> str:
    """A bound as a factor: sums go in parentheses."""
    is_sum = len(bound.terms) > 1 and " + " in bound.words
    return f"({bound.words})" if is_sum else bound.words


def plus(bounds: Iterable[Bound]) -> Bound:
    """The bound on several pieces of state together."""
    terms = [bound for bound in bounds if bound.kind is not BoundKind.NONE]
    if not terms:
        return NONE
    worst = max(terms, key=lambda term: term.kind.rank)
    if not worst.is_safe:
        return UNBOUNDED
    sizes = [term.size for term in terms]
    size = _readable(None if None in sizes else sum(size for size in sizes if size is not None))
    spend(2 * sum(len(term.terms) for term in terms))  # sums of sums double with each level
    flat = tuple(part for term in terms for part in (term.terms or (term,)))
    return Bound(worst.kind, sum_text(flat), size, terms=flat)


def sum_text(bounds: Iterable[Bound]) -> str:
    """The terms of a sum, numbers of one thing added up, others each once.

    >>> rows = Bound(BoundKind.OPEN, "auctions not yet closed")
    >>> sum_text([entries(9, "bucket"), rows, entries(1, "bucket"), rows])
    '10 buckets + 2 x auctions not yet closed'
    """
    counts: Counter[tuple[str, str]] = Counter()
    for bound in bounds:
        if bound.kind is not BoundKind.NONE:
            counts[bound.noun, "" if bound.noun else bound.words] += (bound.size or 1) if bound.noun else 1
    texts = []
    for (noun, words), number in counts.items():
        texts.append(counted(number, noun) if noun else words if number == 1 else f"{number} x {words}")
    return " + ".join(texts) or NONE.words


def counted(number: int, noun: str) -> str:
    return f"{number} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """
    >>> plural("auction"), plural("entry"), plural("box")
    ('auctions', 'entries', 'boxes')
    """
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
