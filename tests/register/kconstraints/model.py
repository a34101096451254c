"""What k-constraints mean, written down a second time: rows one by one, nested loops, no graphs.

Admissible input, the result of a join, and which rows some admissible future still needs. Constraints forbid rows and
never demand any, so if a row can take part in a result at all, it can in the future in which just the missing rows come
at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations

from penstock.closing.kconstraints import (
    ClusteredArrival,
    ConstrainedJoin,
    ConstrainedStream,
    Extent,
    JoinAttribute,
    JoinOutput,
    OrderedArrival,
    Rids,
    RowCount,
    TimeSpan,
)

#: The attribute of a filtered stream whose value 0 fails the filter.
FILTER = "f"


@dataclass(frozen=True)
class Event:
    stream: str
    at: int
    values: Mapping[str, int]

    def passes(self) -> bool:
        return self.values.get(FILTER) != 0

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


Past = Sequence[Event]
Joined = Mapping[str, Event]


def is_admissible(query: ConstrainedJoin, past: Past, event: Event) -> bool:
    """Whether the row may come after these, by keys, clocks and constraints."""
    stream = query.stream(event.stream)
    if past and event.at < past[-1].at:
        return False
    if stream.clock is not None:
        told = event.values[stream.clock.attribute]
        if not told <= event.at <= told + stream.clock.delay:
            return False
    own = [other for other in past if other.stream == event.stream]
    if any(_agree(other, event, sorted(key)) for key in stream.keys for other in own):
        return False
    return all(_holds(constraint, past, event) for constraint in query.constraints)


def _holds(constraint: object, past: Past, event: Event) -> bool:
    match constraint:
        case Rids(stream, columns, target, target_columns, within) if target == event.stream:
            sought = [event.values[name] for name in target_columns]
            for place, other in enumerate(past):
                if other.stream == stream and [other.values[name] for name in columns] == sought:
                    come = sum(later.stream == target for later in past[place + 1 :]) + 1
                    if not _is_within(within, come, event.at - other.at):
                        return False
        case ClusteredArrival(stream, columns, within) if stream == event.stream:
            for place, other in enumerate(past):
                if other.stream == stream and _agree(other, event, columns):
                    between = [
                        later
                        for later in past[place + 1 :]
                        if later.stream == stream and not _agree(later, event, columns)
                    ]
                    if not _is_within(within, len(between), event.at - other.at):
                        return False
        case OrderedArrival(stream, column, within) if stream == event.stream:
            for place, other in enumerate(past):
                if other.stream == stream and other.values[column] > event.values[column]:
                    come = sum(later.stream == stream for later in past[place + 1 :]) + 1
                    if not _is_within(within, come, event.at - other.at):
                        return False
    return True


def _is_within(within: Extent, rows: int, time: int) -> bool:
    return rows <= within.n if isinstance(within, RowCount) else time <= within.microseconds


def _agree(left: Event, right: Event, columns: Sequence[str]) -> bool:
    return all(left.values[name] == right.values[name] for name in columns)


def in_window(stream: ConstrainedStream, past: Past, event: Event, now: int) -> bool:
    match stream.window:
        case TimeSpan(microseconds):
            return event.at >= now - microseconds
        case RowCount(n):
            place = max(index for index, other in enumerate(past) if other is event)
            return sum(later.stream == stream.name for later in past[place + 1 :]) < n
    return True


def results(query: ConstrainedJoin, past: Past, streams: Sequence[str] | None = None) -> Iterator[Joined]:
    """The rows of the join, or of the join of some streams, after the past."""
    names = list(streams) if streams is not None else [stream.name for stream in query.streams]
    now = past[-1].at if past else 0
    rows = {
        name: [
            event
            for event in past
            if event.stream == name and event.passes() and in_window(query.stream(name), past, event, now)
        ]
        for name in names
    }

    def extend(joined: dict[str, Event], rest: list[str]) -> Iterator[Joined]:
        if not rest:
            yield dict(joined)
            return
        for event in rows[rest[0]]:
            if _fits(query, {**joined, rest[0]: event}):
                yield from extend({**joined, rest[0]: event}, rest[1:])

    yield from extend({}, names)


def _fits(query: ConstrainedJoin, joined: Mapping[str, Event]) -> bool:
    """Whether the rows agree, also where only rows of other streams would make them."""
    values: dict[JoinAttribute, int] = {}
    leaders = _leaders(query)
    return all(
        values.setdefault(leaders[JoinAttribute(name, attribute)], value) == value
        for name, event in joined.items()
        for attribute, value in event.values.items()
    )


def needed(query: ConstrainedJoin, past: Past, event: Event) -> bool:
    """Whether some admissible future has a change of the result with this row in it."""
    if not event.passes() or not in_window(query.stream(event.stream), past, event, past[-1].at):
        return False
    lets_go = query.output is JoinOutput.CHANGES and any(stream.window is not None for stream in query.streams)
    if lets_go and any(joined[event.stream] is event for joined in results(query, past)):
        return True
    rest = [stream.name for stream in query.streams if stream.name != event.stream]
    now = past[-1].at
    rows = {
        name: [
            other
            for other in past
            if other.stream == name and other.passes() and in_window(query.stream(name), past, other, now)
        ]
        for name in rest
    }

    def extend(joined: dict[str, Event], missing: list[str], left: list[str]) -> bool:
        if not left:
            return bool(missing) and _can_come(query, past, joined, missing)
        name, further = left[0], left[1:]
        for other in rows[name]:
            if _fits(query, {**joined, name: other}) and extend({**joined, name: other}, missing, further):
                return True
        return extend(joined, [*missing, name], further)

    return extend({event.stream: event}, [], rest)


def _can_come(query: ConstrainedJoin, past: Past, joined: Mapping[str, Event], missing: Sequence[str]) -> bool:
    """Whether rows that complete the result may come now, in some order, with the others still in their windows."""
    values = _values(query, joined, past)
    if values is None:
        return False
    now = past[-1].at
    for order in permutations(missing):
        future = list(past)
        for name in order:
            stream = query.stream(name)
            event = Event(
                name, now, {one: values[_leaders(query)[JoinAttribute(name, one)]] for one in stream.attributes}
            )
            if not is_admissible(query, future, event):
                break
            future.append(event)
        else:
            if all(in_window(query.stream(name), future, one, now) for name, one in joined.items()):
                return True
    return False


def _values(query: ConstrainedJoin, joined: Mapping[str, Event], past: Past) -> Mapping[JoinAttribute, int] | None:
    """A value for each class of columns: that of the rows which are there, else a new one."""
    now = past[-1].at
    fresh = max([value for event in past for value in event.values.values()], default=0) + 1
    told = {
        _leaders(query)[JoinAttribute(stream.name, stream.clock.attribute)]
        for stream in query.streams
        if stream.clock is not None
    }
    values: dict[JoinAttribute, int] = {}
    for stream in query.streams:
        for name in stream.attributes:
            leader = _leaders(query)[JoinAttribute(stream.name, name)]
            if stream.name in joined:
                value = joined[stream.name].values[name]
                if values.setdefault(leader, value) != value:
                    return None
    for stream in query.streams:
        for name in stream.attributes:
            leader = _leaders(query)[JoinAttribute(stream.name, name)]
            if leader not in values:
                values[leader] = now if leader in told else fresh
                fresh += leader not in told
    return values


@cache
def _leaders(query: ConstrainedJoin) -> Mapping[JoinAttribute, JoinAttribute]:
    """For each column the smallest one that the equalities make equal to it."""
    return {
        JoinAttribute(stream.name, name): _leader(query, JoinAttribute(stream.name, name))
        for stream in query.streams
        for name in stream.attributes
    }


def _leader(query: ConstrainedJoin, column: JoinAttribute) -> JoinAttribute:
    same = {column}
    while True:
        more = {
            side for one in query.equalities for side in (one.left, one.right) if one.left in same or one.right in same
        }
        if more <= same:
            return min(same)
        same |= more


def is_over(query: ConstrainedJoin, steps: Sequence[object], past: Past, event: Event) -> bool:
    """Whether a wait without open steps, counted from the arrival of a row, is over."""
    from penstock.closing.kconstraints import After, Lapse

    place = max(index for index, other in enumerate(past) if other is event)
    moment = event.at
    for step in steps:
        match step:
            case After(stream, rows):
                found = [index for index, other in enumerate(past) if index > place and other.stream == stream]
                if len(found) < rows:
                    return False
                place = found[rows - 1] if rows else place
                moment = max(moment, past[place].at)
            case Lapse(microseconds):
                moment += microseconds
                place = max((index for index, other in enumerate(past) if other.at <= moment), default=place)
                if past[-1].at <= moment:
                    return False
            case _:
                raise AssertionError(step)
    return True
