"""What would bound a component that is unbounded: a window on its stream, or the guards that are missing.

Guards can be had by RIDS, which ends by itself, or by order, which keeps what is not yet passed. CA(k) is never
advised: it closes only what was referred to. Each remedy is found by growing the streams that guards reach along joins
until those that are required are reached, and then taking away what turns out to be superfluous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from penstock.register.kconstraints.join_graph import JoinGraph
from penstock.register.kconstraints.rids import Guard


@dataclass(frozen=True, slots=True)
class Lack:
    """Nothing says from when on no more row of `target` joins with a given row of `stream`."""

    stream: str
    target: str


@dataclass(frozen=True, slots=True)
class WantRids:
    """Declare RIDS of `stream` on `target`, within rows or time that hold in the data."""

    stream: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WantOrdered:
    """Declare OA on a column, within rows or time that hold in the data."""

    stream: str
    column: str


@dataclass(frozen=True, slots=True)
class WantWindow:
    """Put a window on a stream."""

    stream: str


Want: TypeAlias = WantRids | WantOrdered | WantWindow

T = TypeVar("T")


def lacks(graph: JoinGraph, reached: Iterable[str], targets: Iterable[str]) -> tuple[Lack, ...]:
    """The joins at which guards end: from a stream that is reached to one of the targets that is not."""
    inside = set(reached)
    outside = set(targets) - inside
    return tuple(
        Lack(name, other)
        for name in graph.names
        if name in inside
        for other in graph.neighbours[name]
        if other in outside
    )


def remedies(
    graph: JoinGraph, guards: Iterable[Guard], stream: str, required: Iterable[str]
) -> tuple[tuple[Want, ...], ...]:
    """What would bound rows of a stream that wait for the required streams, cheapest for the user first."""
    known = {(guard.stream, guard.target) for guard in guards}
    wanted = frozenset(required)
    found: list[tuple[Want, ...]] = [(WantWindow(stream),)]
    grown = _grow(graph, known, stream, wanted)
    if grown is not None:
        found.append(tuple(_want_rids(graph, *pair) for pair in grown))
        orders = _least(
            tuple(dict.fromkeys(_want_ordered(graph, *pair) for pair in grown)),
            lambda kept: wanted <= _reached(known | _ordered_pairs(graph, kept), stream),
        )
        found.append(orders)
    return tuple(found)


def _grow(
    graph: JoinGraph, known: set[tuple[str, str]], stream: str, required: frozenset[str]
) -> tuple[tuple[str, str], ...] | None:
    """Pairs of joined streams whose guards would make all required streams reached; None if there are none."""
    added: list[tuple[str, str]] = []
    while not required <= (inside := _reached(known.union(added), stream)):
        pair = _next_pair(graph, inside, required)
        if pair is None:
            return None
        added.append(pair)
    return _least(tuple(added), lambda kept: required <= _reached(known.union(kept), stream))


def _next_pair(graph: JoinGraph, inside: frozenset[str], required: frozenset[str]) -> tuple[str, str] | None:
    """The first step of a shortest way along joins from what is reached to a required stream."""
    first: dict[str, tuple[str, str]] = {}
    level = [(name, other) for name in graph.names if name in inside for other in graph.neighbours[name]]
    while level:
        following: list[tuple[str, str]] = []
        for name, other in level:
            if other in inside or other in first:
                continue
            first[other] = first.get(name, (name, other))
            if other in required:
                return first[other]
            following += [(other, further) for further in graph.neighbours[other]]
        level = following
    return None


def _reached(pairs: Iterable[tuple[str, str]], stream: str) -> frozenset[str]:
    leaving: dict[str, list[str]] = {}
    for name, target in pairs:
        leaving.setdefault(name, []).append(target)
    seen, open_ends = {stream}, [stream]
    while open_ends:
        found = [target for target in leaving.get(open_ends.pop(), ()) if target not in seen]
        seen.update(found)
        open_ends += found
    return frozenset(seen)


def _least(items: tuple[T, ...], suffices: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """The items without those that can be spared. More items never suffice less, so one pass is enough."""
    for item in items:
        rest = tuple(other for other in items if other is not item)
        if suffices(rest):
            items = rest
    return items


def _want_rids(graph: JoinGraph, stream: str, target: str) -> WantRids:
    numbers = sorted(graph.shared(stream, target))
    columns = tuple(min(graph.attributes(stream, {number})) for number in numbers)
    return WantRids(stream, columns, target, tuple(min(graph.attributes(target, {number})) for number in numbers))


def _want_ordered(graph: JoinGraph, stream: str, target: str) -> WantOrdered:
    return WantOrdered(target, min(graph.attributes(target, graph.shared(stream, target))))


def _ordered_pairs(graph: JoinGraph, orders: Iterable[WantOrdered]) -> set[tuple[str, str]]:
    """The guards that orders give: from each stream that is joined with the column."""
    return {
        (other, order.stream)
        for order in orders
        for other in graph.neighbours[order.stream]
        if order.column in graph.attributes(order.stream, graph.shared(other, order.stream))
    }
