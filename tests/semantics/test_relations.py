"""SQL over relations, worked out by hand: bags, sets, NULLs, joins, subqueries and groups."""

from __future__ import annotations

import math

import pytest

from tests.reference.values import Row
from tests.semantics.examples import final

DDL = """
CREATE STREAM a (k BIGINT, v STRING, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM b (k BIGINT, v STRING, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM d (x DOUBLE, ts BIGINT) TIMESTAMP BY ts;
"""
A: list[Row] = [(1, "p", 0), (1, "p", 1), (2, "q", 2), (None, "r", 3)]
B: list[Row] = [(1, "p", 0), (3, "s", 1), (None, "r", 2)]


def in_the_end(query: str, a: list[Row] = A, b: list[Row] = B, d: list[Row] | None = None) -> list[Row]:
    """What the query holds in the end, in order."""
    return sorted(final(DDL + query, a=a, b=b, d=d or []), key=repr)


def test_a_null_key_joins_with_nothing() -> None:
    assert in_the_end("SELECT a.k, b.v FROM a, b WHERE a.k = b.k") == [(1, "p"), (1, "p")]
    assert in_the_end("SELECT a.k, b.v FROM a JOIN b ON a.k = b.k") == [(1, "p"), (1, "p")]
    assert in_the_end("SELECT * FROM a JOIN b USING (k, v)") == [(1, "p", 0, 0), (1, "p", 1, 0)]


def test_using_puts_its_columns_first_in_its_own_join() -> None:
    text = "CREATE STREAM c (n BIGINT, k BIGINT, ts BIGINT) TIMESTAMP BY ts; SELECT * FROM a, c JOIN b USING (k)"
    rows: list[Row] = [(1, "p", 0)]
    assert final(DDL + text, a=rows, c=[(7, 2, 3)], b=[(2, "q", 4)]) == [(1, "p", 0, 2, 7, 3, "q", 4)]


def test_null_safe_equality_joins_nulls() -> None:
    assert in_the_end("SELECT a.v FROM a, b WHERE a.k <=> b.k") == [("p",), ("p",), ("r",)]


def test_comma_without_condition_combines_all() -> None:
    assert len(in_the_end("SELECT a.k FROM a, b")) == 12


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("UNION ALL", [(1,), (1,), (1,), (2,), (3,), (None,), (None,)]),
        ("UNION", [(1,), (2,), (3,), (None,)]),
        ("EXCEPT ALL", [(1,), (2,)]),
        ("EXCEPT", [(2,)]),
        ("INTERSECT ALL", [(1,), (None,)]),
        ("INTERSECT", [(1,), (None,)]),
    ],
)
def test_set_operations_take_nulls_as_alike(operator: str, expected: list[Row]) -> None:
    assert in_the_end(f"SELECT k FROM a {operator} SELECT k FROM b") == expected


def test_intersect_all_takes_the_smaller_count() -> None:
    rows: list[Row] = [(1, "p", 0)] * 2
    assert in_the_end("SELECT k FROM a INTERSECT ALL SELECT k FROM b", a=rows * 2, b=rows) == [(1,), (1,)]


def test_intersect_binds_tighter_than_union() -> None:
    text = "SELECT k FROM a WHERE k = 2 UNION SELECT k FROM a INTERSECT SELECT k FROM b"
    assert in_the_end(text) == [(1,), (2,), (None,)]
    assert in_the_end("(SELECT k FROM a WHERE k = 2 UNION SELECT k FROM a) INTERSECT SELECT k FROM b") == [
        (1,),
        (None,),
    ]


def test_distinct_takes_nulls_as_alike() -> None:
    rows: list[Row] = [(None, None, 0), (None, None, 1), (1, None, 2)]
    assert in_the_end("SELECT DISTINCT k, v FROM a", a=rows) == [(1, None), (None, None)]


def test_where_keeps_what_is_true_and_not_what_is_unknown() -> None:
    assert in_the_end("SELECT v FROM a WHERE k = 1") == [("p",), ("p",)]
    assert in_the_end("SELECT v FROM a WHERE NOT k = 1") == [("q",)]
    assert in_the_end("SELECT v FROM a WHERE k = 1 OR k IS NULL") == [("p",), ("p",), ("r",)]


def test_in_a_subquery_passes_over_nulls() -> None:
    assert in_the_end("SELECT v FROM a WHERE k IN (SELECT k FROM b)") == [("p",), ("p",)]


def test_not_in_a_subquery_with_a_null_is_never_true() -> None:
    assert in_the_end("SELECT v FROM a WHERE k NOT IN (SELECT k FROM b)") == []
    without_null = "SELECT v FROM a WHERE k NOT IN (SELECT k FROM b WHERE k IS NOT NULL)"
    assert in_the_end(without_null) == [("q",)]
    nothing = "SELECT v FROM a WHERE k NOT IN (SELECT k FROM b WHERE k > 9)"
    assert in_the_end(nothing) == [("p",), ("p",), ("q",), ("r",)]


def test_exists_speaks_of_the_query_around() -> None:
    assert in_the_end("SELECT v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)") == [("p",), ("p",)]
    assert in_the_end("SELECT v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)") == [("q",), ("r",)]


