"""EMIT ON CLOSE: each group comes once, when the evidence closes it, however rows are cut, routed and restored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest

from penstock import check
from penstock.algebra.rewrites import normalise
from penstock.engines.embedded import EmbeddedEngine
from penstock.errors import PenstockError
from penstock.operators import machine
from penstock.plan.planner import plan
from penstock.sql import bind_text
from tests.engines.comparing import Log, bound, embedded, expected, logged
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.purging.cases import Declared, Purging, data_case, punctuated, punctuated_from, reference, unique
from tests.purging.stepping import steps
from tests.seeds import seeds

#: Of a stream: what it is grouped by.
KEYS = (
    "{0}.a",
    "{0}.a",
    "{0}.b",
    "{0}.b, {0}.a",
    "DATE_TRUNC('MINUTE', {0}.ts)",
    "{0}.a, UNIX_SECONDS({0}.ts) / 5",
    "{0}.ts",
    "TIMESTAMP_SECONDS(UNIX_SECONDS({0}.ts) / 10 * 10)",
    "UNIX_MILLIS({0}.ts) - UNIX_MILLIS({0}.ts) % 7000",
    "DATE_TRUNC('MINUTE', {0}.ts - INTERVAL 7 SECONDS), {0}.a",
    "3 * (UNIX_SECONDS({0}.ts) / 4) + UNIX_SECONDS({0}.ts) / 6",
)
SHOWN = "COUNT(*) AS n, MIN({0}.b) AS least, COUNT(DISTINCT {0}.b) AS kinds, AVG({0}.a) AS mean"


def emission_case(random: Random) -> Purging:
    names = [f"s{n}" for n in range(random.choice((1, 1, 2, 2, 3)))]
    on = [f"{other}.a = {random.choice(names[:n])}.a" for n, other in enumerate(names[1:], start=1)]
    if len(names) > 1 and random.random() < 0.4:
        on.append("s1.ts BETWEEN s0.ts - INTERVAL 3 SECONDS AND s0.ts + INTERVAL 6 SECONDS")
    if random.random() < 0.3:
        on.append("s0.closes = 0")
    where = f" WHERE {' AND '.join(on)}" if on else ""
    keys = random.choice(KEYS).format(random.choice(names))
    having = random.choice(("", "", " HAVING COUNT(*) > 1"))
    select = (
        f"SELECT {keys}, {SHOWN.format(random.choice(names))} FROM {', '.join(names)}{where} GROUP BY {keys}{having} "
        "EMIT ON CLOSE ALLOW UNBOUNDED"
    )
    return data_case(random, names, list(declared(random, names)), select, 50)


def union_case(random: Random) -> Purging:
    """Groups of UNION ALL: each side is closed by itself, or by what refers to it."""
    keys = random.choice(("u.a", "u.a", "u.a, u.b", "DATE_TRUNC('MINUTE', u.ts)", "UNIX_SECONDS(u.ts) / 5 * 5, u.a"))
    where = random.choice(("", "", " WHERE u.b > 1", " WHERE u.a IS NOT NULL"))
    names = ["s0", "s1"]
    sides = ["SELECT a, b, ts FROM s0", random.choice(("SELECT a, b, ts FROM s1", "SELECT b, a, ts FROM s1"))]
    if random.random() < 0.2:
        sides[0] = "SELECT s0.a, s0.b, s0.ts FROM s0, s1 WHERE s0.a = s1.a"
    select = (
        f"SELECT {keys}, COUNT(*) AS n, MAX(u.b) AS most FROM ({' UNION ALL '.join(sides)}) u{where} GROUP BY {keys} "
        "EMIT ON CLOSE ALLOW UNBOUNDED"
    )
    declarations = list(declared(random, names))
    if random.random() < 0.3:
        declarations.append(reference("s0", "a", "s1", "a", random.randint(0, 4), True))
    return data_case(random, names, declarations, select, 50)


def declared(random: Random, names: list[str]) -> Iterator[Declared]:
    for name in names:
        if random.random() < 0.6:
            yield punctuated(name, random.choice((("a",), ("a",), ("b", "a"))))
        if random.random() < 0.3:
            yield punctuated_from(name, ("a",), "closed")
        if random.random() < 0.4:
            yield unique(name, ("a",))
        if name != names[0] and random.random() < 0.4:
            yield reference(names[0], "a", name, "a", random.randint(0, 4), True)


def closing_case(seed: int) -> Purging:
    """A case whose groups close."""
    random = Random(seed)
    while True:
        found = union_case(random) if random.random() < 0.25 else emission_case(random)
        try:
            plan(normalise(found.query), 1, found.catalog)
        except PenstockError:
            continue
        return found


@pytest.mark.parametrize("block", range(3))
def test_the_answer_is_the_reference_s(block: int) -> None:
    given = 0
    for seed in seeds(6, start=block * 100):
        found = closing_case(seed)
        want = expected(found.case, found.query, found.catalog)
        given += sum(want.values())
        for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
            got = embedded(found.case, found.query, found.catalog, cells, cuts)
            assert got == want, (seed, found.case.script, found.case.data)
    assert given > 10


@pytest.mark.parametrize("seed", seeds(8))
def test_it_goes_on_from_its_pages(seed: int) -> None:
    found = closing_case(1000 + seed)
    got = restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed))
    assert got == expected(found.case, found.query, found.catalog)


@pytest.mark.parametrize("seed", seeds(8))
def test_spark_s_tasks_and_retries_do_not_matter(seed: int) -> None:
    found = closing_case(2000 + seed)
    got = pretended(found.case, found.query, found.catalog, 1 + seed % 3, Random(seed))
    assert got == expected(found.case, found.query, found.catalog)


@pytest.mark.parametrize("seed", seeds(8))
def test_slices_of_a_step_do_not_matter(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SLICE", 4)
    found = closing_case(3000 + seed)
    got = embedded(found.case, found.query, found.catalog, 1, 0)
    assert got == expected(found.case, found.query, found.catalog)


AUCTION = """
CREATE STREAM item (id BIGINT, name STRING, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, price BIGINT, kind STRING, ts BIGINT,
    FOREIGN KEY (auction) REFERENCES item (id) WITHIN {},
    PUNCTUATED BY (auction) WHEN kind = 'close') TIMESTAMP BY ts;
