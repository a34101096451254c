"""The worked examples of thesis chapter 6 and of 000, state by state, and what the analysis says of their graphs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.closing.kconstraints import (
    ArrivalConstraint,
    ClusteredArrival,
    ComponentKind,
    ConstrainedJoin,
    ConstrainedStream,
    EmptyComponent,
    Extent,
    JoinAttribute,
    JoinEquality,
    JoinOutput,
    OrderedArrival,
    Rate,
    Rids,
    RowCount,
    TimeSpan,
)
from tests.reference.kconstraints import Shape, Stored, Unbounded, analyse, shape
from tests.register.kconstraints.machine import Machine
from tests.register.kconstraints.model import FILTER, Event


def key(attribute: str) -> tuple[frozenset[str], ...]:
    return (frozenset({attribute}),)


def on(left: str, right: str) -> JoinEquality:
    return JoinEquality(JoinAttribute(*left.split(".")), JoinAttribute(*right.split(".")))


def figure_6_8a(*constraints: ArrivalConstraint) -> ConstrainedJoin:
    """S1(A, B) → S2(A, C), S1 → S3(B, D), and D < 8."""
    streams = (
        ConstrainedStream("S1", ("A", "B")),
        ConstrainedStream("S2", ("A", "C"), key("A")),
        ConstrainedStream("S3", ("B", "D", FILTER), key("B"), filtered=True),
    )
    return ConstrainedJoin(streams, (on("S1.A", "S2.A"), on("S1.B", "S3.B")), constraints, JoinOutput.INSERTIONS)


def figure_6_8b(window: Extent | None = None) -> ConstrainedJoin:
    """S1(A, B) → S2(B, C) → S3(C, D), and D > 10."""
    streams = (
        ConstrainedStream("S1", ("A", "B")),
        ConstrainedStream("S2", ("B", "C"), key("B")),
        ConstrainedStream("S3", ("C", "D", FILTER), key("C"), window, filtered=True),
    )
    return ConstrainedJoin(streams, (on("S1.B", "S2.B"), on("S2.C", "S3.C")), output=JoinOutput.CHANGES)


class Run(Machine):
    """A machine that is fed with the examples' tuples; No components are stored unless the thesis leaves them out."""

    def __init__(self, query: ConstrainedJoin, passes: str = "True", keep_no: bool = True) -> None:
        analysis = analyse(query)
        handlings = {verdict.stream: verdict.handling for verdict in analysis.streams}
        for name, one in handlings.items():
            told = all(name in _deadlines(query, parent) for parent in analysis.graph.parents[name])
            if keep_no and analysis.graph.parents[name] and not told:
                handlings[name] = replace(one, no=Stored.KEY)
        super().__init__(query, analysis, handlings)
        self.filter = passes

    def feed(self, stream: str, *rows: tuple[int, ...]) -> None:
        for row in rows:
            attributes = self.query.stream(stream).attributes
            values = dict(zip([one for one in attributes if one != FILTER], row, strict=True))
            if FILTER in attributes:
                values[FILTER] = int(eval(self.filter, {}, values))
            self.arrive(Event(stream, len(self.past), values))

    def show(self, component: str, stream: str) -> list[tuple[int, ...]]:
        rows = getattr(self, component)[stream]
        return [tuple(value for name, value in row.values.items() if name != FILTER) for row in rows]

    def results(self) -> list[tuple[int, ...]]:
        """All values of each result row, each column of a class once, in the order of the streams."""
        found = []
        for result in self.emitted:
            values: dict[str, int] = {}
            for row in sorted(result, key=lambda row: row.stream):
                values.update({name: value for name, value in row.values.items() if name != FILTER})
            found.append(tuple(values.values()))
        return found


def _deadlines(query: ConstrainedJoin, parent: str) -> set[str]:
    return {one.target for one in query.constraints if isinstance(one, Rids) and one.stream == parent} | {
        one.stream for one in query.constraints if isinstance(one, OrderedArrival)
    }


def run_6_8a(*constraints: ArrivalConstraint, s3: tuple[tuple[int, int], ...] = ((5, 3), (7, 9), (10, 12))) -> Run:
    """The state of figure 6.8(a)."""
    run = Run(figure_6_8a(*constraints), "D < 8")
    run.feed("S2", (6, 20), (4, 15))
    run.feed("S3", *s3)
    return run


def test_6_3_1_a_row_is_yes_with_all_its_children_and_no_with_one_that_fails() -> None:
    run = run_6_8a()
    assert run.show("yes", "S2") == [(6, 20), (4, 15)]
    assert run.show("yes", "S3") == [(5, 3)]
    assert run.show("no", "S3") == [(7, 9), (10, 12)]
    run.feed("S1", (6, 5))
    assert run.results() == [(6, 5, 20, 3)]
    run.feed("S1", (8, 10))
    assert run.show("unknown", "S1") == run.show("yes", "S1") == []


