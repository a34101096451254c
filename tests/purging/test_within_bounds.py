"""What a join keeps is at most what the analysis of k-constraints says, after each row, counted by brute force.

Queries, input and the count of who still waits are those of the analysis's own tests. There each row has its place in
one order, and several may share a time; here each has an instant of its own, a thousandth of that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pytest

from penstock.closing.kconstraints import (
    ArrivalConstraint,
    BoundedComponent,
    ClusteredArrival,
    ComponentKind,
    ConstrainedJoin,
    ConstrainedStream,
    EmptyComponent,
    Extent,
    JoinOutput,
    OrderedArrival,
    Rids,
    RowCount,
    TimeSpan,
)
from tests.purging.stored import Steps
from tests.reference.kconstraints import Analysis, analyse
from tests.register.kconstraints.cases import random_input, random_query
from tests.register.kconstraints.model import FILTER, Event, is_over
from tests.register.kconstraints.test_bounds import by_kinds

UNIT = 1000


@by_kinds
def test_no_more_is_kept_than_the_bounds_say(kinds: tuple[type, ...]) -> None:
    counted = 0
    for seed in range(30):
        counted += follow(Random(f"{seed} {[kind.__name__ for kind in kinds]}"), kinds)
    assert counted, "no bound could be counted"


@pytest.mark.parametrize(
    ("seed", "kinds"),
    [
        (978, (Rids,)),
        (1484, (Rids, ClusteredArrival, OrderedArrival)),
        (1766, (Rids, OrderedArrival)),
    ],
)
def test_a_row_is_examined_when_one_leaves_that_its_partner_waited_for(seed: int, kinds: tuple[type, ...]) -> None:
    """A window of rows lets a row go: so may the row that joins it, and the row of a third input that joins that."""
    assert follow(Random(f"search {seed} {[kind.__name__ for kind in kinds]}"), kinds)


@pytest.mark.slow
@by_kinds
def test_no_more_is_kept_than_the_bounds_say_in_many_cases(kinds: tuple[type, ...]) -> None:
    for seed in range(200):
        follow(Random(f"many {seed} {[kind.__name__ for kind in kinds]}"), kinds)


def follow(random: Random, kinds: tuple[type, ...]) -> int:
    """Gives how many bounds were looked at."""
    query = random_query(random, kinds=kinds, clocks=False)
    analysis = analyse(query)
    past: list[Event] = random_input(random, query, 25)
    streams = [stream for stream in query.streams if is_countable(analysis, stream.name)]
    if not streams or not is_plain(query):
        return 0
    run = Steps(script(query))
    if not run.forgets:
        return 0
    for end, event in enumerate(past, start=1):
        values = [event.values[name] for name in query.stream(event.stream).attributes]
        run.come(event.stream, (end, *values), event.at * UNIT + end)
        for stream in streams:
            kept, most = run.stored(stream.name), allowed(analysis, stream.name, past[:end])
            assert len(kept) <= most, f"{script(query)}\n{shown(query, past[:end])}\n{stream.name} keeps {kept}"
    return len(streams)


def is_plain(query: ConstrainedJoin) -> bool:
    """Whether each constraint names its columns once, and no stream joins one value with two columns.

    Of such a stream a join knows the first column only, and uses no constraint of the other.
    """
    graph = analyse(query).graph
    joined = [graph.attributes(s.name, {n}) for s in query.streams for n in set(graph.classes.values())]
    listed = [columns for one in query.constraints for columns in _columns(one)]
    return all(len(list(own)) < 2 for own in joined) and all(len(set(own)) == len(own) for own in listed)


def _columns(constraint: ArrivalConstraint) -> Iterator[tuple[str, ...]]:
    match constraint:
        case Rids(_, columns, _, theirs):
            yield from (columns, theirs)
        case ClusteredArrival(_, columns):
            yield columns


def is_countable(analysis: Analysis, stream: str) -> bool:
    bounds = (analysis[stream].yes, analysis[stream].unknown)
    return all(
        isinstance(b, EmptyComponent) or (isinstance(b, BoundedComponent) and b.kind is not ComponentKind.OPEN)
        for b in bounds
    )


def allowed(analysis: Analysis, stream: str, past: Sequence[Event]) -> int:
    """How many rows of the Yes and the Unknown component still wait, and so may be kept."""
    most = 0
    for bound in (analysis[stream].yes, analysis[stream].unknown):
        if isinstance(bound, BoundedComponent):
            most += sum(
                event.stream == bound.counted
                and not all(is_over(analysis.graph.query, wait.steps, past, event) for wait in bound.waits)
                for event in past
            )
    return most


def script(query: ConstrainedJoin) -> str:
    """The query in SQL. Each row has an `id`, so that insertions alone can be asked for."""
    sources = ", ".join(f"{one.name}{_window(one)}" for one in query.streams)
    where = [f"{e.left.stream}.{e.left.name} = {e.right.stream}.{e.right.name}" for e in query.equalities]
    where += [f"{one.name}.{FILTER} <> 0" for one in query.streams if one.filtered]
    listed = ", ".join(f"{one.name}.id AS {one.name}_id" for one in query.streams)
    shown_ = f"ISTREAM({listed})" if query.output is JoinOutput.INSERTIONS else listed
    ddl = "\n".join(_ddl(one, query.constraints) for one in query.streams)
    return f"{ddl}\nSELECT {shown_} FROM {sources} WHERE {' AND '.join(where)} ALLOW UNBOUNDED"


def _ddl(stream: ConstrainedStream, constraints: Sequence[ArrivalConstraint]) -> str:
    columns = [f"{name} BIGINT" for name in ("id", *stream.attributes, "ts")]
    keys = [f"UNIQUE ({', '.join(sorted(key))})" for key in (frozenset({"id"}), *stream.keys)]
    lines = dict.fromkeys((*columns, *keys, *_constraints(stream.name, constraints)))
    return f"CREATE STREAM {stream.name} ({', '.join(lines)}) TIMESTAMP BY ts;"


def _constraints(stream: str, constraints: Sequence[ArrivalConstraint]) -> Iterator[str]:
    for one in constraints:
        match one:
            case Rids(source, columns, target, theirs, within) if source == stream:
                listed, referred = ", ".join(columns), ", ".join(theirs)
                yield f"FOREIGN KEY ({listed}) REFERENCES {target} ({referred}) {_within(within)}"
            case ClusteredArrival(source, columns, within) if source == stream:
                yield f"CLUSTERED BY ({', '.join(columns)}) {_within(within)}"
            case OrderedArrival(source, column, within) if source == stream:
                yield f"ORDERED BY {column} {_within(within)}"


def _within(within: Extent) -> str:
    return f"WITHIN {within.n} ROWS" if isinstance(within, RowCount) else f"WITHIN {_micros(within)} MICROSECONDS"


def _window(stream: ConstrainedStream) -> str:
    match stream.window:
        case TimeSpan():
            return f" [RANGE {_micros(stream.window)} MICROSECONDS]"
        case RowCount(n):
            return f" [ROWS {n}]"
    return ""


def _micros(time: TimeSpan) -> int:
    """Rows that are so many times apart are less than one more apart here, whatever their places."""
    return time.microseconds * UNIT + UNIT - 1


def shown(query: ConstrainedJoin, past: Sequence[Event]) -> str:
    return "\n".join(f"{event.at} {event.stream} {event.values}" for event in past)
