"""Table 1 of the paper, both columns, with the sizes of the synopses."""

from __future__ import annotations

import pytest

from penstock.register.arithmetic import (
    BoundedMemory,
    ComparedAttribute,
    Comparison,
    ConjunctiveQuery,
    Domain,
    Kept,
    Op,
    Opaque,
    Reason,
    UnboundedMemory,
    judge,
)
from tests.register.arithmetic.queries import TABLE_1, TEENS, A, B, C, D, E, eq, lt, table_1


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("Q1", {"S": 0}),
        ("Q3", {"S": 9, "T": 9}),
        ("Q5", {"S": 900, "T": 100}),  # B from 20 to 119, and D from 21 to 120, make a difference
    ],
)
def test_the_queries_that_are_bounded_with_duplicates(name: str, sizes: dict[str, int]) -> None:
    verdict = judge(table_1(name, distinct=False))
    assert isinstance(verdict, BoundedMemory)
    assert {synopsis.stream: synopsis.size for synopsis in verdict.synopses} == sizes


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("Q3", {"S": 9, "T": 9}),
        ("Q4", {"S": 9, "T": 1}),
        ("Q5", {"S": 9, "T": 1}),
        ("Q6", {"S": 1, "T": 1}),  # section 6: the paper's own synopses take 16
        ("Q7", {"S": 9, "T": 9}),  # for each A, the greatest E of the rows that it joins
        ("Q9", {"S": 225, "T": 25}),  # 25 rows of T, each needed: see below
    ],
)
def test_the_queries_that_are_bounded_without_duplicates(name: str, sizes: dict[str, int]) -> None:
    verdict = judge(table_1(name, distinct=True))
    assert isinstance(verdict, BoundedMemory)
    assert {synopsis.stream: synopsis.size for synopsis in verdict.synopses} == sizes


@pytest.mark.parametrize(
    ("name", "distinct", "reason"),
    [
        ("Q1", True, Reason.PROJECTED),
        ("Q2", False, Reason.PROJECTED),
        ("Q2", True, Reason.PROJECTED),
        ("Q4", False, Reason.JOINED),
        ("Q6", False, Reason.JOINED),
        ("Q7", False, Reason.JOINED),
        ("Q8", False, Reason.JOINED),
        ("Q8", True, Reason.ENTANGLED),
        ("Q9", False, Reason.JOINED),
    ],
)
def test_the_queries_that_are_not_bounded(name: str, distinct: bool, reason: Reason) -> None:
    verdict = judge(table_1(name, distinct))
    assert isinstance(verdict, UnboundedMemory)
    assert verdict.failure.reason is reason
    assert verdict.witness is not None


def test_every_query_of_the_table_is_here() -> None:
    assert len(TABLE_1) == 9


@pytest.mark.parametrize("name", ["Q7", "Q9"])
def test_no_synopsis_of_q7_and_q9_can_be_smaller(name: str) -> None:
    """As many rows of T as the size says, each with a row of S that joins none of the others."""
    rows = [(11 + n + 1, 100 - n) for n in range(9)] if name == "Q7" else [(51 + n, 100 - n) for n in range(25)]
    partners = (
        [(11 + n, 100 - n - 1, 0) for n in range(9)] if name == "Q7" else [(15, 50 + n, 99 - n) for n in range(25)]
    )
    joins = {
        "Q7": lambda s, t: s[0] < t[0] and s[1] < t[1],
        "Q9": lambda s, t: s[1] < t[0] and s[2] < t[1] and s[1] < t[1] and s[2] < 100 and t[0] > 50,
    }[name]
    for i, t in enumerate(rows):
        assert [joins(s, t) for s in partners] == [i == j for j in range(len(partners))]


def test_equality_with_a_constant_makes_a_comparison_redundant() -> None:
    """Definition 3.1 misses it, so that theorem 4.2, read literally, calls this query unbounded."""
    verdict = judge(ConjunctiveQuery.over("ST", [eq(A, 10), lt(A, D)], [A], distinct=False))
    assert isinstance(verdict, BoundedMemory)
    assert verdict.size == 2


def test_satisfiability_is_over_integers() -> None:
    conditions = [lt(10, A), lt(A, D), lt(D, 12)]
    assert judge(ConjunctiveQuery.over("ST", conditions, [A], distinct=False)) == BoundedMemory((), contradiction=True)
    dense, other = ComparedAttribute("S", "A", Domain.DENSE), ComparedAttribute("T", "D", Domain.DENSE)
    verdict = judge(ConjunctiveQuery.over("ST", [lt(10, dense), lt(dense, other), lt(other, 12)], [], distinct=False))
    assert isinstance(verdict, UnboundedMemory)