def test_6_3_2_a_row_becomes_yes_when_the_last_child_comes() -> None:
    run = Run(replace(figure_6_8b(), output=JoinOutput.INSERTIONS), "D > 10")
    run.feed("S2", (2, 4))
    run.feed("S1", (1, 2))
    assert run.show("unknown", "S2") == [(2, 4)]
    assert run.show("unknown", "S1") == [(1, 2)]
    run.feed("S3", (4, 12))
    assert run.show("yes", "S2") == [(2, 4)]
    assert run.show("yes", "S3") == [(4, 12)]
    assert run.results() == [(1, 2, 4, 12)]


@pytest.mark.parametrize(("keep_no", "kept"), [(False, [(1, 3), (2, 3), (5, 3)]), (True, [])])
def test_6_3_3_without_no_rows_parents_stay_unknown(keep_no: bool, kept: list[tuple[int, int]]) -> None:
    run = Run(replace(figure_6_8b(), output=JoinOutput.INSERTIONS), "D > 10", keep_no)
    run.feed("S3", (6, 8))
    run.feed("S2", (3, 6))
    run.feed("S1", (1, 3), (2, 3), (5, 3))
    assert run.show("unknown", "S1") == kept


def test_6_3_4_results_are_taken_back_when_a_row_leaves_its_window() -> None:
    run = Run(figure_6_8b(window=RowCount(1)), "D > 10")
    run.feed("S1", (1, 2))
    run.feed("S2", (2, 4))
    run.feed("S3", (4, 12))
    assert run.show("yes", "S1") == [(1, 2)]
    assert sum(run.relation.values()) == 1
    run.feed("S3", (9, 11))
    assert run.show("yes", "S1") == run.show("yes", "S2") == []
    assert sum(run.relation.values()) == 0


def test_6_6_1_rids_needs_no_no_rows() -> None:
    run = run_6_8a(Rids("S1", ("B",), "S3", ("B",), RowCount(1)))
    assert run.show("no", "S3") == []
    run.feed("S1", (4, 10))
    assert run.show("unknown", "S1") == [(4, 10)]
    run.feed("S3", (11, 1))
    assert run.show("unknown", "S1") == []


def test_6_7_1_clusters_that_are_closed_free_their_child() -> None:
    run = run_6_8a(ClusteredArrival("S1", ("B",), RowCount(1)))
    run.feed("S1", (6, 5), (8, 8), (4, 5))
    assert run.show("yes", "S3") == [(5, 3)]
    run.feed("S1", (11, 10))
    assert run.results() == [(6, 5, 20, 3), (4, 5, 15, 3)]
    assert run.show("unknown", "S1") == [(8, 8)]
    assert run.show("yes", "S3") == []


def test_6_8_1_order_of_the_child_needs_no_no_rows() -> None:
    run = run_6_8a(OrderedArrival("S3", "B", RowCount(2)), s3=((7, 9), (5, 3), (10, 12)))
    assert run.show("no", "S3") == []
    run.feed("S1", (6, 4))
    assert run.show("unknown", "S1") == []


CA, OAC = ClusteredArrival("S1", ("A",), RowCount(0)), OrderedArrival("S3", "B", RowCount(0))


@pytest.mark.parametrize(
    ("constraints", "s2", "s1"),
    [
        ((CA,), [(6, 20)], [(6, 8), (3, 13)]),
        ((OAC,), [(6, 20), (4, 15)], [(3, 13)]),
        ((CA, OAC), [], [(3, 13)]),
    ],
    ids=["CA", "OAC", "both"],
)
def test_6_10_1_together_they_drop_more(
    constraints: tuple[ArrivalConstraint, ...], s2: list[tuple[int, int]], s1: list[tuple[int, int]]
) -> None:
    run = run_6_8a(*constraints)
    run.feed("S1", (4, 5), (6, 8), (3, 13))
    assert run.results() == [(4, 5, 15, 3)]
    assert run.show("yes", "S2") == s2
    assert run.show("unknown", "S1") == s1


def test_6_10_2_together_they_may_keep_rows_for_longer() -> None:
    clustered, rids = ClusteredArrival("S1", ("B",), RowCount(0)), Rids("S1", ("B",), "S3", ("B",), RowCount(3))
    run = run_6_8a(clustered)
    run.feed("S1", (6, 10), (4, 10), (8, 8))
    assert run.show("unknown", "S1") == [(8, 8)]
    assert (10, 12) not in run.show("no", "S3")
    run = run_6_8a(clustered, rids)
    run.feed("S1", (6, 10), (4, 10), (8, 8))
    assert run.show("unknown", "S1") == [(6, 10), (4, 10), (8, 8)]
    run.feed("S3", (20, 1), (21, 1))
    assert run.show("unknown", "S1") == [(6, 10), (4, 10), (8, 8)]
    run.feed("S3", (22, 1))
    assert run.show("unknown", "S1") == []


