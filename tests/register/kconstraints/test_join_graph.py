"""Join graphs and minimal covers against their definitions, and analyses against other names and another order."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from random import Random

import pytest

from penstock.closing.kconstraints import (
    ArrivalConstraint,
    BoundedComponent,
    ClusteredArrival,
    ConstrainedJoin,
    ConstrainedStream,
    JoinAttribute,
    JoinEquality,
    OrderedArrival,
    Rids,
    RowCount,
    StreamClock,
)
from penstock.closing.kconstraints.join_graph import JoinGraph, join_graph
from tests.reference.kconstraints import Shape, analyse, is_many_many, min_covers, shape
from tests.register.kconstraints.cases import random_query

KEY = (frozenset({"a"}),)


def graph(*edges: str, keyed: bool = True) -> JoinGraph:
    """Streams and many-one joins, as in `graph("s1>s2", "s1>s3")`."""
    pairs = [edge.split(">") for edge in edges]
    names = sorted({name for pair in pairs for name in pair})
    columns = {name: tuple(f"to_{other}" for other in names) for name in names}
    streams = tuple(ConstrainedStream(name, ("a", *columns[name]), KEY if keyed else ()) for name in names)
    joins = tuple(
        JoinEquality(JoinAttribute(parent, f"to_{child}"), JoinAttribute(child, "a")) for parent, child in pairs
    )
    return join_graph(ConstrainedJoin(streams, joins))


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        (("s1>s2", "s1>s3"), Shape.TREE),
        (("s1>s3", "s2>s3"), Shape.TREE),
        (("s1>s2", "s2>s3", "s1>s3"), Shape.DAG),
        (("s1>s2", "s1>s3", "s2>s4", "s3>s4"), Shape.DAG),
        (("s1>s2", "s2>s3", "s3>s1"), Shape.CYCLIC),
        (("s1>s2", "s2>s1"), Shape.CYCLIC),
    ],
)
def test_shapes(edges: tuple[str, ...], expected: Shape) -> None:
    assert shape(graph(*edges)) is expected


def test_a_one_one_join_is_a_cycle_and_a_many_many_join_no_edge() -> None:
    streams = (
        ConstrainedStream("s1", ("a",), KEY),
        ConstrainedStream("s2", ("a",), KEY),
        ConstrainedStream("s3", ("a",)),
        ConstrainedStream("s4", ("a",)),
    )
    equal = [JoinEquality(JoinAttribute("s1", "a"), JoinAttribute(name, "a")) for name in ("s2", "s3", "s4")]
    found = join_graph(ConstrainedJoin(streams, tuple(equal)))
    assert found.children["s1"] == ("s2",)
    assert found.children["s2"] == ("s1",)
    assert found.children["s3"] == ("s1", "s2")
    assert is_many_many(found, "s3", "s4")
    assert not is_many_many(found, "s1", "s3")


def test_a_key_of_several_columns_may_be_compared_by_way_of_others() -> None:
    """The key (a, b) of s2 is equal to columns of s1, one of them only by way of s3."""
    streams = (
        ConstrainedStream("s1", ("a", "b")),
        ConstrainedStream("s2", ("a", "b"), (frozenset({"a", "b"}),)),
        ConstrainedStream("s3", ("b",)),
    )
    pairs = ("s1", "a", "s2", "a"), ("s1", "b", "s3", "b"), ("s3", "b", "s2", "b")
    joins = tuple(
        JoinEquality(JoinAttribute(left, one), JoinAttribute(right, other)) for left, one, right, other in pairs
    )
    found = join_graph(ConstrainedJoin(streams, joins))
    assert found.children["s1"] == ("s2",)
    assert found.children["s3"] == ()


def test_minimal_covers_are_those_of_the_definition() -> None:
    random = Random("covers")
    for _ in range(300):
        found = join_graph(random_query(random))
        names = found.names

        def covers(some: tuple[str, ...], found: JoinGraph = found) -> bool:
            return all(name in some or any(name in found.descendants[one] for one in some) for name in found.names)

        every = [set(some) for size in range(1, len(names) + 1) for some in combinations(names, size) if covers(some)]
        minimal = {frozenset(some) for some in every if not any(other < some for other in every)}
        assert set(min_covers(found)) == minimal
        for size in range(len(names) + 1):
            for some in map(frozenset, combinations(names, size)):
                assert (some in min_covers(found)) is (some in minimal)
                inside = min_covers(found).within(some)
                assert (inside is not None) is any(one <= some for one in minimal)
                assert inside is None or (inside <= some and inside in minimal)
        for name in names:
            assert min_covers(found).alone(name) is ({name} in minimal)


def test_names_and_order_do_not_matter() -> None:
    random = Random("names")
    for _ in range(200):
        query = random_query(random)
        other, names = renamed(random, query)
        before, after = analyse(query), analyse(other)
        assert shape(before.graph) is shape(after.graph)
        for verdict in before.streams:
            twin = after[names[verdict.stream]]
            for name in ("yes", "no", "unknown"):
                left, right = getattr(verdict, name), getattr(twin, name)
                assert type(left) is type(right), query
                assert left.number == right.number, query
                if isinstance(left, BoundedComponent):
                    assert left.kind is right.kind, query


def renamed(random: Random, query: ConstrainedJoin) -> tuple[ConstrainedJoin, dict[str, str]]:
    """The same query with other names, everything in another order."""
    fresh = [f"t{number}" for number in range(len(query.streams))]
    random.shuffle(fresh)
    names = {stream.name: new for stream, new in zip(query.streams, fresh, strict=True)}
    attributes = {name: {"a": "z", "b": "y", "c": "x"}.get(name, name) for name in ("a", "b", "c", "f")}

    def column(one: JoinAttribute) -> JoinAttribute:
        return JoinAttribute(names[one.stream], attributes[one.name])

    def several(columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(attributes[one] for one in columns)

    def constraint(one: ArrivalConstraint) -> ArrivalConstraint:
        match one:
            case Rids(stream, columns, target, targets, within):
                return Rids(names[stream], several(columns), names[target], several(targets), within)
            case ClusteredArrival(stream, columns, within):
                return ClusteredArrival(names[stream], several(columns), within)
            case OrderedArrival(stream, name, within):
                return OrderedArrival(names[stream], attributes[name], within)

    def stream(one: ConstrainedStream) -> ConstrainedStream:
        clock = one.clock and StreamClock(attributes[one.clock.attribute], one.clock.delay)
        keys = tuple(frozenset(map(attributes.__getitem__, key)) for key in one.keys)
        return replace(one, name=names[one.name], attributes=several(one.attributes), keys=keys, clock=clock)

    streams = [stream(one) for one in query.streams]
    joins = [JoinEquality(column(one.right), column(one.left)) for one in query.equalities]
    constraints = [constraint(one) for one in query.constraints]
    for some in (streams, joins, constraints):
        random.shuffle(some)
    return ConstrainedJoin(tuple(streams), tuple(joins), tuple(constraints), query.output), names


def test_two_occurrences_of_a_stream_are_counted_by_one_counter() -> None:
    """A row may come to one occurrence before the other: RIDS(3) leaves 4 rows."""
    streams = (
        ConstrainedStream("early", ("a", "b"), KEY, source="s"),
        ConstrainedStream("late", ("a", "b"), KEY, source="s"),
    )
    join = JoinEquality(JoinAttribute("early", "b"), JoinAttribute("late", "a"))
    bound = analyse(ConstrainedJoin(streams, (join,), (Rids("early", ("b",), "late", ("a",), RowCount(3)),)))[
        "early"
    ].unknown
    assert bound.number == 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConstrainedStream("s", ("a",), (frozenset({"b"}),)), "no attribute b"),
        (lambda: ConstrainedJoin((ConstrainedStream("s", ("a",)), ConstrainedStream("s", ("a",)))), "one name"),
        (
            lambda: ConstrainedJoin((ConstrainedStream("s", ("a",)),), (), (OrderedArrival("s", "b", RowCount(0)),)),
            r"no s\.b",
        ),
        (lambda: RowCount(-1), "not negative"),
        (lambda: Rids("s", ("a", "b"), "t", ("a",), RowCount(0)), "as many attributes"),
    ],
)
def test_what_makes_no_sense_cannot_be_built(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
