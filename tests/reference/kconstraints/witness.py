"""Input that defeats every plan: rows that obey all constraints, and futures each of which needs another of them.

Take the streams that guards reach from a row: deadlines say that its partners there have come. Let N groups of such
partners arrive, with values of their own. No constraint leads from these to the other streams, so each of those is
still free to send, at any later time, the one row that completes one group. A plan that is to answer all N futures must
remember which of the N groups have come: 2^N states, whatever it stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.kconstraints.join_graph import JoinGraph
from penstock.closing.kconstraints.streams import Rids, RowCount
from penstock.effort import spend


@dataclass(frozen=True, slots=True)
class Row:
    stream: str
    at: int
    values: Mapping[str, int]


@dataclass(frozen=True)
class Witness:
    """Of each group the rows of the streams `present` come, in this order; later those of `absent` complete one group.

    Group i has values from i * `pace` on. Two columns have the same value only if the query joins them, and columns
    that tell the time tell it. Filters are taken to let all rows pass, and no filler comes for rates that say `least`.
    """

    graph: JoinGraph
    stream: str
    present: tuple[str, ...]
    absent: tuple[str, ...]

    def rows(self, groups: Iterable[int]) -> Iterator[Row]:
        """The past: groups are numbered from 1 and come in their order, so that some of them can be left out."""
        for group in sorted(groups):
            for name in self.present:
                yield self._row(name, group, at=group)

    def future(self, group: int, groups: int) -> Iterator[Row]:
        """After `groups` groups, the rows that join with those of one of them, if it came."""
        for name in self.absent:
            yield self._row(name, group, at=groups + 1)

    def _row(self, name: str, group: int, at: int) -> Row:
        values = {}
        for attribute in self.graph.stream(name).attributes:
            column = JoinAttribute(name, attribute)
            base = group if self._place(column) in self._places_of_present else at
            values[attribute] = base * self.pace + self._offsets[self._place(column)]
        return Row(name, at * self.pace, values)

    @cached_property
    def pace(self) -> int:
        """Enough time between groups for all offsets, and for each rate."""
        return max(len(self._offsets) + 1, *(stream.rate.per for stream in self.graph.query.streams))

    def _place(self, column: JoinAttribute) -> int | JoinAttribute:
        """Columns of one class have one place, an unjoined column has its own."""
        return self.graph.classes.get(column, column)

    @cached_property
    def _places_of_present(self) -> frozenset[int | JoinAttribute]:
        return frozenset(self._place(column) for column in self._columns if column.stream in self.present)

    @cached_property
    def _columns(self) -> tuple[JoinAttribute, ...]:
        return tuple(
            JoinAttribute(stream.name, name) for stream in self.graph.query.streams for name in stream.attributes
        )

    @cached_property
    def _offsets(self) -> Mapping[int | JoinAttribute, int]:
        """What keeps the values of different places apart; none for those that tell the time."""
        clocks = {
            self._place(JoinAttribute(stream.name, stream.clock.attribute))
            for stream in self.graph.query.streams
            if stream.clock is not None
        }
        offsets: dict[int | JoinAttribute, int] = dict.fromkeys(clocks, 0)
        for column in self._columns:
            offsets.setdefault(self._place(column), len(offsets) + 1)
        return offsets


def witness(graph: JoinGraph, stream: str, reached: Iterable[str]) -> Witness | None:
    """The witness that rows of a stream pile up, if guards reach these streams and no others.

    None where it does not hold as it stands: a stream occurs twice, a window lets go of the past, or strict RIDS both
    ways leaves no order in which rows that join could come.
    """
    streams = graph.query.streams
    inside = frozenset(reached)
    if len({one.counted_as for one in streams}) < len(streams) or any(one.rate.most == 0 for one in streams):
        return None
    if any(one.window is not None for one in streams if one.name in inside):
        return None
    if any(one.window == RowCount(0) for one in streams):
        return None
    before = _before(graph)
    present = _in_order([name for name in graph.names if name in inside], before)
    absent = _in_order([name for name in graph.names if name not in inside], before)
    return Witness(graph, stream, present, absent) if present and absent else None


def _before(graph: JoinGraph) -> set[tuple[str, str]]:
    """(S, R) where RIDS(0) makes the row of S come before the row of R that refers to it."""
    return {
        (constraint.target, constraint.stream)
        for constraint in graph.query.constraints
        if isinstance(constraint, Rids) and constraint.within == RowCount(0) and constraint.stream != constraint.target
    }


def _in_order(names: list[str], before: set[tuple[str, str]]) -> tuple[str, ...] | None:
    """The names, each after those that must come before it; None if that goes in a circle."""
    rest, ordered = dict.fromkeys(names), []
    earlier: dict[str, set[str]] = {name: set() for name in names}
    for first, then in before:
        if first in earlier and then in earlier:
            earlier[then].add(first)
    spend(len(names))
    while rest:
        free = next((name for name in rest if not any(first in rest for first in earlier[name])), None)
        if free is None:
            return None
        del rest[free]
        ordered.append(free)
    return tuple(ordered)
