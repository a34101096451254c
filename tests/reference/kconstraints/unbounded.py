"""Why a component is unbounded, what would bound it, and input that defeats every plan (6.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.closing.kconstraints.components import Situation, awaited_by_yes, twins
from penstock.closing.kconstraints.join_graph import JoinGraph
from penstock.closing.kconstraints.together import takes_back
from tests.reference.kconstraints.advice import Advice, Lack, Want, lacks
from tests.reference.kconstraints.clustered import clustered_evidence, most_referred
from tests.reference.kconstraints.witness import Witness, witness


@dataclass(frozen=True, slots=True)
class Unbounded:
    """Nothing bounds the component.

    `lacks`: where a guard is missing. `referred`: if CA(k) tells, how many of the rows can have had some of their
    partners and wait for more; it is the others, to which no row has referred yet, that pile up.
    """

    because: str
    lacks: tuple[Lack, ...]
    advice: Advice
    witness: Witness | None = None
    referred: int | None = None

    @property
    def number(self) -> None:
        return None

    @property
    def remedies(self) -> tuple[tuple[Want, ...], ...]:
        """Sets of declarations each of which would bound the component, and no part of which would."""
        return self.advice.remedies()

    def __str__(self) -> str:
        return f"rows without end: {self.because}"


def unbounded_unknown(situation: Situation, name: str) -> Unbounded:
    """The Unknown component of a stream, where nothing bounds it."""
    graph, due = situation.graph, situation.deadlines[name]
    awaited = graph.descendants[name]
    missing = lacks(graph, due.waits, awaited)
    first = missing[0] if missing else None
    because = (
        f"the row of {first.target} that a row of {first.stream} refers to may come at any time, or never"
        if first is not None
        else "rows that are referred to may come at any time, or never"
    )
    return Unbounded(
        because,
        missing,
        _advice(situation, (name,), (frozenset(awaited), *_windowed(graph))),
        witness(graph, name, due.waits),
    )


def unbounded_yes(situation: Situation, name: str) -> Unbounded:
    """The Yes component of a stream, where nothing bounds it."""
    graph, due = situation.graph, situation.deadlines[name]
    awaited = awaited_by_yes(graph, name)
    missing = lacks(graph, due.waits, graph.names)
    first = missing[0] if missing else None
    because = (
        f"a row of {first.target} that joins with a row of {first.stream} may come at any time"
        if first is not None
        else f"{name} is not joined with {next(iter(awaited), name)}, whose rows may come at any time"
    )
    goals = (*(() if takes_back(graph) else (frozenset(awaited),)), *_windowed(graph))
    referred = [
        count
        for parent in graph.parents[name]
        for constraint in clustered_evidence(graph, name, parent)
        if (count := most_referred(graph, name, constraint)) is not None
    ]
    return Unbounded(
        because,
        missing,
        _advice(situation, tuple(twins(graph, name)), goals),
        _yes_witness(situation, name),
        min(referred, default=None),
    )


def _advice(situation: Situation, starts: tuple[str, ...], goals: tuple[frozenset[str], ...]) -> Advice:
    guards = frozenset((guard.stream, guard.target) for guard in situation.guards)
    return Advice(situation.graph, guards, starts, goals)


def _windowed(graph: JoinGraph) -> Iterator[frozenset[str]]:
    """What it is enough to have a deadline for: one stream with a window."""
    return (frozenset({stream.name}) for stream in graph.query.streams if stream.window is not None)


def _yes_witness(situation: Situation, name: str) -> Witness | None:
    """Rows that are Yes have all of G_S(Q) with them, and what those guard."""
    graph = situation.graph
    there = (name, *graph.descendants[name])
    return witness(graph, name, {target for one in there for target in situation.deadlines[one].waits})