def test_at_most_is_not_split() -> None:
    """`B <= D` as `B < D OR B = D` would fail C2."""
    verdict = judge(ConjunctiveQuery.over("ST", [Comparison(B, Op.LE, D), *TEENS], [A], distinct=True))
    assert isinstance(verdict, BoundedMemory)
    assert verdict.size == 10


def test_decimals_are_counted_in_steps_of_their_scale() -> None:
    price = ComparedAttribute("S", "price", scale=2)
    verdict = judge(ConjunctiveQuery.over("S", [lt(1, price), lt(price, 2)], [price], distinct=True))
    assert isinstance(verdict, BoundedMemory)
    assert verdict.size == 99


def test_a_dense_attribute_is_bounded_only_by_equality() -> None:
    x = ComparedAttribute("S", "x", Domain.DENSE)
    assert isinstance(judge(ConjunctiveQuery.over("S", [lt(1, x), lt(x, 2)], [x], distinct=True)), UnboundedMemory)
    verdict = judge(ConjunctiveQuery.over("S", [Comparison(2, Op.LE, x), Comparison(x, Op.LE, 2)], [x], distinct=True))
    assert isinstance(verdict, BoundedMemory)
    assert verdict.size == 1


def test_differences_bound_each_other() -> None:
    """`S.A` lies within 5 of a bounded attribute."""
    near = [Comparison(A, Op.LE, D, 5), Comparison(D, Op.LE, A, 5), lt(0, D), lt(D, 10)]
    verdict = judge(ConjunctiveQuery.over("ST", near, [A], distinct=False))
    assert isinstance(verdict, BoundedMemory)
    assert {synopsis.stream: synopsis.size for synopsis in verdict.synopses} == {"S": 19, "T": 9}


def test_intervals_around_a_constant_need_two_rows() -> None:
    """Boxes that no single box covers may be covered by two: the least B and the greatest C."""
    around = [Comparison(B, Op.LE, D), Comparison(D, Op.LE, C), lt(B, 0), lt(0, C)]
    verdict = judge(ConjunctiveQuery.over("ST", around, [], distinct=True))
    assert isinstance(verdict, BoundedMemory)
    assert next(synopsis.size for synopsis in verdict.synopses if synopsis.stream == "S") <= 3


def test_unequal_needs_two_rows_without_duplicates() -> None:
    query = ConjunctiveQuery.over("ST", [Comparison(A, Op.NE, D)], [], distinct=True)
    verdict = judge(query)
    assert isinstance(verdict, BoundedMemory)
    assert [synopsis.size for synopsis in verdict.synopses] == [2, 2]
    assert isinstance(
        judge(ConjunctiveQuery.over("ST", [Comparison(A, Op.NE, D)], [], distinct=False)), UnboundedMemory
    )


def test_an_unknown_condition_needs_all_its_values() -> None:
    unknown = Opaque(frozenset({A, D}))
    verdict = judge(ConjunctiveQuery.over("ST", [unknown, lt(0, D), lt(D, 5)], [], distinct=True))
    assert isinstance(verdict, UnboundedMemory)
    assert (verdict.failure.reason, verdict.witness) == (Reason.OPAQUE, None)
    verdict = judge(ConjunctiveQuery.over("ST", [unknown, lt(0, D), lt(D, 5), eq(A, 1)], [], distinct=False))
    assert isinstance(verdict, BoundedMemory)
    assert [(synopsis.values, synopsis.size) for synopsis in verdict.synopses] == [((A,), 1), ((D,), 4)]


def test_a_filter_keeps_nothing() -> None:
    verdict = judge(ConjunctiveQuery.over("S", [lt(B, C)], [A], distinct=False))
    assert isinstance(verdict, BoundedMemory)
    assert [synopsis.kept for synopsis in verdict.synopses] == [Kept.NOTHING]
    assert verdict.size == 0


def test_a_product_counts_rows() -> None:
    verdict = judge(ConjunctiveQuery.over("ST", [lt(A, 5), lt(D, E)], [], distinct=False))
    assert isinstance(verdict, BoundedMemory)
    assert verdict.size == 2
