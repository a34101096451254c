"""Random join queries with constraints, and random input that obeys them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from penstock.closing.kconstraints import (
    ArrivalConstraint,
    ClusteredArrival,
    ConstrainedJoin,
    ConstrainedStream,
    Extent,
    JoinAttribute,
    JoinEquality,
    JoinOutput,
    OrderedArrival,
    Rids,
    RowCount,
    StreamClock,
    TimeSpan,
)
from tests.register.kconstraints.model import FILTER, Event, is_admissible

ATTRIBUTES = ("a", "b", "c")


def random_query(random: Random, *, kinds: Sequence[type] = (), clocks: bool = True) -> ConstrainedJoin:
    """A connected join of streams: trees, acyclic graphs, cycles, some joins many-many; constraints of these kinds."""
    names, pairs = random.choice((_tree, _tree, _tree, _graph, _triangle, _diamond))(random)
    join = random.choice((_any_join, _many_one_join, _many_one_join))
    equalities = tuple(join(random, *pair) for pair in pairs)
    declared = tuple(
        _stream(random, name, _compared(name, equalities), join is _many_one_join, clocks) for name in names
    )
    constraints = _constraints(random, equalities, kinds or (Rids, ClusteredArrival, OrderedArrival))
    return ConstrainedJoin(declared, equalities, tuple(constraints), random.choice(list(JoinOutput)))


Pairs = tuple[list[str], list[tuple[str, str]]]


def _tree(random: Random) -> Pairs:
    """Edges point this way and that."""
    names = [f"s{number}" for number in range(1, random.choice((2, 3, 3, 4)) + 1)]
    pairs = [(random.choice(names[:place]), name) for place, name in enumerate(names) if place]
    return names, [(right, left) if random.random() < 0.3 else (left, right) for left, right in pairs]


def _graph(random: Random) -> Pairs:
    """A tree and some edges more: often cyclic."""
    names, pairs = _tree(random)
    left, right = random.sample(names, 2)
    return names, [*pairs, (left, right)]


def _triangle(random: Random) -> Pairs:
    return ["s1", "s2", "s3"], [("s1", "s2"), ("s2", "s3"), random.choice((("s1", "s3"), ("s3", "s1")))]


def _diamond(random: Random) -> Pairs:
    return ["s1", "s2", "s3", "s4"], [("s1", "s2"), ("s1", "s3"), ("s2", "s4"), ("s3", "s4")]


def _any_join(random: Random, left: str, right: str) -> JoinEquality:
    return JoinEquality(JoinAttribute(left, random.choice(ATTRIBUTES)), JoinAttribute(right, random.choice(ATTRIBUTES)))


def _many_one_join(random: Random, parent: str, child: str) -> JoinEquality:
    """The key of a stream is its first attribute; sometimes keys of both are compared, or of neither."""
    kind = random.random()
    here = "a" if kind < 0.1 else random.choice(("b", "c"))
    there = random.choice(("b", "c")) if kind > 0.9 else "a"
    return JoinEquality(JoinAttribute(parent, here), JoinAttribute(child, there))


def _compared(name: str, equalities: Sequence[JoinEquality]) -> list[str]:
    sides = (side for one in equalities for side in (one.left, one.right))
    return sorted({side.name for side in sides if side.stream == name})


def _stream(random: Random, name: str, compared: Sequence[str], is_keyed: bool, clocks: bool) -> ConstrainedStream:
    keys = (frozenset({"a"}),) if is_keyed else tuple(frozenset({one}) for one in compared if random.random() < 0.6)
    clock = StreamClock(random.choice(compared), random.choice((0, 2))) if clocks and random.random() < 0.15 else None
    filtered = random.random() < 0.3
    window = random.choice((None, None, None, RowCount(random.randint(1, 4)), TimeSpan(random.randint(0, 6))))
    attributes = (*ATTRIBUTES, FILTER) if filtered else ATTRIBUTES
    return ConstrainedStream(name, attributes, keys, window, filtered, clock=clock)


def _constraints(random: Random, equalities: Sequence[JoinEquality], kinds: Sequence[type]) -> list[ArrivalConstraint]:
    found: list[ArrivalConstraint] = []
    share = random.choice((0.2, 0.6, 0.9))
    for equality in equalities:
        for here, there in ((equality.left, equality.right), (equality.right, equality.left)):
            more = random.choice(((), (), (random.choice(ATTRIBUTES),)))
            own, theirs = (here.name, *more), (there.name, *more)
            if Rids in kinds and random.random() < share:
                found.append(Rids(here.stream, own, there.stream, theirs, _extent(random)))
            if ClusteredArrival in kinds and random.random() < share / 2:
                found.append(ClusteredArrival(here.stream, own, _extent(random)))
            if OrderedArrival in kinds and random.random() < share / 2:
                found.append(OrderedArrival(here.stream, here.name, _extent(random)))
    return found


def _extent(random: Random) -> Extent:
    return random.choice((RowCount(random.choice((0, 0, 1, 2, 3))), TimeSpan(random.choice((0, 1, 3)))))


def random_input(random: Random, query: ConstrainedJoin, length: int) -> list[Event]:
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


def _proposed(random: Random, query: ConstrainedJoin, past: Sequence[Event], now: int) -> Event:
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
            near = random.choice(seen) + random.choice((0, 1, 1, 2))
            values[name] = random.choice((around, random.choice(seen), near))
    for partner in random.sample(past[-8:], min(2, len(past))) if random.random() < 0.7 else ():
        values.update(_matching(query, stream, partner))
    return Event(stream.name, now, values)


def _matching(query: ConstrainedJoin, stream: ConstrainedStream, partner: Event) -> Iterator[tuple[str, int]]:
    """The values with which a row of the stream joins with the partner."""
    for one in query.equalities:
        for here, there in ((one.left, one.right), (one.right, one.left)):
            if (here.stream, there.stream) == (stream.name, partner.stream):
                yield here.name, partner.values[there.name]
