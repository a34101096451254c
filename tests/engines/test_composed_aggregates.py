"""Aggregates that are composed of others, and windows as keys: the engine says what the reference says."""

from __future__ import annotations

import statistics
from random import Random

import pytest

from penstock import check
from tests.engines.comparing import bound, embedded, expected
from tests.generators import Case
from tests.reference.interpreter import run

DDL = "CREATE STREAM a (k BIGINT, x DOUBLE, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;"
QUERIES = {
    "variances": "SELECT COUNT(*) AS n, STDDEV(x) AS d, VAR_POP(x) AS v, VARIANCE(k) AS w FROM a",
    "leaving rows": "SELECT k, STDDEV_POP(x) AS d, APPROX_COUNT_DISTINCT(s) AS c FROM a [ROWS 7] GROUP BY k",
    "extremes": "SELECT k, MAX_BY(s, x) AS m, MIN_BY(x, s) AS n, MAX_BY(k, s) AS o FROM a [ROWS 9] GROUP BY k",
    "by time": "SELECT k, FIRST(s) FILTER (WHERE x > 0.5) AS f, LAST(x) AS l FROM a [RANGE 7 MICROSECONDS] GROUP BY k",
    "counts": "SELECT COUNT_IF(x > 0.5) AS n, APPROX_COUNT_DISTINCT(x, 0.01) AS c FROM a",
    "tumbling": "SELECT w.start, w.end AS until, k, COUNT(*) AS n FROM a "
    "GROUP BY window(ts, '10 microseconds') AS w, k EMIT ON CLOSE",
    "moved": "SELECT window.start, COUNT(*) AS n FROM a "
    "GROUP BY window(ts, '10 microseconds', '10 microseconds', '3 microseconds') EMIT ON CLOSE",
    "overlapping": "SELECT window.start, k, COUNT(*) AS n FROM a "
    "GROUP BY window(ts, '10 microseconds', '4 microseconds'), k EMIT ON CLOSE",
    "hopping": "SELECT HOP_START(ts, INTERVAL 5 MICROSECONDS, INTERVAL 10 MICROSECONDS) AS t, COUNT(*) AS n "
    "FROM a [RANGE 7 MICROSECONDS] GROUP BY HOP(ts, INTERVAL 5 MICROSECONDS, INTERVAL 10 MICROSECONDS)",
}


def rows(count: int) -> list[tuple[int | None, float | None, str | None, int]]:
    random = Random(5)
    values = [None, 0.25, 0.75, 1e6, -3.5]
    return [
        (random.randint(0, 2), random.choice([*values, random.gauss(1e6, 1)]), random.choice(["a", "b", "", None]), t)
        for t in range(count)
    ]


@pytest.mark.parametrize("name", QUERIES)
def test_the_engine_says_what_the_reference_says(name: str) -> None:
    case = Case(DDL, QUERIES[name], {"a": rows(30)}, 50, "")
    query, catalog = bound(case)
    wanted = expected(case, query, catalog)
    assert wanted
    for cells, cuts in ((1, 0), (2, Random(1))):
        assert embedded(case, query, catalog, cells, cuts) == wanted


def test_variances_are_those_of_the_statistics_module() -> None:
    random = Random(3)
    values = [random.gauss(1e6, 1) for _ in range(100)]
    case = Case(DDL, "SELECT VAR_POP(x) AS p, VARIANCE(x) AS s FROM a", {"a": [(0, x, "", 9) for x in values]}, 9, "")
    query, catalog = bound(case)
    last = run(query, catalog, case.data, 9)[-1].row
    assert last == pytest.approx((statistics.pvariance(values), statistics.variance(values)), rel=1e-10)


def test_an_approximate_count_is_near_and_bounded() -> None:
    from penstock.operators.scalars.composed import estimate, expected_coupons

    for values in (1, 10, 1_000, 100_000, 10_000_000):
        assert estimate(round(expected_coupons(values, 8)), 8) == pytest.approx(values, rel=0.05)
    text = f"{DDL} CREATE QUERY q AS SELECT APPROX_COUNT_DISTINCT(s) AS n FROM a;"
    (verdict,) = check(text)
    assert verdict.safe
