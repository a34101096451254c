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
from penstock.algebra.relations import AntiJoin, Join, Range, Relation, SemiJoin, Unbounded, Window
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

    @property
    def window(self) -> int | None:
        """The length of its window `[RANGE w SLIDE w]`; None if all of its rows count."""
        leaf = self.occurrence.leaf
        return leaf.spec.width if isinstance(leaf, Window) and isinstance(leaf.spec, Range) else None


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
    _require_nested_windows(by_name[root], links)
    if len(reached) < len(members):
        raise NotCounted(f"{', '.join(sorted(by_name.keys() - set(reached)))} is joined by no condition")
    return by_name[root], tuple(links)


def _require_nested_windows(root: Member, links: list[Link]) -> None:
    """Windows are those of the root, and where a stream has one, so have those that follow it."""
    for link in links:
        if link.lower.window not in (None, root.window):
            raise NotCounted(f"the windows of {root.name} and {link.lower.name} differ")
        if link.upper is not root and link.upper.window is not None and link.lower.window is None:
            raise NotCounted(f"{link.upper.name} has a window, and {link.lower.name}, which follows it, has none")


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
    require_bucket(found.leaf)
    if found.leaf.stream.unit is not TimeUnit.MICROSECONDS:
        raise NotCounted(f"the time of {found.name} is not in microseconds")
    return Member(found, is_anti)


def require_bucket(window: Window) -> None:
    """Without a window all rows count; a window is counted if it cuts time into buckets."""
    if not isinstance(window.spec, Unbounded) and sliding(window) is None:
        raise NotCounted(f"{window.stream.occurrence} has a window that is no bucket, as [RANGE w SLIDE w] is")


def sliding(window: Window) -> int | None:
    """The length of a window that slides by its own length, and so cuts time into buckets; None of any other."""
    match window.spec:
        case Range(width, slide) if width == slide:
            return width
    return None


def timestamps(members: Iterator[Member]) -> dict[str, str]:
    """The timestamp column of each member."""
    found = {}
    for member in members:
        assert isinstance(member.occurrence.leaf, Window)
        found[member.name] = member.occurrence.leaf.stream.timestamp.name
    return found
