"""The generalized chained purge on rows: may this row go now, and if not, what does it wait for?

The reference for a run time. It follows no fixed recipe: a binding moves to any stream whose stored punctuations rule
out all new partners of it, so that whichever punctuations come first are used. For equality joins it is exact in any
order: a binding that cannot move has a future that joins it, made of rows with new values in all other streams.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.punctuation.defeat import StreamRow
from penstock.closing.punctuation.forward_chaining import SchemeRule, rules_of
from penstock.closing.punctuation.join_classes import ZERO, JoinClasses, join_classes, nearest
from penstock.closing.punctuation.query import PunctuatedJoin
from penstock.closing.punctuation.schemes import Punctuation, Scheme
from tests.reference.punctuation.rows import Binding, joined


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row that must stay: some stored rows that it joins so far, and the punctuations that would move them on.

    Each of `missing` is a set of which all are needed; any of the sets will do. It is the watch list of the row. None
    is there where no scheme can help: the state is not purgeable.
    """

    rows: tuple[StreamRow, ...]
    missing: tuple[frozenset[Punctuation], ...]


def chained_purge(
    query: PunctuatedJoin,
    schemes: Sequence[Scheme],
    stored: Mapping[str, Sequence[StreamRow]],
    punctuations: Iterable[Punctuation],
    row: StreamRow,
) -> Waiting | None:
    """None if the row joins nothing new, given the rows stored and the punctuations that hold.

    >>> from penstock.closing.join_predicates import JoinEquality
    >>> from penstock.closing.punctuation.query import PunctuatedStream
    >>> item, bid = PunctuatedStream("item", ("id",)), PunctuatedStream("bid", ("auction",))
    >>> equal = JoinEquality(JoinAttribute("item", "id"), JoinAttribute("bid", "auction"))
    >>> query = PunctuatedJoin((item, bid), (equal,))
    >>> closing, lamp = Scheme("bid", ("auction",)), StreamRow("item", (("id", 7),))
    >>> print(*chained_purge(query, [closing], {}, [], lamp).missing[0])
    bid(auction = 7)
    >>> chained_purge(query, [closing], {}, [Punctuation(closing, (7,))], lamp) is None
    True
    """
    classes = join_classes(query)
    if classes.solution is None or (start := joined(classes, {}, row)) is None:
        return None
    rules, held = rules_of(classes, schemes).rules, Held.of(punctuations)
    stack: list[tuple[tuple[StreamRow, ...], Binding]] = [((row,), start)]
    while stack:
        rows, binding = stack.pop()
        reached = {each.stream for each in rows}
        if len(reached) == len(query.streams):
            continue
        wanted = [
            (rule.scheme.stream, missing_punctuations(classes, rule, binding, held))
            for rule in rules
            if rule.scheme.stream not in reached and applies(classes, rule, binding)
        ]
        stream = next((stream for stream, missing in wanted if not missing), None)
        if stream is None:
            return Waiting(rows, tuple(dict.fromkeys(missing for _, missing in wanted)))
        partners = ((other, joined(classes, binding, other)) for other in stored.get(stream, ()))
        stack += [((*rows, other), more) for other, more in partners if more is not None]
    return None


@dataclass(frozen=True, slots=True)
class Held:
    """The punctuations that hold: of each scheme, by value, up to which order."""

    upto: Mapping[Scheme, Mapping[tuple[Hashable, ...], int | None]]

    @staticmethod
    def of(punctuations: Iterable[Punctuation]) -> Held:
        upto: dict[Scheme, dict[tuple[Hashable, ...], int | None]] = {}
        for each in punctuations:
            values = upto.setdefault(each.scheme, {})
            before = values.get(each.values)
            values[each.values] = each.upto if before is None else max(before, each.upto or before)
        return Held(upto)

    def has(self, punctuation: Punctuation) -> bool:
        values = self.upto.get(punctuation.scheme, {})
        if punctuation.values not in values:
            return False
        held = values[punctuation.values]
        return punctuation.upto is None or (held is not None and held >= punctuation.upto)

    def is_highest(self, punctuation: Punctuation) -> bool:
        return self.upto[punctuation.scheme][punctuation.values] == punctuation.upto


def applies(classes: JoinClasses, rule: SchemeRule, binding: Binding) -> bool:
    """Finitely many punctuations of the scheme would do for the binding."""
    known = (_values(classes, number, binding) is not None for number in rule.needs)
    return all(known) and (rule.order is None or _upper(classes, rule.order, binding) is not None)


def missing_punctuations(
    classes: JoinClasses, rule: SchemeRule, binding: Binding, held: Held
) -> frozenset[Punctuation]:
    upto = None if rule.order is None else _upper(classes, rule.order, binding)
    numbers = [classes.of[JoinAttribute(rule.scheme.stream, name)] for name in rule.scheme.attributes]
    choices = {number: _values(classes, number, binding) or () for number in dict.fromkeys(numbers)}
    return frozenset(
        punctuation
        for chosen in product(*choices.values())
        for value in [dict(zip(choices, chosen, strict=True))]
        for punctuation in [Punctuation(rule.scheme, tuple(value[number] for number in numbers), upto)]
        if not held.has(punctuation)
    )


def _values(classes: JoinClasses, number: int, binding: Binding) -> Iterable[Hashable] | None:
    """The values that a class may have in a result with these rows, if they are finitely many."""
    if number in binding:
        return (binding[number],)
    if number in classes.finite:
        return sorted(classes.finite[number], key=repr)
    lower, upper = _lower(classes, number, binding), _upper(classes, number, binding)
    return None if lower is None or upper is None else range(lower, upper + 1)


def _upper(classes: JoinClasses, number: int, binding: Binding) -> int | None:
    if number in classes.finite and number not in binding:
        return max(value for value in classes.finite[number] if isinstance(value, int))
    bounds = nearest(classes.downward, number, binding)
    return min((value + bounds[source] for source, value in _whole(bounds, binding)), default=None)


def _lower(classes: JoinClasses, number: int, binding: Binding) -> int | None:
    bounds = nearest(classes.upward, number, binding)
    return max((value - bounds[source] for source, value in _whole(bounds, binding)), default=None)


def _whole(bounds: Mapping[int, int], binding: Binding) -> Iterator[tuple[int, int]]:
    for source in bounds:
        value = 0 if source == ZERO else binding[source]
        if isinstance(value, int):
            yield source, value
