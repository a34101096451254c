"""All constraints together: by when has each partner of a row arrived, and when can a row take part in nothing new?

Guards chain: if all partners of x in Y are there by some time, and each of these guards Z, then all partners of x in Z
are there some time later. The *deadline* of Y for X is the best chain of guards from X to Y. As in Li et al. (004) a
row can be forgotten in the end if and only if guards lead from its stream to all others; windows cut the wait short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from penstock.closing.kconstraints.join_graph import JoinGraph
from penstock.closing.kconstraints.ordered import ordered_guards
from penstock.closing.kconstraints.rates import duration, rows_during
from penstock.closing.kconstraints.rids import ArrivalGuard, clock_guards, rids_guards
from penstock.closing.kconstraints.streams import ConstrainedStream, JoinOutput
from penstock.closing.kconstraints.waits import After, Passed, Wait, WindowOn, step_within

#: Guards come from these.
GUARDS = (rids_guards, clock_guards, ordered_guards)


def guards(graph: JoinGraph) -> tuple[ArrivalGuard, ...]:
    return tuple(guard for source in GUARDS for guard in source(graph))


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Guards tell by when the partners of a row of `stream` have arrived, in each stream that they lead to."""

    stream: ConstrainedStream
    waits: Mapping[str, Wait]
    #: The path to each target ends with this guard.
    via: Mapping[str, ArrivalGuard]
    streams: Mapping[str, ConstrainedStream]

    def __contains__(self, target: str) -> bool:
        return target in self.waits

    def last(self, targets: Iterable[str]) -> tuple[Wait, ...] | None:
        """When the longest of these is over, all partners in the targets are there; None if one has no deadline."""
        waits = [self.waits.get(target) for target in targets]
        known = [wait for wait in waits if wait is not None]
        return _longest(known) if len(known) == len(waits) else None

    def expiry(self) -> tuple[Wait, ...] | None:
        """After this wait some partner has surely left its window, so that the row joins nothing any more."""
        ends = self.ends()
        return (min(ends.values(), key=self.badness),) if ends else None

    def ends(self) -> Mapping[str, Wait]:
        """After these waits the partner in each stream with a window has surely left it."""
        return {
            name: wait.then(step_within(name, window), WindowOn(name, window))
            for name, wait in self.waits.items()
            if (window := self.streams[name].window) is not None
        }

    def shortest(self, choices: Iterable[tuple[Wait, ...] | None]) -> tuple[Wait, ...] | None:
        """Several bounds are given, each the longest of some waits; the best that is known is taken."""
        known = [choice for choice in choices if choice is not None]
        return min(known, key=lambda waits: max(map(self.badness, waits), default=()), default=None)

    def badness(self, wait: Wait) -> tuple[int, ...]:
        return badness(self.stream, wait, self.streams)

    def rows(self, waits: Iterable[Wait]) -> int | None:
        """At most so many rows are in one of the waits. They are the latest arrivals, so the longest wait decides."""
        counts = [rows_during(self.stream, wait, self.streams) for wait in waits]
        known = [count for count in counts if count is not None]
        return max(known, default=0) if len(known) == len(counts) else None


def _longest(waits: Iterable[Wait]) -> tuple[Wait, ...]:
    """A wait that is the beginning of another is left out: its chain leans on a part of the other's."""
    found: list[Wait] = []
    for wait in sorted(waits, key=lambda wait: -len(wait.steps)):
        if not any(longer.steps[: len(wait.steps)] == wait.steps for longer in found):
            found.append(wait)
    return tuple(found)


def deadlines(graph: JoinGraph, found: Iterable[ArrivalGuard]) -> Mapping[str, Deadlines]:
    """The deadlines for the rows of each stream are shortest paths along the guards (Dijkstra)."""
    streams = {stream.name: stream for stream in graph.query.streams}
    leaving: dict[str, list[ArrivalGuard]] = {name: [] for name in graph.names}
    for guard in found:
        leaving[guard.stream].append(guard)
    return {name: _shortest(streams[name], leaving, streams) for name in graph.names}


def takes_back(graph: JoinGraph) -> bool:
    """Say whether result rows are deleted: rows must then be kept as long as they are in a result."""
    return graph.query.output is JoinOutput.CHANGES and any(stream.window is not None for stream in graph.query.streams)


def badness(
    stream: ConstrainedStream, wait: Wait, streams: Mapping[str, ConstrainedStream]
) -> tuple[int, int, int, int, int]:
    """A shorter wait has fewer open steps, then fewer rows of unknown duration, then a shorter known duration."""
    passings = sum(isinstance(step, Passed) for step in wait.steps)
    own = unknown = known = 0
    for step in wait.steps:
        lasts = duration(Wait((step,)), streams)
        if lasts is not None:
            known += lasts
        elif isinstance(step, After) and streams[step.stream].counted_as == stream.counted_as:
            own += step.rows
        elif isinstance(step, After):
            unknown += step.rows
    return passings, unknown, own, known, len(wait.steps)


def _shortest(
    stream: ConstrainedStream, leaving: Mapping[str, list[ArrivalGuard]], streams: Mapping[str, ConstrainedStream]
) -> Deadlines:
    waits: dict[str, Wait] = {}
    via: dict[str, ArrivalGuard] = {}
    start: tuple[tuple[int, ...], int, str, Wait, ArrivalGuard | None] = ((), 0, stream.name, Wait(), None)
    queue, pushed = [start], 0
    while queue:
        _, _, name, wait, came_by = heappop(queue)
        if name in waits:
            continue
        waits[name] = wait
        if came_by is not None:
            via[name] = came_by
        for guard in leaving[name]:
            pushed += 1
            longer = wait.then(guard.step, guard.fact)
            heappush(queue, (badness(stream, longer, streams), pushed, guard.target, longer, guard))
    return Deadlines(stream, waits, via, streams)
