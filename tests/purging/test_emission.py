"""EMIT ON CLOSE: each group comes once, when the evidence closes it, however rows are cut, routed and restored."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from penstock import check
from penstock.algebra.rewrites import normalise
from penstock.engines.embedded import EmbeddedEngine
from penstock.errors import PenstockError
from penstock.operators import machine
from penstock.plan.fragments import plan
from penstock.sql import bind_text
from tests.engines.comparing import Log, bound, embedded, expected, logged
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.purging.cases import Declared, Purging, data_case, punctuated, punctuated_from, reference, unique
from tests.purging.stepping import steps
from tests.seeds import seeds

#: Of a stream: what it is grouped by.
KEYS = ("{0}.a", "{0}.a", "{0}.b, {0}.a", "DATE_TRUNC('MINUTE', {0}.ts)", "{0}.a, UNIX_SECONDS({0}.ts) / 5", "{0}.ts")
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
        found = emission_case(random)
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
    CREATE STREAM ack (ip STRING, flow BIGINT, ts TIMESTAMP, PUNCTUATED BY (flow) FROM fin (flow)) TIMESTAMP BY ts;
    CREATE QUERY q AS SELECT {0}, COUNT(*) AS n FROM syn s, ack a WHERE a.flow = s.flow AND a.ip = s.ip
    GROUP BY {0} EMIT ON CLOSE;
    """
    for keys, is_safe in (("s.flow", False), ("s.flow, s.ip", True), ("a.flow, a.ip", True)):
        (verdict,) = check(script.format(keys))
        assert verdict.safe == is_safe
        if is_safe:
            found = bind_text(script.format(keys)).checked()
            plan(normalise(found.queries[0]), 1, found.catalog)


@pytest.mark.parametrize("seed", seeds(40))
def test_random_queries_that_check_calls_safe_can_be_planned(seed: int) -> None:
    found = emission_case(Random(9000 + seed))
    (verdict,) = check(found.case.script.replace(" ALLOW UNBOUNDED", ""))
    if verdict.safe:
        plan(normalise(found.query), 1, found.catalog)
