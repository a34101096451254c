"""What a run time may do: what to store of each component, how to look rows up, and when to move or drop them.

These are values that a run time executes as they stand; each move is sound by itself, whichever others are taken. Moves
that speak of "no more rows" of a stream at some time hold once all rows of that time have been seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.kconstraints.components import Situation, awaited_by_yes, no_waits, twins, yes_waits
from penstock.closing.kconstraints.join_graph import JoinGraph
from penstock.closing.kconstraints.lookups import Lookup, lookups
from penstock.closing.kconstraints.rids import ArrivalGuard
from penstock.closing.kconstraints.streams import ClusteredArrival, Extent
from penstock.closing.kconstraints.together import Deadlines, takes_back
from penstock.closing.kconstraints.verdicts import Component, ComponentBound, EmptyComponent
from penstock.closing.kconstraints.waits import After, Lapse, Passed, Wait
from tests.reference.kconstraints.clustered import clustered_evidence
from tests.reference.kconstraints.covers import MinCovers


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
    """Move the row from its component to No, and its parents with it, when all waits are over; forget a key of No.

    They are counted from the arrival of its row of `of`: the row itself, or the one that it finds there by its lookups.
    """

    component: Component
    waits: tuple[Wait, ...]
    of: str


@dataclass(frozen=True, slots=True)
class ChainedPurge:
    """Move the row to No by looking at its partners: sooner than `DropAfter` can, and where an order is waited for.

    Start with the row alone as binding. For each guard in turn, if its step is over for the row of `guard.stream` in
    all bindings, join them with the stored rows of `guard.target`; else stop. Move the row when no binding is left, or,
    if `complete`, when all guards have been followed. (The generalized chained purge of 004 with its error mended:
    values come from the joined rows.)
    """

    component: Component
    guards: tuple[ArrivalGuard, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Expire:
    """The row leaves its window: to No, with its parents (6.3.2).

    The thesis keeps placeholders for rows of a window of rows that a filter has discarded. A running number on each
    stored row does it.
    """

    window: Extent


Move: TypeAlias = ChildOverdue | Purge | Forget | DropAfter | ChainedPurge | Expire


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


def handling(
    situation: Situation,
    covers: MinCovers,
    name: str,
    yes: ComponentBound | None,
    no: ComponentBound,
    unknown: ComponentBound | None,
) -> Handling:
    """The handling of a stream whose components have these bounds, or none."""
    graph = situation.graph
    stream = graph.stream(name)
    joined = graph.attributes(name, _classes_with_others(graph, name))
    projected = set(stream.attributes) if stream.projected is None else stream.projected
    asked = frozenset[str]().union(*(_compared(graph, name, parent) for parent in graph.parents[name]))
    return Handling(
        name,
        yes=Stored.NOTHING if isinstance(yes, EmptyComponent) else Stored.TUPLE,
        no=Stored.NOTHING if isinstance(no, EmptyComponent) else Stored.KEY,
        unknown=Stored.NOTHING if isinstance(unknown, EmptyComponent) else Stored.TUPLE,
        columns=tuple(name for name in stream.attributes if name in joined or name in projected),
        no_columns=tuple(name for name in stream.attributes if name in asked),
        own_checks=_own_checks(graph, name),
        lookups=lookups(graph, name),
        moves=_moves(situation, covers, name),
    )


def _moves(situation: Situation, covers: MinCovers, name: str) -> tuple[Move, ...]:
    graph = situation.graph
    window = graph.stream(name).window
    moves: list[Move] = [
        ChildOverdue(guard.target, guard.step, _own_column(graph, name, guard.step))
        for guard in situation.guards
        if guard.stream == name and guard.target in graph.children[name]
    ]
    if window is not None:
        moves.append(Expire(window))
    found = (_unknown_moves, _yes_moves, _no_moves)
    return (*moves, *(move for source in found for move in source(situation, name)), *_purges(situation, covers, name))


def _unknown_moves(situation: Situation, name: str) -> list[Move]:
    due, awaited = situation.deadlines[name], situation.graph.descendants[name]
    moves: list[Move] = []
    if awaited and (waits := due.shortest((due.last(awaited), due.expiry()))) is not None:
        moves += _drop_after(Component.UNKNOWN, waits, name)
    if awaited and due.last(awaited) is not None:
        moves.append(ChainedPurge(Component.UNKNOWN, _way(due, awaited), complete=True))
    if awaited and (first := _first_to_expire(due)) is not None and first != name:
        moves.append(ChainedPurge(Component.UNKNOWN, _way(due, [first]), complete=False))
    return moves


def _yes_moves(situation: Situation, name: str) -> list[Move]:
    graph, due = situation.graph, situation.deadlines[name]
    awaited = awaited_by_yes(graph, name)
    if not awaited and not takes_back(graph):
        return []
    moves: list[Move] = []
    for twin in twins(graph, name):
        if (waits := yes_waits(graph, situation.deadlines[twin], awaited)) is not None:
            moves += _drop_after(Component.YES, waits, twin)
    if awaited and due.last(awaited) is not None and not takes_back(graph):
        moves.append(ChainedPurge(Component.YES, _way(due, awaited), complete=True))
    if (first := _first_to_expire(due)) is not None and first != name:
        moves.append(ChainedPurge(Component.YES, _way(due, [first]), complete=False))
    return moves


def _no_moves(situation: Situation, name: str) -> list[Move]:
    graph = situation.graph
    waits = no_waits(situation, name) if graph.parents[name] else None
    return [] if waits is None else _drop_after(Component.NO, waits, name)


def _drop_after(component: Component, waits: tuple[Wait, ...], of: str) -> list[Move]:
    """Open waits are for the chained purge: how far an ordered stream has to go depends on values of partners."""
    return [] if any(wait.is_open for wait in waits) else [DropAfter(component, waits, of)]


def _purges(situation: Situation, covers: MinCovers, name: str) -> list[Move]:
    evidence = {parent: _evidence(situation, name, parent) for parent in situation.graph.parents[name]}
    known = frozenset(parent for parent, found in evidence.items() if found)
    purges: list[Move] = []
    cover = covers.within(known - {name})
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
        ParentsClosed(
            parent, clustered, tuple(_partner(graph, name, JoinAttribute(parent, one)) for one in clustered.columns)
        )
        for clustered in clustered_evidence(graph, name, parent)
    ]
    return (*overdue, *closed)


def _own_column(graph: JoinGraph, name: str, step: After | Lapse | Passed) -> str | None:
    return _partner(graph, name, step.column) if isinstance(step, Passed) else None


def _partner(graph: JoinGraph, name: str, column: JoinAttribute) -> str:
    """The column of a stream that is joined with this one."""
    return min(graph.attributes(name, {graph.classes[column]}))


def _compared(graph: JoinGraph, name: str, parent: str) -> frozenset[str]:
    return graph.attributes(name, graph.shared(name, parent))


def _classes_with_others(graph: JoinGraph, name: str) -> frozenset[int]:
    return frozenset(number for other in graph.neighbours[name] for number in graph.shared(name, other))


def _way(due: Deadlines, targets: Iterable[str]) -> tuple[ArrivalGuard, ...]:
    """The guards that lead to these targets, each after those that lead to it."""
    found: dict[str, ArrivalGuard] = {}

    def visit(target: str) -> None:
        if target in due.via and target not in found:
            visit(due.via[target].stream)
            found[target] = due.via[target]

    for target in targets:
        visit(target)
    return tuple(found.values())


def _first_to_expire(due: Deadlines) -> str | None:
    """The stream of the partner that is the first to have surely left its window."""
    ends = due.ends()
    return min(ends, key=lambda name: due.badness(ends[name]), default=None)


def _own_checks(graph: JoinGraph, stream: str) -> tuple[tuple[str, str], ...]:
    """The columns of one stream that a row must have equal, because both are joined with the same."""
    first: dict[int, str] = {}
    columns = [(graph.classes.get(JoinAttribute(stream, name)), name) for name in graph.stream(stream).attributes]
    return tuple(
        (first[number], name)
        for number, name in columns
        if number is not None and first.setdefault(number, name) != name
    )
