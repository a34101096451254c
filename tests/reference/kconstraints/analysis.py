"""Of each component its bound, or why it has none, and how rows are handled: all that k-constraints say of a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.closing.kconstraints import Component, ComponentBound, ConstrainedJoin
from penstock.closing.kconstraints.components import (
    Situation,
    no_component,
    situation_of,
    unknown_component,
    yes_component,
)
from penstock.closing.kconstraints.join_graph import JoinGraph
from tests.reference.kconstraints.covers import MinCovers, min_covers
from tests.reference.kconstraints.handling import Handling, handling
from tests.reference.kconstraints.unbounded import Unbounded, unbounded_unknown, unbounded_yes


@dataclass(frozen=True, slots=True)
class StreamComponent:
    stream: str
    component: Component
    bound: ComponentBound | Unbounded


@dataclass(frozen=True, slots=True)
class StreamVerdict:
    """The components of a stream, and how to keep them."""

    stream: str
    yes: ComponentBound | Unbounded
    no: ComponentBound
    unknown: ComponentBound | Unbounded
    handling: Handling

    @property
    def is_bounded(self) -> bool:
        return not any(isinstance(bound, Unbounded) for bound in (self.yes, self.unknown))


@dataclass(frozen=True, slots=True)
class Analysis:
    graph: JoinGraph
    covers: MinCovers
    streams: tuple[StreamVerdict, ...]

    @property
    def is_bounded(self) -> bool:
        return all(stream.is_bounded for stream in self.streams)

    @property
    def components(self) -> Iterator[StreamComponent]:
        for verdict in self.streams:
            yield StreamComponent(verdict.stream, Component.YES, verdict.yes)
            yield StreamComponent(verdict.stream, Component.NO, verdict.no)
            yield StreamComponent(verdict.stream, Component.UNKNOWN, verdict.unknown)

    def __getitem__(self, stream: str) -> StreamVerdict:
        return next(verdict for verdict in self.streams if verdict.stream == stream)


def analyse(query: ConstrainedJoin) -> Analysis:
    """What the k-constraints of a query say of its state."""
    situation = situation_of(query)
    covers = min_covers(situation.graph)
    verdicts = tuple(_verdict(situation, covers, name) for name in situation.graph.names)
    return Analysis(situation.graph, covers, verdicts)


def _verdict(situation: Situation, covers: MinCovers, name: str) -> StreamVerdict:
    yes = yes_component(situation, name)
    no = no_component(situation, name)
    unknown = unknown_component(situation, name)
    return StreamVerdict(
        name,
        yes or unbounded_yes(situation, name),
        no,
        unknown or unbounded_unknown(situation, name),
        handling(situation, covers, name, yes, no, unknown),
    )
