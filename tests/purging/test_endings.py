"""Groups that have ended are forgotten, and the answer does not change."""

from __future__ import annotations

from random import Random

import pytest

from penstock import check
from penstock.engines.embedded import EmbeddedEngine
from tests.engines.comparing import Log, bound, embedded, expected, logged
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.purging.cases import SECOND, Purging, Row, data_case, punctuated, punctuated_from
from tests.purging.stepping import steps
from tests.purging.test_emission import declared
from tests.seeds import seeds

DDL = """
CREATE STREAM closed (a BIGINT, b BIGINT, closes INT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM s (a BIGINT, b BIGINT, closes INT, ts TIMESTAMP{}) TIMESTAMP BY ts;
"""
QUERIES = [
    "SELECT a, COUNT(*) AS n, MIN(b) AS least FROM s GROUP BY a",
    "SELECT a, b, SUM(b) AS total, AVG(closes) AS share FROM s WHERE b <> 3 GROUP BY a, b",
    "SELECT DATE_TRUNC('MINUTE', ts) AS minute, a, COUNT(*) AS n FROM s GROUP BY DATE_TRUNC('MINUTE', ts), a",
    "SELECT DISTINCT a FROM s",
    "SELECT DISTINCT b, a, closes FROM s",
    "SELECT ISTREAM(CAST(ts AS DATE) AS day, MAX(a) AS most) FROM s GROUP BY CAST(ts AS DATE)",
    "SELECT RSTREAM(a, COUNT(*) AS n) FROM s GROUP BY a",
    "SELECT a, COUNT(*) AS n FROM s GROUP BY a HAVING COUNT(*) > 1",
    "SELECT COUNT(*) AS groups FROM (SELECT DISTINCT a FROM s) d",
    "SELECT d.a, COUNT(*) AS n FROM (SELECT DISTINCT a, b FROM s) d GROUP BY d.a",
    "SELECT u.a, SUM(u.b) AS n FROM (SELECT a, b FROM s UNION ALL SELECT b, b FROM s) u WHERE u.b > 1 GROUP BY u.a",
    "SELECT b, COUNT(DISTINCT a) AS n, SUM(DISTINCT a) AS total, MAX(DISTINCT a) AS most FROM s GROUP BY b",
    "SELECT COUNT(DISTINCT a) AS n, AVG(DISTINCT b) AS mean FROM s",
    "SELECT DATE_TRUNC('MINUTE', ts) AS m, COUNT(DISTINCT a) AS n FROM s GROUP BY DATE_TRUNC('MINUTE', ts)",
    "SELECT a, COUNT(DISTINCT DATE_TRUNC('MINUTE', ts)) AS minutes FROM s GROUP BY a",
]


def ending_case(seed: int) -> Case:
    random = Random(seed)
    kinds = (punctuated("s", ("a",)), punctuated("s", ("a", "b")), punctuated_from("s", ("a",), "closed"))
    declared = [one for one in kinds if random.random() < 0.5]
    past: list[Row] = []
    ts = SECOND
    for number in range(60):
        ts += random.choice((0, 1, 7, 20)) * SECOND
        values = [None if random.random() < 0.05 else number // 8 + random.randint(0, 3) for _ in "ab"]
        row = Row(random.choice(("s", "s", "s", "closed")), ts, *values, random.random() < 0.2)
        if all(one.allows(past, row) for one in declared):
            past.append(row)
    data = {n: [(r.a, r.b, int(r.closes), r.ts) for r in past if r.stream == n] for n in ("s", "closed")}
    return Case(DDL.format("".join(f", {one.text}" for one in declared)), QUERIES[seed % len(QUERIES)], data, None, "")


@pytest.mark.parametrize("seed", seeds(30))
def test_the_answer_is_the_reference_s(seed: int) -> None:
    case = ending_case(seed)
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed))):
        assert embedded(case, query, catalog, cells, cuts) == want
    assert pretended(case, query, catalog, 2, Random(seed)) == want


@pytest.mark.parametrize("seed", seeds(15))
def test_endings_go_on_from_their_pages(seed: int) -> None:
    case = ending_case(100 + seed)
    query, catalog = bound(case)
    assert restarted(case, query, catalog, 1, Random(seed)) == expected(case, query, catalog)