def test_b_1_children_that_are_yes_must_also_fit_each_other() -> None:
    streams = (
        ConstrainedStream("S1", ("A", "B")),
        ConstrainedStream("S2", ("A", "C"), key("A")),
        ConstrainedStream("S3", ("B", "D"), key("B")),
        ConstrainedStream("S4", ("E",), key("E")),
    )
    joins = on("S1.A", "S2.A"), on("S1.B", "S3.B"), on("S2.C", "S4.E"), on("S3.D", "S4.E")
    query = ConstrainedJoin(streams, joins)
    assert shape(analyse(query).graph) is Shape.DAG
    run = Run(query)
    run.feed("S4", (1,), (2,))
    run.feed("S2", (3, 1), (5, 1))
    run.feed("S3", (4, 2), (6, 1))
    run.feed("S1", (3, 4))
    assert run.show("unknown", "S1") == run.show("yes", "S1") == []
    assert not run.emitted
    run.feed("S1", (5, 6))
    assert sum(run.emitted.values()) == 1


def test_figure_19_misses_paths_of_a_single_edge() -> None:
    """S → X and S → A → X: both children of s are Yes, and they do not fit."""
    streams = (
        ConstrainedStream("S", ("p", "q")),
        ConstrainedStream("A", ("k", "r"), key("k")),
        ConstrainedStream("X", ("x",), key("x")),
    )
    query = ConstrainedJoin(streams, (on("S.p", "X.x"), on("S.q", "A.k"), on("A.r", "X.x")))
    run = Run(query)
    run.feed("X", (1,), (2,))
    run.feed("A", (7, 2))
    run.feed("S", (1, 7))
    assert run.show("unknown", "S") == run.show("yes", "S") == []
    assert not run.emitted


def cycle() -> ConstrainedJoin:
    streams = (
        ConstrainedStream("S1", ("A", "B"), key("A")),
        ConstrainedStream("S2", ("B", "C"), key("B")),
        ConstrainedStream("S3", ("C", "A"), key("C")),
    )
    return ConstrainedJoin(streams, (on("S1.B", "S2.B"), on("S2.C", "S3.C"), on("S3.A", "S1.A")))


def test_c_1_rows_of_a_cycle_become_yes_together() -> None:
    analysis = analyse(cycle())
    assert shape(analysis.graph) is Shape.CYCLIC
    assert {frozenset({name}) for name in ("S1", "S2", "S3")} == set(analysis.covers)
    run = Run(cycle())
    run.handlings = {name: replace(one, yes=Stored.TUPLE) for name, one in run.handlings.items()}
    run.feed("S3", (3, 1))
    run.feed("S2", (2, 3))
    assert run.show("unknown", "S3") == [(3, 1)]
    assert run.show("unknown", "S2") == [(2, 3)]
    run.feed("S1", (1, 2))
    assert run.results() == [(1, 2, 3)]
    assert [run.show("yes", name) for name in ("S1", "S2", "S3")] == [[(1, 2)], [(2, 3)], [(3, 1)]]
    run.feed("S1", (4, 2))
    assert run.show("unknown", "S1") == []
    assert run.show("yes", "S1") == [(1, 2)]


def test_c_1_nothing_of_a_cycle_need_be_kept_after_its_result() -> None:
    run = Run(cycle())
    run.feed("S3", (3, 1))
    run.feed("S2", (2, 3))
    run.feed("S1", (1, 2))
    assert run.results() == [(1, 2, 3)]
    assert not any(run.stored(name) for name in ("S1", "S2", "S3"))


MINUTE = 60_000_000


def network(output: JoinOutput) -> ConstrainedJoin:
    """6.1.1: packets pass the links C, B, O in this order, within a second from link to link; 10-minute windows."""
    streams = tuple(
        ConstrainedStream(name, ("pid",), key("pid"), TimeSpan(10 * MINUTE), rate=Rate(most=per_second))
        for name, per_second in (("C", 1_000), ("B", 10_000), ("O", 1_000))
    )
    constraints = (
        Rids("C", ("pid",), "B", ("pid",), TimeSpan(999_999)),
        Rids("B", ("pid",), "O", ("pid",), TimeSpan(999_999)),
        Rids("B", ("pid",), "C", ("pid",), RowCount(0)),
        Rids("O", ("pid",), "B", ("pid",), RowCount(0)),
    )
    return ConstrainedJoin(streams, (on("C.pid", "B.pid"), on("B.pid", "O.pid")), constraints, output)