"""
DEAREST = """
SELECT i.name, MAX(b.price) AS dearest, COUNT(*) AS bids, COUNT(DISTINCT b.price) AS prices
FROM item i, bid b WHERE i.id = b.auction AND b.kind = 'bid' GROUP BY i.id, i.name EMIT ON CLOSE
"""


@pytest.mark.parametrize("within", ["0 SECONDS", "2 ROWS"])
@pytest.mark.parametrize("cells", [1, 2])
def test_an_auction_gives_each_item_once_and_keeps_the_open_ones(within: str, cells: int) -> None:
    """Eighty items, each open for ten microseconds. Every fourth has no bid; its punctuation is not kept either."""
    items = [(i, f"item {i}", 10 * i) for i in range(80)]
    bids = [
        (i, 100 + at, "close" if at == 9 else "bid", 10 * i + at)
        for i in range(80)
        for at in (1, 3, 5, 9)
        if i % 4 or at == 9
    ]
    case = Case(AUCTION.format(within), DEAREST, {"item": items, "bid": bids}, None, "")
    query, catalog = bound(case)
    (verdict,) = check(case.script)
    assert verdict.safe
    assert not verdict.warnings
    engine = EmbeddedEngine(query, catalog, {}, cells)
    most, log = 0, Log()
    for out in steps(engine, catalog, case.data, 20):
        log += logged(out, query)
        most = max(most, engine.state()[0])
    log += logged(engine.finish(), query)
    assert log == Log((10 * i + 9, "+", f"item {i}", 105, 3, 3) for i in range(80) if i % 4)
    assert most <= 35


def test_a_group_that_was_closed_before_its_item_came_shows_with_the_item() -> None:
    ddl = AUCTION.format("1 SECOND")
    data = {
        "item": [(7, "vase", 50), (9, "last", 100)],
        "bid": [(7, 3, "bid", 10), (7, 4, "bid", 20), (7, 0, "close", 30)],
    }
    case = Case(ddl, DEAREST, data, None, "")
    query, catalog = bound(case)
    want = Log([(50, "+", "vase", 4, 2, 2)])
    assert expected(case, query, catalog) == want
    for cuts in (0, 1, 2):
        assert embedded(case, query, catalog, 1, cuts) == want


def test_a_query_whose_groups_may_not_close_is_refused() -> None:
    script = """
    CREATE STREAM s (a BIGINT, ok BOOLEAN, ts TIMESTAMP) TIMESTAMP BY ts;
    CREATE QUERY q AS SELECT ok, COUNT(*) AS n FROM s WHERE ok IN (TRUE, FALSE) GROUP BY ok EMIT ON CLOSE;
    """
    (verdict,) = check(script)
    assert not verdict.safe
    assert "waits for each group by s.ok to close" in verdict.message
    found = bind_text(script).checked()
    with pytest.raises(PenstockError, match="nothing shows when these do"):
        plan(normalise(found.queries[0]), 1, found.catalog)


def test_what_check_calls_safe_can_be_planned() -> None:
    """That a stream ends may follow from rows of another; but then nothing shows when."""
    script = """
    CREATE STREAM fin (ip STRING, flow BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    CREATE STREAM syn (ip STRING, flow BIGINT, ts TIMESTAMP,
        PUNCTUATED BY (ip, flow) FROM fin (ip, flow)) TIMESTAMP BY ts;
    CREATE STREAM ack (ip STRING, flow BIGINT, ts TIMESTAMP,
        PUNCTUATED BY (ip, flow) FROM fin (ip, flow)) TIMESTAMP BY ts;
    CREATE QUERY q AS SELECT {0}, COUNT(*) AS n FROM syn s, ack a WHERE a.flow = s.flow AND a.ip = s.ip
    GROUP BY {0} EMIT ON CLOSE;
    """
    for keys, is_safe in (("s.flow", False), ("s.flow, s.ip", True), ("a.flow, a.ip", True)):
        (verdict,) = check(script.format(keys))
        assert verdict.safe == is_safe
        if is_safe:
            found = bind_text(script.format(keys)).checked()
            plan(normalise(found.queries[0]), 1, found.catalog)


def test_a_group_of_null_that_none_closes_is_named_and_those_with_values_show() -> None:
    """A row that refers to none has NULL there, and so do rows to which no row refers."""
    script = """
    CREATE STREAM s (a BIGINT, closes INT, ts TIMESTAMP, PUNCTUATED BY (a) WHEN closes = 1,
        FOREIGN KEY (a) REFERENCES t (a) WITHIN 3 SECONDS) TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, ts TIMESTAMP, UNIQUE (a)) TIMESTAMP BY ts;
    CREATE QUERY q AS SELECT u.a, COUNT(*) AS n FROM (SELECT a FROM s UNION ALL SELECT a FROM t) u {}
    GROUP BY u.a EMIT ON CLOSE;
    """
    (verdict,) = check(script.format(""))
    (waits,) = verdict.unbounded
    assert "EMIT ON CLOSE waits for each group to close where u.a is NULL" in waits.because
    assert not waits.has_no_plan
    (verdict,) = check(script.format("WHERE u.a IS NOT NULL"))
    assert verdict.safe


@pytest.mark.parametrize("seed", seeds(40))
@pytest.mark.parametrize("make", [emission_case, union_case])
def test_random_queries_whose_groups_close_are_those_that_can_be_planned(
    seed: int, make: Callable[[Random], Purging]
) -> None:
    found = make(Random(9000 + seed))
    (verdict,) = check(found.case.script.replace(" ALLOW UNBOUNDED", ""))
    if any(state.has_no_plan for state in verdict.unbounded):
        with pytest.raises(PenstockError, match="nothing shows when these do"):
            plan(normalise(found.query), 1, found.catalog)
    else:
        plan(normalise(found.query), 1, found.catalog)


@pytest.mark.parametrize(
    "key",
    [
        "ts / 2000 * 2000",
        "ts - ts % 10",
        "TIMESTAMP_SECONDS(UNIX_SECONDS(TIMESTAMP_MICROS(ts)) / 10 * 10)",
        "2 * (ts / 3) + ts / 7",
        "ts / 2000 * 2000 + 2000",
    ],
)
def test_any_bucket_of_time_that_never_falls_closes_groups(key: str) -> None:
    ddl = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts;"
    data = {"s": [(n % 5, 700 * n) for n in range(60)]}
    case = Case(ddl, f"SELECT {key} AS bucket, COUNT(*) AS n FROM s GROUP BY {key} EMIT ON CLOSE", data, None, "")
    query, catalog = bound(case)
    (verdict,) = check(case.script)
    assert verdict.safe
    want = expected(case, query, catalog)
    assert (len(want) > 5) == ("SECONDS" not in key)
    for cells, cuts in ((1, 0), (1, 3000), (3, 3000)):
        assert embedded(case, query, catalog, cells, cuts) == want


@pytest.mark.parametrize("key", ["ts % 10", "ts * -1", "ts * 9000000000000000000", "LEAST(ts, 5)", "10 - ts / 5"])
def test_what_may_fall_or_overflow_closes_nothing(key: str) -> None:
    ddl = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts;"
    (verdict,) = check(f"{ddl} CREATE QUERY q AS SELECT {key} AS k, COUNT(*) AS n FROM s GROUP BY {key} EMIT ON CLOSE;")
    assert not verdict.safe


def test_a_group_of_a_unique_row_closes_when_nothing_more_can_follow_it() -> None:
    """Each row of a is joined for 120 microseconds. Its key names it, so that its time need not be a key."""
    ddl = """
    CREATE STREAM a (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
    CREATE STREAM b (id BIGINT, x BIGINT, ts BIGINT) TIMESTAMP BY ts;
    """
    select = """
    SELECT a.id, COUNT(*) AS n, SUM(b.x) AS total FROM a, b WHERE a.id = b.id AND b.ts BETWEEN a.ts AND a.ts + 120
    GROUP BY a.id EMIT ON CLOSE
    """
    data = {
        "a": [(i, 10 * i) for i in range(60)],
        "b": [(i, at, 10 * i + at) for i in range(60) for at in (3, 50, 119, 200)],
    }
    data["b"].sort(key=lambda row: row[2])
    case = Case(ddl, select, data, None, "")
    query, catalog = bound(case)
    (verdict,) = check(case.script)
    assert verdict.safe
    assert not verdict.warnings
    want = Log((10 * i + 120, "+", i, 3, 172) for i in range(60) if 10 * i + 120 <= 790)
    assert expected(case, query, catalog) == want
    for cells in (1, 3):
        engine = EmbeddedEngine(query, catalog, {}, cells)
        log, most = Log(), 0
        for out in steps(engine, catalog, data, 20):
            log += logged(out, query)
            most = max(most, engine.state()[0])
        log += logged(engine.finish(), query)
        assert log == want
        assert most <= 150
