"""Trees of joins: in which groups the inputs of a join are put together (thesis 5.3; 004, 4.1.2).

    (a ⋈ b ⋈ c)      one MJoin, which keeps no intermediate results
    ((a ⋈ b) ⋈ c)    a binary join whose results are kept, and joined with c

An inner node is a *subresult*: it is materialised, as an input of the join above it. A tree is a value. It is written
with parentheses around what is joined, and blanks between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TreeLeaf:
    """A leaf is an input of the join: a stream, a table, or what is computed below."""

    stream: str

    @property
    def streams(self) -> tuple[str, ...]:
        return (self.stream,)

    def __str__(self) -> str:
        return self.stream


@dataclass(frozen=True, slots=True)
class TreeJoin:
    """A node joins two inputs or, as an MJoin, more."""

    inputs: tuple[JoinTree, ...]

    def __post_init__(self) -> None:
        if len(self.inputs) < 2 or len(set(self.streams)) != len(self.streams):
            raise ValueError(f"no join: {self}")

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(stream for each in self.inputs for stream in each.streams)

    @property
    def is_flat(self) -> bool:
        """Whether it is one MJoin."""
        return all(isinstance(each, TreeLeaf) for each in self.inputs)

    def __str__(self) -> str:
        return f"({' ⋈ '.join(map(str, self.inputs))})"


JoinTree = TreeLeaf | TreeJoin


def flat(names: Iterable[str]) -> TreeJoin:
    """The MJoin of all inputs."""
    return TreeJoin(tuple(map(TreeLeaf, names)))


def nodes(tree: JoinTree) -> Iterator[TreeJoin]:
    """The joins of a tree, from the bottom up."""
    if isinstance(tree, TreeJoin):
        for each in tree.inputs:
            yield from nodes(each)
        yield tree


def restricted(tree: JoinTree, names: frozenset[str]) -> JoinTree | None:
    """What is left of a tree of some of its leaves; None if there are none.

    >>> str(restricted(parsed("((a b) c d)"), frozenset("acd")))
    '(a ⋈ c ⋈ d)'
    """
    if isinstance(tree, TreeLeaf):
        return tree if tree.stream in names else None
    left = [each for below in tree.inputs if (each := restricted(below, names)) is not None]
    return TreeJoin(tuple(left)) if len(left) > 1 else left[0] if left else None


def in_order(tree: TreeJoin, names: Sequence[str]) -> TreeJoin:
    """The tree with its inputs in the order of names: trees that differ in nothing else become equal.

    >>> str(in_order(parsed("(c (b a))"), ("a", "b", "c")))
    '((a ⋈ b) ⋈ c)'
    """
    inputs = (in_order(each, names) if isinstance(each, TreeJoin) else each for each in tree.inputs)
    return TreeJoin(tuple(sorted(inputs, key=lambda each: min(map(names.index, each.streams)))))


_TOKENS = re.compile(r"\s*(?:(?P<mark>[()⋈,])|`(?P<quoted>[^`]+)`|(?P<name>[^\s()⋈,`]+))")


def parsed(text: str) -> TreeJoin:
    """The tree that a text writes. The outermost parentheses may be left out.

    >>> str(parsed("((bid item) seller)")), str(parsed("(bid ⋈ item) ⋈ seller")), str(parsed("a b c"))
    ('((bid ⋈ item) ⋈ seller)', '((bid ⋈ item) ⋈ seller)', '(a ⋈ b ⋈ c)')
    >>> parsed("((a b) c")
    Traceback (most recent call last):
    ValueError: a ( is not closed
    """
    open_: list[list[JoinTree]] = [[]]
    place, text = 0, text.rstrip()
    while place < len(text):
        found = _TOKENS.match(text, place)
        if found is None:
            raise ValueError(f"{text[place:]} is no tree of joins")
        place = found.end()
        if found["mark"] == "(":
            open_.append([])
        elif found["mark"] == ")":
            if len(open_) == 1:
                raise ValueError("a ) closes nothing")
            below = open_.pop()
            open_[-1].append(_joined(below))
        elif found["mark"] is None:
            open_[-1].append(TreeLeaf(found["quoted"] or found["name"]))
    if len(open_) > 1:
        raise ValueError("a ( is not closed")
    whole = _joined(open_[0])
    if isinstance(whole, TreeLeaf):
        raise ValueError("a tree of joins has two inputs or more")
    return whole


def _joined(inputs: list[JoinTree]) -> JoinTree:
    if not inputs:
        raise ValueError("a tree of joins has two inputs or more")
    leaves = [leaf.lower() for each in inputs for leaf in each.streams]
    if twice := [leaf for leaf in leaves if leaves.count(leaf) > 1]:
        raise ValueError(f"{twice[0]} stands twice in it")
    return TreeJoin(tuple(inputs)) if len(inputs) > 1 else inputs[0]


def tree_text(tree: JoinTree) -> str:
    """A tree as it is typed.

    >>> tree_text(parsed("((a ⋈ b) ⋈ `my c`)"))
    '((a b) `my c`)'
    """
    if isinstance(tree, TreeJoin):
        return f"({' '.join(map(tree_text, tree.inputs))})"
    return f"`{tree.stream}`" if re.search(r"[\s()⋈,]", tree.stream) else tree.stream
