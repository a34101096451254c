"""What a count joins: occurrences in a tree that hangs from the one whose time makes the buckets.

```text
     s ──▶ sa ──▶ a (anti)          s: buckets by its time; sa is joined with s, and no a must match sa
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.algebra.expressions import Expr, columns
from penstock.algebra.printing import expression_text
from penstock.algebra.relations import AntiJoin, Join, Relation, SemiJoin, Unbounded, Window
from penstock.elimination.occurrences import Occurrence, occurrence
from penstock.types import TimeUnit


class NotCounted(Exception):
    """Why a query is not rewritten, as a sentence."""


@dataclass(frozen=True, slots=True)
class Member:
    """An occurrence of the tree, and whether no row of it may match."""

    occurrence: Occurrence
    is_anti: bool = False

    @property
    def name(self) -> str:
        return self.occurrence.name


@dataclass(frozen=True, slots=True)
class Link:
    """An edge of the tree, from the member that is nearer to the root, with the conditions of both."""

    upper: Member
    lower: Member
    on: tuple[Expr, ...]


def join_tree(relation: Relation, root: str) -> tuple[Member, tuple[Link, ...]]:
    """The root's member, and the links, upper ones first."""
    members, conditions = _flat(relation)
    by_name = {member.name: member for member in members}
    if len({member.occurrence.declared for member in members}) < len(members):
        raise NotCounted("a stream is joined with itself")
    edges: dict[frozenset[str], list[Expr]] = {}
    for condition in conditions:
        names = frozenset(column.scope for column in columns(condition))
        if len(names) != 2:
            raise NotCounted(f"{expression_text(condition)} is not a condition of two streams")
        edges.setdefault(names, []).append(condition)
    links: list[Link] = []
    reached = [root]
    for upper in reached:
        for names in [names for names in edges if upper in names]:
            (lower,) = names - {upper}
            if lower in reached:
                raise NotCounted(f"the conditions of {', '.join(sorted(by_name))} go round in a circle")
            links.append(Link(by_name[upper], by_name[lower], tuple(edges.pop(names))))
            reached.append(lower)
    if len(reached) < len(members):
        raise NotCounted(f"{', '.join(sorted(by_name.keys() - set(reached)))} is joined by no condition")
    return by_name[root], tuple(links)


def _flat(relation: Relation) -> tuple[tuple[Member, ...], tuple[Expr, ...]]:
    """All occurrences, and all conditions between them. Who exists is joined: with keys, once."""
    match relation:
        case Join(operands, on):
            parts = [_flat(operand) for operand in operands]
            return tuple(m for members, _ in parts for m in members), (*(c for _, cs in parts for c in cs), *on)
        case SemiJoin(left, right, on) | AntiJoin(left, right, on):
            members, conditions = _flat(left)
            other = _member(right, isinstance(relation, AntiJoin))
            return (*members, other), (*conditions, *on)
    return (_member(relation),), ()


def _member(relation: Relation, is_anti: bool = False) -> Member:
    found = occurrence(relation)
    if found is None or not isinstance(found.leaf, Window):
        raise NotCounted("it joins more than streams")
    if not isinstance(found.leaf.spec, Unbounded):
        raise NotCounted(f"{found.name} has a window")
    if found.leaf.stream.unit is not TimeUnit.MICROSECONDS:
        raise NotCounted(f"the time of {found.name} is not in microseconds")
    return Member(found, is_anti)


def timestamps(members: Iterator[Member]) -> dict[str, str]:
    """The timestamp column of each member."""
    found = {}
    for member in members:
        assert isinstance(member.occurrence.leaf, Window)
        found[member.name] = member.occurrence.leaf.stream.timestamp.name
    return found
