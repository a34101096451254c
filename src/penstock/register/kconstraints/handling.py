"""What a run time may do: what to store of each component, how to look rows up, and when to move or drop them.

These are values that a run time executes as they stand; each move is sound by itself, whichever others are taken. Moves
that speak of "no more rows" of a stream at some time hold once all rows of that time have been seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from penstock.register.kconstraints.clustered import clustered_evidence
from penstock.register.kconstraints.components import Situation
from penstock.register.kconstraints.join_graph import JoinGraph
from penstock.register.kconstraints.lookups import Lookup, lookups, own_checks
from penstock.register.kconstraints.streams import ClusteredArrival, Column, Extent
from penstock.register.kconstraints.together import takes_back
from penstock.register.kconstraints.verdicts import Bound, Component, Empty
from penstock.register.kconstraints.waits import After, Lapse, Passed, Wait


class Stored(Enum):
    """What is kept of a row."""

    NOTHING = "nothing"
    KEY = "key"
    TUPLE = "tuple"


@dataclass(frozen=True, slots=True)
class ChildOverdue:
    """Unknown to No: the row of `child` is neither Yes nor Unknown, and the step since arrival is over (6.6.1, 6.8.5).

    With `Passed` the step is over when the row's own value, in `column`, is smaller than any that can follow.
    """

    child: str
    step: After | Lapse | Passed
    column: str | None = None


@dataclass(frozen=True, slots=True)
class ParentsClosed:
    """Evidence that no more row of `parent` joins: a value has come, and more than k others since (6.7.1).

    `columns` are the row's own columns, in the order of the constraint's.
    """

    parent: str
    clustered: ClusteredArrival
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParentsOverdue:
    """Evidence that no more row of `parent` joins: the step since the row's arrival is over."""

    parent: str
    step: After | Lapse | Passed
    column: str | None = None


Evidence: TypeAlias = ParentsClosed | ParentsOverdue


@dataclass(frozen=True, slots=True)
class Purge:
    """Drop the row from Yes and Unknown, and all parents with it: theorem 6.7.1.

    C1: the parents named in `evidence` are a minimal cover. C2: none of their Unknown rows joins with the row. C3: for
    each of these parents one of its evidences says that no more of its rows joins. Not with windows whose results are
    taken back.
    """

    evidence: tuple[tuple[Evidence, ...], ...]


@dataclass(frozen=True, slots=True)
class Forget:
    """Drop the key from No: for each parent one of its evidences says that no more of its rows asks."""

    evidence: tuple[tuple[Evidence, ...], ...]


@dataclass(frozen=True, slots=True)
class DropAfter:
    """Drop the row from a component when all waits, counted from its arrival, are over. From Unknown it goes to No."""

    component: Component
    waits: tuple[Wait, ...]


@dataclass(frozen=True, slots=True)
class Expire:
    """The row leaves its window: to No, with its parents (6.3.2).

    The thesis keeps placeholders for rows of a window of rows that a filter has discarded. A running number on each
    stored row does it.
    """

    window: Extent


Move: TypeAlias = ChildOverdue | Purge | Forget | DropAfter | Expire


@dataclass(frozen=True, slots=True)
class Handling:
    """How to keep the rows of a stream.

    `columns` is what a stored row has, `no_columns` what a key in No has (6.3.1, eliminating columns). `own_checks`:
    pairs of columns that a row must have equal.
    """

    stream: str
    yes: Stored
    no: Stored
    unknown: Stored
    columns: tuple[str, ...]
    no_columns: tuple[str, ...]
    own_checks: tuple[tuple[str, str], ...]
    lookups: tuple[Lookup, ...]
    moves: tuple[Move, ...]


def handling(situation: Situation, name: str, yes: Bound, no: Bound, unknown: Bound) -> Handling:
    """The handling of a stream whose components have these bounds."""
    graph = situation.graph
    stream = graph.query.stream(name)
    joined = graph.attributes(name, _classes_with_others(graph, name))
    projected = set(stream.attributes) if stream.projected is None else stream.projected
    asked = frozenset[str]().union(*(_compared(graph, name, parent) for parent in graph.parents[name]))
    return Handling(
        name,
        yes=Stored.NOTHING if isinstance(yes, Empty) else Stored.TUPLE,
        no=Stored.NOTHING if isinstance(no, Empty) else Stored.KEY,
        unknown=Stored.NOTHING if isinstance(unknown, Empty) else Stored.TUPLE,
        columns=tuple(name for name in stream.attributes if name in joined or name in projected),
        no_columns=tuple(name for name in stream.attributes if name in asked),
        own_checks=own_checks(graph, name),
        lookups=lookups(graph, name),
        moves=_moves(situation, name),
    )


def _moves(situation: Situation, name: str) -> tuple[Move, ...]:
    graph, due = situation.graph, situation.deadlines[name]
    window = graph.query.stream(name).window
    moves: list[Move] = [
        ChildOverdue(guard.target, guard.step, _own_column(graph, name, guard.step))
        for guard in situation.guards
        if guard.stream == name and guard.target in graph.children[name]
    ]
    if window is not None:
        moves.append(Expire(window))
    unknown = due.shortest((due.last(graph.descendants[name]), due.expiry()))
    if graph.descendants[name] and unknown is not None and not any(wait.is_open for wait in unknown):
        moves.append(DropAfter(Component.UNKNOWN, unknown))
    others = [other for other in graph.names if other != name and other not in graph.descendants[name]]
    yes = due.expiry() if takes_back(graph) else due.shortest((due.last(others), due.expiry()))
    if (others or takes_back(graph)) and yes is not None and not any(wait.is_open for wait in yes):
        moves.append(DropAfter(Component.YES, yes))
    return (*moves, *_purges(situation, name))


def _purges(situation: Situation, name: str) -> list[Move]:
    evidence = {parent: _evidence(situation, name, parent) for parent in situation.graph.parents[name]}
    known = frozenset(parent for parent, found in evidence.items() if found)
    purges: list[Move] = []
    cover = situation.covers.within(known - {name})
    if cover is not None and not takes_back(situation.graph):
        purges.append(Purge(tuple(evidence[parent] for parent in situation.graph.names if parent in cover)))
    if evidence and all(evidence.values()):
        purges.append(Forget(tuple(evidence.values())))
    return purges


def _evidence(situation: Situation, name: str, parent: str) -> tuple[Evidence, ...]:
    graph = situation.graph
    overdue = [
        ParentsOverdue(parent, guard.step, _own_column(graph, name, guard.step))
        for guard in situation.guards
        if guard.stream == name and guard.target == parent
    ]
    closed = [
        ParentsClosed(parent, clustered, tuple(_partner(graph, name, Column(parent, one)) for one in clustered.columns))
        for clustered in clustered_evidence(graph, name, parent)
    ]
    return (*overdue, *closed)


def _own_column(graph: JoinGraph, name: str, step: After | Lapse | Passed) -> str | None:
    return _partner(graph, name, step.column) if isinstance(step, Passed) else None


def _partner(graph: JoinGraph, name: str, column: Column) -> str:
    """The column of a stream that is joined with this one."""
    return min(graph.attributes(name, {graph.classes[column]}))


def _compared(graph: JoinGraph, name: str, parent: str) -> frozenset[str]:
    return graph.attributes(name, graph.shared(name, parent))


def _classes_with_others(graph: JoinGraph, name: str) -> frozenset[int]:
    return frozenset(number for other in graph.neighbours[name] for number in graph.shared(name, other))
