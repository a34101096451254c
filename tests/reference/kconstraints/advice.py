"""What would bound a component that is unbounded: a window on its stream, or the guards that are missing.

Guards can be had by RIDS, which ends by itself, or by order, which keeps what is not yet passed. CA(k) is never
advised: it closes only what was referred to. Each remedy is found by growing the streams that guards reach along joins
until those that are required are reached, and then taking away what turns out to be superfluous.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from penstock.closing.kconstraints.join_graph import JoinGraph


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


@dataclass(frozen=True, slots=True)
class Advice:
    """Where to look for remedies; they are worked out only for those who ask.

    Rows of the first of the `starts` are bounded when guards lead from one of the starts to all streams of one of the
    `goals`.
    """

    graph: JoinGraph
    guards: frozenset[tuple[str, str]]
    starts: tuple[str, ...]
    goals: tuple[frozenset[str], ...]

    def remedies(self) -> tuple[tuple[Want, ...], ...]:
        """Sets of declarations that would do, and no part of which would; cheapest for the user first."""
        found: list[tuple[Want, ...]] = [(WantWindow(self.starts[0]),)]
        trees = [_nearest(self.graph, self.guards, start) for start in self.starts]
        ways = [way for tree in trees for goal in self.goals if (way := _way(tree, goal)) is not None]
        if ways:
            pairs = _least(min(ways, key=len), self._suffices)
            found.append(tuple(_want_rids(self.graph, *pair) for pair in pairs))
            orders = {order: _ordered_pairs(self.graph, order) for order in _orders(self.graph, pairs)}
            kept = _least(tuple(orders), lambda some: self._suffices(pair for one in some for pair in orders[one]))
            found.append((*kept,))
        return tuple(found)

    def _suffices(self, added: Iterable[tuple[str, str]]) -> bool:
        guards = self.guards.union(added)
        return any(
            goal <= reached for start in self.starts for reached in (_reached(guards, start),) for goal in self.goals
        )


@dataclass(frozen=True, slots=True)
class _Came:
    """How a stream was reached: from which other, and whether by a guard that is there already."""

    stream: str | None
    by_guard: bool


def _nearest(graph: JoinGraph, known: frozenset[tuple[str, str]], start: str) -> Mapping[str, _Came]:
    """The ways from a stream along guards and joins with the fewest joins, which would have to become guards."""
    guarded: dict[str, list[str]] = {}
    for name, target in known:
        guarded.setdefault(name, []).append(target)
    came: dict[str, _Came] = {}
    queue = deque([(start, _Came(None, by_guard=True))])
    while queue:
        name, how = queue.popleft()
        if name in came:
            continue
        came[name] = how
        queue.extendleft((target, _Came(name, by_guard=True)) for target in sorted(guarded.get(name, ())))
        queue.extend((target, _Came(name, by_guard=False)) for target in graph.neighbours[name])
    return came


def _way(tree: Mapping[str, _Came], goal: frozenset[str]) -> tuple[tuple[str, str], ...] | None:
    """The joins on the ways to all streams of the goal."""
    added: dict[tuple[str, str], None] = {}
    seen: set[str] = set()
    for target in sorted(goal):
        name = target
        while name not in seen:
            seen.add(name)
            if name not in tree:
                return None
            if (before := tree[name].stream) is not None:
                if not tree[name].by_guard:
                    added[before, name] = None
                name = before
    return tuple(added)


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


def _orders(graph: JoinGraph, pairs: Iterable[tuple[str, str]]) -> Iterable[WantOrdered]:
    """Orders that would be guards at these pairs, each once."""
    for stream, target in dict.fromkeys(pairs):
        yield WantOrdered(target, min(graph.attributes(target, graph.shared(stream, target))))


def _ordered_pairs(graph: JoinGraph, order: WantOrdered) -> frozenset[tuple[str, str]]:
    """The guards that an order gives: from each stream that is joined with the column."""
    return frozenset(
        (other, order.stream)
        for other in graph.neighbours[order.stream]
        if order.column in graph.attributes(order.stream, graph.shared(other, order.stream))
    )
