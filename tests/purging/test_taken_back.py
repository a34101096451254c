"""Groups, sets and set operations over rows that may be taken back end when nothing below them changes any more."""

from __future__ import annotations

from random import Random

import pytest

from penstock import check
from penstock.operators import machine
from tests.engines.comparing import bound, embedded, expected
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.purging.cases import Purging, data_case, punctuated, punctuated_from
from tests.purging.stepping import most_kept
from tests.seeds import seeds

QUERIES = (
    "SELECT s0.a, COUNT(*) AS n FROM s0 WHERE NOT EXISTS (SELECT * FROM s1 WHERE s1.a = s0.a) GROUP BY s0.a",
    "SELECT s0.a, SUM(s0.b) AS n FROM s0 WHERE NOT EXISTS (SELECT * FROM s1 WHERE s1.a = s0.a AND s1.b > s0.b) "
    "GROUP BY s0.a HAVING COUNT(*) > 1",
    "SELECT s0.a, COUNT(DISTINCT s0.b) AS n FROM s0 WHERE EXISTS (SELECT * FROM s1 WHERE s1.a = s0.a) GROUP BY s0.a",
    "SELECT DISTINCT s0.a FROM s0 WHERE NOT EXISTS (SELECT * FROM s1 WHERE s1.a = s0.a)",
    "SELECT x.a, SUM(x.n) AS t, COUNT(*) AS m FROM (SELECT a, b, COUNT(*) AS n FROM s0 GROUP BY a, b) x GROUP BY x.a",
    "SELECT x.a, MAX(x.n) AS t, MIN(x.n) AS m FROM (SELECT a, b, COUNT(*) AS n FROM s0 GROUP BY a, b) x GROUP BY x.a",
    "SELECT s0.a, MIN(s0.b) AS n FROM s0 WHERE NOT EXISTS (SELECT * FROM s1 WHERE s1.a = s0.a AND s1.b = s0.b) "
    "GROUP BY s0.a",
    "SELECT DISTINCT x.a, x.n FROM (SELECT a, b, COUNT(*) AS n FROM s0 GROUP BY a, b) x",
    "SELECT a FROM s0 EXCEPT SELECT x.a FROM (SELECT a, COUNT(*) AS n FROM s1 GROUP BY a) x WHERE x.n > 1",
    "SELECT x.a, COUNT(*) AS n FROM (SELECT a, b FROM s0 EXCEPT ALL SELECT a, b FROM s1) x GROUP BY x.a",
    "(SELECT a FROM s0 EXCEPT SELECT a FROM s1) UNION ALL SELECT a FROM s1 INTERSECT SELECT a FROM s0",
)


def taken_back_case(seed: int) -> Purging:
    random = Random(seed)
    select = QUERIES[seed % len(QUERIES)]
    names = [name for name in ("s0", "s1") if f" {name}" in select]
    declared = [random.choice((punctuated(n, ("a",)), punctuated_from(n, ("a",), "closed"))) for n in names]
    return data_case(random, names, declared, select, 50)


@pytest.mark.parametrize("block", range(3))
def test_the_answer_is_the_reference_s(block: int) -> None:
    for seed in seeds(11, start=block * 110):
        found = taken_back_case(seed)
        want = expected(found.case, found.query, found.catalog)
        for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
            got = embedded(found.case, found.query, found.catalog, cells, cuts)
            assert got == want, (seed, found.case.script, found.case.data)


@pytest.mark.parametrize("seed", seeds(11))
def test_it_goes_on_from_its_pages_and_in_slices(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SLICE", 4)
    found = taken_back_case(1000 + seed)
    want = expected(found.case, found.query, found.catalog)
    assert restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed)) == want
    assert pretended(found.case, found.query, found.catalog, 1 + seed % 3, Random(seed)) == want


DDL = "".join(
    f"CREATE STREAM {name} (a BIGINT NOT NULL, b BIGINT, closes INT, ts BIGINT, PUNCTUATED BY (a) WHEN closes = 1) "
    "TIMESTAMP BY ts;"
    for name in ("s0", "s1")
)


@pytest.mark.parametrize("select", QUERIES)
def test_what_is_kept_is_what_is_open(select: str) -> None:
    """A value comes for ten instants on both sides, on one of them only in every third case, and is closed then."""
    s0 = [(n // 10, n % 3, int(n % 10 == 9), n) for n in range(1000)]
    s1 = [(n // 10, n % 4, int(n % 10 == 9), n) for n in range(1000) if n % 10 == 9 or n // 10 % 3]
    case = Case(DDL, select, {"s0": s0, "s1": s1}, None, "")
    query, catalog = bound(case)
    (verdict,) = check(case.script)
    assert verdict.safe
    assert not verdict.warnings
    most, log = most_kept(case, 20)
    assert most <= 90
    assert log == embedded(case, query, catalog, 2, 0)


@pytest.mark.parametrize("cuts", [0, 1, 2])
def test_a_row_is_retained_until_the_instant_at_which_its_last_partner_leaves_is_closed(cuts: int) -> None:
    ddl = "CREATE STREAM r (ts BIGINT, k BIGINT) TIMESTAMP BY ts;"
    select = "SELECT x.ts AS c FROM r x, r [RANGE 0 MICROSECONDS] y WHERE x.ts = y.ts"
    case = Case(ddl, f"{select} ALLOW UNBOUNDED", {"r": [(0, 1), (1, 1), (4, 1)]}, None, "")
    query, catalog = bound(case)
    assert embedded(case, query, catalog, 1, cuts) == expected(case, query, catalog)
