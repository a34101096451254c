"""Random join queries with constraints, and random input that obeys them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from penstock.register.kconstraints import (
    Clock,
    ClusteredArrival,
    Column,
    Constraint,
    Equality,
    Extent,
    JoinQuery,
    OrderedArrival,
    Output,
    Rids,
    Rows,
    Stream,
    Time,
)
from tests.register.kconstraints.model import FILTER, Event, is_admissible

ATTRIBUTES = ("a", "b", "c")


def random_query(random: Random, *, streams: int | None = None, kinds: Sequence[type] = (), clocks: bool = True) -> JoinQuery:
    """A connected join of streams: trees, acyclic graphs and cycles, some joins many-many; constraints of these kinds."""
    count = streams or random.choice((2, 2, 3, 3, 4))
    names = [f"s{number}" for number in range(1, count + 1)]
    joins = [(random.choice(names[:place]), name) for place, name in enumerate(names) if place]
    joins += [tuple(random.sample(names, 2)) for _ in range(random.choice((0, 0, 1, 2)) if count > 2 else 0)]
    equalities = [Equality(_column(random, left), _column(random, right)) for left, right in joins]
    compared = {name: sorted({side.attribute for one in equalities for side in (one.left, one.right) if side.stream == name}) for name in names}
    declared = tuple(_stream(random, name, compared[name], clocks) for name in names)
    constraints = _constraints(random, equalities, kinds or (Rids, ClusteredArrival, OrderedArrival))
    return JoinQuery(declared, tuple(equalities), tuple(constraints), random.choice(list(Output)))


def _column(random: Random, stream: str) -> Column:
    return Column(stream, random.choice(ATTRIBUTES))


def _stream(random: Random, name: str, compared: Sequence[str], clocks: bool) -> Stream:
    keys = tuple(frozenset({one}) for one in compared if random.random() < 0.6)
    clock = Clock(random.choice(compared), random.choice((0, 2))) if clocks and random.random() < 0.15 else None
    filtered = random.random() < 0.3
    window = random.choice((None, None, None, Rows(random.randint(1, 4)), Time(random.randint(0, 6))))
    attributes = (*ATTRIBUTES, FILTER) if filtered else ATTRIBUTES
    return Stream(name, attributes, keys, window, filtered, clock=clock)


def _constraints(random: Random, equalities: Sequence[Equality], kinds: Sequence[type]) -> list[Constraint]:
    found: list[Constraint] = []
    for equality in equalities:
        for here, there in ((equality.left, equality.right), (equality.right, equality.left)):
            if Rids in kinds and random.random() < 0.6:
                found.append(Rids(here.stream, (here.attribute,), there.stream, (there.attribute,), _extent(random)))
            if ClusteredArrival in kinds and random.random() < 0.25:
                found.append(ClusteredArrival(here.stream, (here.attribute,), _extent(random)))
            if OrderedArrival in kinds and random.random() < 0.25:
                found.append(OrderedArrival(here.stream, here.attribute, _extent(random)))
    return found


def _extent(random: Random) -> Extent:
    return random.choice((Rows(random.choice((0, 0, 1, 2, 3))), Time(random.choice((0, 1, 3)))))


def random_input(random: Random, query: JoinQuery, length: int) -> list[Event]:
    """Rows that obey the constraints, many of which join: each takes values of earlier rows, or next to them."""
    past: list[Event] = []
    now = 0
    for _ in range(length * 6):
        if len(past) == length:
            break
        now_then = now + random.choice((0, 0, 0, 1, 1, 2))
        event = _proposed(random, query, past, now_then)
        if is_admissible(query, past, event):
            past.append(event)
            now = now_then
    return past


def _proposed(random: Random, query: JoinQuery, past: Sequence[Event], now: int) -> Event:
    stream = random.choice(query.streams)
    seen = [value for event in past[-8:] for name, value in event.values.items() if name != FILTER] or [1]
    around = random.choice(seen)
    values = {}
    for name in stream.attributes:
        if name == FILTER:
            values[name] = random.choice((0, 1, 1, 1))
        elif stream.clock is not None and name == stream.clock.attribute:
            values[name] = now - random.randint(0, stream.clock.delay)
        else:
            values[name] = max(0, random.choice((around, random.choice(seen), random.choice(seen) + random.choice((0, 1, 1, 2)))))
    return Event(stream.name, now, values)