def test_6_1_1_the_network_query_keeps_what_is_on_its_way() -> None:
    analysis = analyse(network(JoinOutput.INSERTIONS))
    assert {frozenset({name}) for name in "CBO"} == set(analysis.covers)
    numbers = {(one.stream, one.component.value): one.bound.number for one in analysis.components}
    assert numbers == {
        ("C", "Yes"): 0,
        ("C", "No"): 0,
        ("C", "Unknown"): 2_000,
        ("B", "Yes"): 0,
        ("B", "No"): 0,
        ("B", "Unknown"): 10_000,
        ("O", "Yes"): 0,
        ("O", "No"): 0,
        ("O", "Unknown"): 0,
    }


def test_6_1_1_to_take_results_back_their_rows_are_kept() -> None:
    """The 0.18 MB of the thesis are these rows: 1% of 1,000 a second for 600 seconds, of three streams, 10 bytes."""
    analysis = analyse(network(JoinOutput.CHANGES))
    assert all(verdict.yes.kind is ComponentKind.WINDOW for verdict in analysis.streams)
    assert analysis["O"].yes.number == 601_000
    assert 1_000 // 100 * 600 * 3 * 10 == 180_000


@pytest.mark.parametrize(
    ("constraints", "unknown", "no"),
    [
        ((), "Unbounded", "left out"),
        ((Rids("S1", ("A",), "S2", ("A",), RowCount(5000)),), "k", "parents"),
        ((Rids("S1", ("A",), "S2", ("A",), RowCount(0)),), "EmptyComponent", "parents"),
        ((OrderedArrival("S2", "A", RowCount(5000)),), "open", "parents"),
        ((ClusteredArrival("S1", ("A",), RowCount(5000)),), "Unbounded", "left out"),
        ((OrderedArrival("S1", "A", RowCount(5000)),), "Unbounded", "key"),
    ],
    ids=["none", "RIDS", "strict RIDS", "OAC", "CA", "OAP"],
)
def test_table_6_2_for_one_join(constraints: tuple[ArrivalConstraint, ...], unknown: str, no: str) -> None:
    """S1(A) → S2(A), a filter on S2: figure 6.9(c), without windows."""
    streams = ConstrainedStream("S1", ("A", "B")), ConstrainedStream("S2", ("A",), key("A"), filtered=True)
    analysis = analyse(ConstrainedJoin(streams, (on("S1.A", "S2.A"),), constraints))
    bound = analysis["S1"].unknown
    assert isinstance(analysis["S1"].yes, EmptyComponent)
    assert isinstance(analysis["S1"].no, EmptyComponent)
    assert (bound.kind.value if hasattr(bound, "kind") else type(bound).__name__) == unknown
    assert no in str(analysis["S2"].no.proof.rule)
    is_ordered_parent = constraints == (OrderedArrival("S1", "A", RowCount(5000)),)
    assert isinstance(analysis["S2"].yes, Unbounded) is not is_ordered_parent


def test_clusters_bound_what_was_referred_to_and_nothing_else() -> None:
    streams = ConstrainedStream("S1", ("A", "B")), ConstrainedStream("S2", ("A",), key("A"))
    clustered = ClusteredArrival("S1", ("A",), RowCount(7))
    bound = analyse(ConstrainedJoin(streams, (on("S1.A", "S2.A"),), (clustered,)))["S2"].yes
    assert isinstance(bound, Unbounded)
    assert bound.referred == 8


def test_6_9b_order_of_both_parents_bounds_all_that_is_yes() -> None:
    """S1(A) → S3(A) ← S2(A): OAP on both roots."""
    streams = (
        ConstrainedStream("S1", ("A",)),
        ConstrainedStream("S2", ("A",)),
        ConstrainedStream("S3", ("A",), key("A")),
    )
    joins = on("S1.A", "S3.A"), on("S2.A", "S3.A")
    orders = OrderedArrival("S1", "A", RowCount(3)), OrderedArrival("S2", "A", RowCount(3))
    analysis = analyse(ConstrainedJoin(streams, joins, orders))
    assert set(analysis.covers) == {frozenset({"S1", "S2"})}
    assert [verdict.yes.kind for verdict in analysis.streams] == [ComponentKind.OPEN] * 3
    assert isinstance(analysis["S1"].unknown, Unbounded)
    in_time = Rids("S1", ("A",), "S3", ("A",), RowCount(0)), Rids("S2", ("A",), "S3", ("A",), RowCount(0))
    assert analyse(ConstrainedJoin(streams, joins, (*orders, *in_time))).is_bounded