def test_semi_and_anti_join() -> None:
    assert in_the_end("SELECT v FROM a LEFT SEMI JOIN b ON a.k = b.k") == [("p",), ("p",)]
    assert in_the_end("SELECT v FROM a LEFT ANTI JOIN b ON a.k = b.k") == [("q",), ("r",)]


def test_groups_take_nulls_as_one() -> None:
    rows: list[Row] = [(1, "x", 0), (None, "x", 1), (None, "y", 2)]
    assert in_the_end("SELECT k, COUNT(*) FROM a GROUP BY k", a=rows) == [(1, 1), (None, 2)]


def test_aggregates_pass_over_nulls() -> None:
    text = "SELECT COUNT(*), COUNT(k), SUM(k), MIN(k), MAX(k), AVG(k), COUNT(DISTINCT k), SUM(DISTINCT k) FROM a"
    assert in_the_end(text) == [(4, 3, 4, 1, 2, 4 / 3, 2, 3)]


def test_aggregates_of_nothing_are_null_and_count_is_zero() -> None:
    text = "SELECT COUNT(*), COUNT(k), SUM(k), MIN(v), AVG(k) FROM a WHERE k > 9"
    assert in_the_end(text) == [(0, 0, None, None, None)]


def test_without_rows_there_are_no_groups() -> None:
    assert in_the_end("SELECT k, COUNT(*) FROM a WHERE k > 9 GROUP BY k") == []


def test_having_filters_groups() -> None:
    assert in_the_end("SELECT k FROM a GROUP BY k HAVING COUNT(*) > 1") == [(1,)]
    assert in_the_end("SELECT COUNT(*) FROM a HAVING COUNT(*) > 9") == []


def test_grouping_by_an_expression() -> None:
    assert in_the_end("SELECT k % 2 + 1, COUNT(*) FROM a GROUP BY k % 2") == [(1, 1), (2, 2), (None, 1)]


def test_scalar_subquery_of_an_aggregate() -> None:
    assert in_the_end("SELECT v FROM a WHERE k = (SELECT MAX(k) FROM a)") == [("q",)]
    assert in_the_end("SELECT v FROM a WHERE k = (SELECT MAX(k) FROM a WHERE k > 9)") == []


def test_views_and_with_are_what_they_stand_for() -> None:
    view = "CREATE VIEW w AS SELECT k, COUNT(*) AS n FROM a GROUP BY k;"
    assert in_the_end(f"{view} SELECT k FROM w WHERE n > 1") == [(1,)]
    assert in_the_end("WITH w AS (SELECT k FROM a WHERE k > 1) SELECT x.k FROM w x, w y") == [(2,)]


def test_sum_of_integers_that_does_not_fit_is_null() -> None:
    large = 2**63 - 1
    assert in_the_end("SELECT SUM(k) FROM a", a=[(large, "x", 0), (1, "x", 1)]) == [(None,)]
    assert in_the_end("SELECT SUM(k) FROM a", a=[(large, "x", 0), (1, "x", 1), (-2, "x", 2)]) == [(large - 1,)]


def test_average_of_integers_is_the_nearest_double() -> None:
    rows: list[Row] = [(2**53 + 1, "x", 0), (2**53 + 2, "x", 1), (2**53 + 4, "x", 2)]
    assert in_the_end("SELECT AVG(k) FROM a", a=rows) == [((3 * 2**53 + 7) / 3,)]


def test_sum_of_doubles_does_not_depend_on_their_order() -> None:
    rows: list[Row] = [(1e308, 0), (1.0, 1), (1e308, 2), (-1e308, 3), (-1e308, 4)]
    assert in_the_end("SELECT SUM(x), AVG(x) FROM d", d=rows) == [(1.0, 0.2)]


def test_sums_of_infinities_and_nan() -> None:
    inf = math.inf
    assert in_the_end("SELECT SUM(x), AVG(x) FROM d", d=[(inf, 0), (1.0, 1)]) == [(inf, inf)]
    ((total,),) = in_the_end("SELECT SUM(x) FROM d", d=[(inf, 0), (-inf, 0)])
    assert isinstance(total, float)
    assert math.isnan(total)
    assert in_the_end("SELECT SUM(x) FROM d", d=[(1e308, 0), (1e308, 0)]) == [(inf,)]


def test_nan_is_one_value_and_the_largest_and_zeros_are_one() -> None:
    nan = math.nan
    rows: list[Row] = [(nan, 0), (-nan, 1), (math.inf, 2), (0.0, 3), (-0.0, 4)]
    assert in_the_end("SELECT COUNT(DISTINCT x) FROM d", d=rows) == [(3,)]
    assert in_the_end("SELECT COUNT(*) FROM d GROUP BY x", d=rows) == [(1,), (2,), (2,)]
    assert in_the_end("SELECT COUNT(*) FROM d x, d y WHERE x.x = y.x", d=rows) == [(9,)]
    assert in_the_end("SELECT COUNT(*) FROM d WHERE x = (SELECT MAX(x) FROM d)", d=rows) == [(2,)]
