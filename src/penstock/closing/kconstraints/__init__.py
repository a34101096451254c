"""k-constraints on join graphs: which synopsis components a windowed stream join needs, and how large they get.

The theory of thesis chapter 6 (k-Mon) and of its online appendix (000), over values of its own: streams, equality
joins, and the constraints RIDS(k), CA(k) and OA(k), in rows or in time. `analyse` says of the Yes, No and Unknown
component of every stream whether it is empty, bounded or unbounded, with proof, witness and advice, and what a run time
may do.

Bids refer to items, and the item of a bid comes at most 100 items after the bid:

>>> bid = Stream("bid", ("auction", "price"))
>>> item = Stream("item", ("id", "seller"), keys=(frozenset({"id"}),))
>>> join = Equality(Column("bid", "auction"), Column("item", "id"))
>>> in_time = Rids("bid", ("auction",), "item", ("id",), Rows(100))
>>> analysis = analyse(JoinQuery((bid, item), (join,), (in_time,)))
>>> analysis.is_bounded
False
>>> print(analysis["bid"].unknown)
the rows of bid that arrive during 100 rows of item
>>> print(analysis["bid"].yes)
nothing
>>> print(analysis["item"].yes)
rows without end: a row of bid that joins with a row of item may come at any time
>>> for remedy in analysis["item"].yes.remedies:
...     print(remedy)
(WantWindow(stream='item'),)
(WantRids(stream='item', columns=('id',), target='bid', target_columns=('auction',)),)
(WantOrdered(stream='bid', column='auction'),)

If bidding ends an hour after its item and rates are known, all is bounded, by numbers:

>>> ends = Rids("item", ("id",), "bid", ("auction",), Time(3_600_000_000))
>>> bid = Stream("bid", ("auction", "price"), rate=Rate(most=1000))
>>> item = Stream("item", ("id", "seller"), keys=(frozenset({"id"}),), rate=Rate(most=10, least=1))
>>> analysis = analyse(JoinQuery((bid, item), (join,), (in_time, ends)))
>>> for component in analysis.components:
...     print(component.stream, component.component.value, component.bound.number)
bid Yes 0
bid No 0
bid Unknown 101000
item Yes 36010
item No 0
item Unknown 0
>>> analysis["item"].yes.proof.leans_on == (ends,)
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from penstock.closing.kconstraints.advice import Lack, Want, WantOrdered, WantRids, WantWindow
from penstock.closing.kconstraints.components import (
    Situation,
    no_component,
    unknown_component,
    yes_component,
)
from penstock.closing.kconstraints.covers import MinCovers, min_covers
from penstock.closing.kconstraints.handling import Handling, Stored, handling
from penstock.closing.kconstraints.join_graph import JoinGraph, Shape, join_graph
from penstock.closing.kconstraints.streams import (
    Clock,
    ClusteredArrival,
    Column,
    Constraint,
    Equality,
    Extent,
    JoinQuery,
    OrderedArrival,
    Output,
    Rate,
    Rids,
    Rows,
    Stream,
    Time,
)
from penstock.closing.kconstraints.together import deadlines, guards
from penstock.closing.kconstraints.verdicts import Bound, Bounded, Component, Empty, Kind, Proof, Unbounded
from penstock.closing.kconstraints.waits import After, Fact, Lapse, Passed, SameClock, Step, Wait, WindowOn
from penstock.closing.kconstraints.witness import Row, Witness

__all__ = [
    "After",
    "Analysis",
    "Bound",
    "Bounded",
    "Clock",
    "ClusteredArrival",
    "Column",
    "Component",
    "ComponentBound",
    "Constraint",
    "Empty",
    "Equality",
    "Extent",
    "Fact",
    "Handling",
    "JoinGraph",
    "JoinQuery",
    "Kind",
    "Lack",
    "Lapse",
    "MinCovers",
    "OrderedArrival",
    "Output",
    "Passed",
    "Proof",
    "Rate",
    "Rids",
    "Row",
    "Rows",
    "SameClock",
    "Shape",
    "Step",
    "Stored",
    "Stream",
    "StreamVerdict",
    "Time",
    "Unbounded",
    "Wait",
    "Want",
    "WantOrdered",
    "WantRids",
    "WantWindow",
    "WindowOn",
    "Witness",
    "analyse",
    "bounded_components",
]


@dataclass(frozen=True, slots=True)
class ComponentBound:
    stream: str
    component: Component
    bound: Bound


@dataclass(frozen=True, slots=True)
class StreamVerdict:
    """The components of a stream, and how to keep them."""

    stream: str
    yes: Bound
    no: Bound
    unknown: Bound
    handling: Handling

    @property
    def is_bounded(self) -> bool:
        return not any(isinstance(bound, Unbounded) for bound in (self.yes, self.no, self.unknown))


@dataclass(frozen=True, slots=True)
class Analysis:
    graph: JoinGraph
    covers: MinCovers
    streams: tuple[StreamVerdict, ...]

    @property
    def is_bounded(self) -> bool:
        return all(stream.is_bounded for stream in self.streams)

    @property
    def components(self) -> Iterator[ComponentBound]:
        for verdict in self.streams:
            yield ComponentBound(verdict.stream, Component.YES, verdict.yes)
            yield ComponentBound(verdict.stream, Component.NO, verdict.no)
            yield ComponentBound(verdict.stream, Component.UNKNOWN, verdict.unknown)

    def __getitem__(self, stream: str) -> StreamVerdict:
        return next(verdict for verdict in self.streams if verdict.stream == stream)


def analyse(query: JoinQuery) -> Analysis:
    """What the k-constraints of a query say of its state."""
    situation = _situation(query)
    verdicts = tuple(_verdict(situation, name) for name in situation.graph.names)
    return Analysis(situation.graph, situation.covers, verdicts)


def bounded_components(query: JoinQuery) -> Callable[[str], dict[Component, Bound] | None]:
    """The components of those streams only that are asked about, or None where one of them is unbounded."""
    situation = _situation(query)

    def components(stream: str) -> dict[Component, Bound] | None:
        found = {}
        for component, bound_of in _COMPONENTS.items():
            found[component] = bound_of(situation, stream)
            if isinstance(found[component], Unbounded):
                return None
        return found

    return cache(components)


#: Those first that are soonest worked out.
_COMPONENTS = {Component.UNKNOWN: unknown_component, Component.YES: yes_component, Component.NO: no_component}


def _situation(query: JoinQuery) -> Situation:
    graph = join_graph(query)
    found = guards(graph)
    return Situation(graph, min_covers(graph), found, deadlines(graph, found))


def _verdict(situation: Situation, name: str) -> StreamVerdict:
    yes, no = yes_component(situation, name), no_component(situation, name)
    unknown = unknown_component(situation, name)
    return StreamVerdict(name, yes, no, unknown, handling(situation, name, yes, no, unknown))