@pytest.mark.parametrize(
    "select",
    [
        "SELECT a, COUNT(*) AS n FROM s GROUP BY a",
        "SELECT DISTINCT a FROM s",
        "SELECT DATE_TRUNC('MINUTE', ts) AS m, a, SUM(b) AS t FROM s GROUP BY DATE_TRUNC('MINUTE', ts), a",
        "SELECT d.a, COUNT(*) AS n FROM (SELECT DISTINCT a, closes FROM s) d GROUP BY d.a",
        "SELECT COUNT(DISTINCT a) AS n FROM s",
        "SELECT closes, SUM(DISTINCT a) AS n FROM s WHERE closes IN (0, 1) GROUP BY closes",
    ],
)
def test_what_is_kept_is_what_is_open(select: str) -> None:
    """A value comes for ten seconds, and is closed then."""
    rows = [(n // 10, n, int(n % 10 == 9), n * SECOND) for n in range(1000)]
    case = Case(DDL.format(", PUNCTUATED BY (a) WHEN closes = 1"), select, {"s": rows, "closed": []}, None, "")
    query, catalog = bound(case)
    engine = EmbeddedEngine(query, catalog)
    assert max(engine.state()[0] for _ in steps(engine, catalog, case.data, 25 * SECOND)) <= 12


def test_groups_of_a_union_end_when_both_sides_are_closed() -> None:
    """A value comes for ten seconds in s, then for ten in t, and is closed in each."""
    ddl = """
    CREATE STREAM s (a BIGINT, closes INT, ts TIMESTAMP, PUNCTUATED BY (a) WHEN closes = 1) TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, closes INT, ts TIMESTAMP, PUNCTUATED BY (a) WHEN closes = 1) TIMESTAMP BY ts;
    """
    select = "SELECT u.a, COUNT(*) AS n FROM (SELECT a FROM s UNION ALL SELECT a FROM t) u GROUP BY u.a"
    rows = {
        name: [(n // 10 - late, int(n % 10 == 9), n * SECOND) for n in range(300)] for late, name in enumerate("st")
    }
    case = Case(ddl, select, rows, None, "")
    query, catalog = bound(case)
    (verdict,) = check(case.script)
    assert verdict.safe
    assert not verdict.warnings
    engine = EmbeddedEngine(query, catalog)
    log, most = Log(), 0
    for out in steps(engine, catalog, rows, 5 * SECOND):
        log += logged(out, query)
        most = max(most, engine.state()[0])
    assert most <= 12
    log += logged(engine.finish(), query)
    assert sum(n for (_, op, _, count), n in log.items() if op == "+" and count == 20) == 29


def values_case(seed: int) -> Purging:
    """DISTINCT aggregates of a join, some of whose values end."""
    random = Random(seed)
    names = [f"s{n}" for n in range(random.choice((1, 2, 2, 3)))]
    on = [f"{other}.a = {random.choice(names[:n])}.a" for n, other in enumerate(names[1:], start=1)]
    where = f" WHERE {' AND '.join(on)}" if on else ""
    key, of = random.choice(("", "{}.b", "{}.closes")).format(random.choice(names)), random.choice(names)
    shown = f"{key}{', ' * bool(key)}COUNT(DISTINCT {of}.a) AS n, SUM(DISTINCT {of}.b) AS total"
    group = f" GROUP BY {key}" if key else ""
    select = f"SELECT {shown} FROM {', '.join(names)}{where}{group} ALLOW UNBOUNDED"
    return data_case(random, names, list(declared(random, names)), select, 50)


def test_a_query_whose_run_keeps_values_which_end_is_not_safe() -> None:
    """It forgets values of a, which are punctuated, and of b if they are clustered by a k that does not grow."""
    for then, is_safe in (("", True), (" ON VIOLATION WIDEN", False)):
        ddl = DDL.format(f", PUNCTUATED BY (a) WHEN closes = 1, CLUSTERED BY b WITHIN 2 ROWS{then}")
        (verdict,) = check(f"{ddl} CREATE QUERY q AS SELECT COUNT(DISTINCT a) AS n FROM s;")
        assert verdict.safe
        (verdict,) = check(f"{ddl} CREATE QUERY q AS SELECT COUNT(DISTINCT a) AS n, COUNT(DISTINCT b) AS m FROM s;")
        assert verdict.safe == is_safe
        assert is_safe or "in this version DISTINCT keeps the values" in verdict.message


@pytest.mark.parametrize(
    "select",
    [
        "SELECT i.id, COUNT(*) AS n FROM {item} i, {bid} b WHERE i.id = b.auction GROUP BY i.id",
        "SELECT i.id, COUNT(DISTINCT b.price) AS n FROM {item} i, {bid} b WHERE i.id = b.auction GROUP BY i.id",
        "SELECT DISTINCT i.id FROM {item} i, {bid} b WHERE i.id = b.auction",
        "SELECT i.id, COUNT(*) AS n FROM item i, {bid} b WHERE i.id = b.auction AND i.id BETWEEN 1 AND 9 GROUP BY i.id",
        "SELECT id FROM {item} INTERSECT SELECT auction FROM {bid}",
    ],
)
def test_what_is_made_of_rows_under_windows_goes_with_them(select: str) -> None:
    """A proof may say so by punctuations and keys, which a run then does not need."""
    ddl = """
    CREATE STREAM item (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
    CREATE STREAM bid (auction BIGINT, price BIGINT, ts BIGINT) TIMESTAMP BY ts;
    """
    query = select.format(item="item [RANGE 10 MICROSECONDS]", bid="bid [RANGE 10 MICROSECONDS]")
    (verdict,) = check(f"{ddl} CREATE QUERY q AS {query};")
    assert verdict.safe
    assert not verdict.warnings
    data = {"item": [(i, 10 * i) for i in range(200)], "bid": [(i, i % 7, 10 * i + 5) for i in range(200)]}
    bound_query, catalog = bound(Case(ddl, query, data, None, ""))
    engine = EmbeddedEngine(bound_query, catalog)
    assert max(engine.state()[0] for _ in steps(engine, catalog, data, 20)) <= 60


@pytest.mark.parametrize("block", range(2))
def test_values_that_end_are_counted_for_good(block: int) -> None:
    for seed in seeds(10, start=block * 100):
        found = values_case(seed)
        want = expected(found.case, found.query, found.catalog)
        for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
            assert embedded(found.case, found.query, found.catalog, cells, cuts) == want, (seed, found.case.script)


@pytest.mark.parametrize("seed", seeds(4))
def test_values_go_on_from_their_pages(seed: int) -> None:
    found = values_case(500 + seed)
    got = restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed))
    assert got == expected(found.case, found.query, found.catalog)


def test_groups_of_a_join_end_with_their_auction() -> None:
    """Forty items, each open for ten seconds, of which one or two are open at a time."""
    ddl = """
    CREATE STREAM item (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
    CREATE STREAM bid (auction BIGINT, price BIGINT, kind STRING, ts BIGINT,
        FOREIGN KEY (auction) REFERENCES item (id) WITHIN 0 SECONDS,
        PUNCTUATED BY (auction) WHEN kind = 'close') TIMESTAMP BY ts;
    """
    select = (
        "SELECT i.id, COUNT(*) AS bids, MAX(b.price) AS dearest FROM item i, bid b WHERE i.id = b.auction GROUP BY i.id"
    )
    data = {
        "item": [(i, 10 * i) for i in range(40)],
        "bid": [(i, at, "close" if at == 9 else "bid", 10 * i + at) for i in range(40) for at in (1, 3, 5, 9)],
    }
    case = Case(ddl, select, data, None, "")
    query, catalog = bound(case)
    (verdict,) = check(case.script)
    assert verdict.safe
    assert not verdict.warnings
    assert embedded(case, query, catalog, 2, 7) == expected(case, query, catalog)
    engine = EmbeddedEngine(query, catalog)
    assert max(engine.state()[0] for _ in steps(engine, catalog, data, 20)) <= 12
