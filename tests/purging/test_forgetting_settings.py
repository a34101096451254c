"""When a run looks for what it can forget does not change the answer; what it drops at the wait timeout is counted."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.errors import PenstockError
from penstock.plan.forgetting import Forgetting
from penstock.retention.purge_queue import PurgeQueue
from penstock.synopsis.memory import Ints
from tests.engines.comparing import Log, batches, bound, embedded, expected, logged
from tests.engines.restarting import restarted
from tests.generators import Case
from tests.purging.cases import SECOND, purging_case
from tests.purging.stepping import steps
from tests.purging.test_emission import closing_case
from tests.purging.test_other_operators import forgetting_case
from tests.seeds import seeds

LAZY = (Forgetting(rows=3), Forgetting(rows=20), Forgetting(time=4 * SECOND), Forgetting(rows=30, time=9 * SECOND))


@pytest.mark.parametrize("seed", seeds(10))
def test_a_lazy_purge_gives_the_same_answer(seed: int) -> None:
    made = (purging_case, forgetting_case, closing_case)[seed % 3]
    found = made(4000 + seed)
    want = expected(found.case, found.query, found.catalog)
    for forgetting in LAZY:
        got = embedded(found.case, found.query, found.catalog, 1, Random(seed), forgetting)
        assert got == want, (forgetting, found.case.script)
    assert restarted(found.case, found.query, found.catalog, 1, Random(seed), LAZY[seed % 4]) == want


DDL = """
CREATE STREAM item (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, kind STRING, ts BIGINT,
    FOREIGN KEY (auction) REFERENCES item (id) WITHIN 0 SECONDS,
    PUNCTUATED BY (auction) WHEN kind = 'close') TIMESTAMP BY ts;
"""
JOIN = "SELECT i.id, b.ts AS at FROM item i, bid b WHERE i.id = b.auction AND b.kind = 'bid'"


def auction(lost: int) -> dict[str, list[tuple[object, ...]]]:
    """Items come every ten instants and are closed nine later; of so many items one punctuation is lost."""
    return {
        "item": [(i, 10 * i) for i in range(200)],
        "bid": [
            (i, "close" if at == 9 else "bid", 10 * i + at)
            for i in range(200)
            for at in (2, 9)
            if at == 2 or not lost or i % lost
        ],
    }


def states(forgetting: Forgetting, lost: int = 0) -> tuple[list[int], EmbeddedEngine]:
    case = Case(DDL, JOIN, auction(lost), None, "")
    query, catalog = bound(case)
    engine = EmbeddedEngine(query, catalog, forgetting=forgetting)
    return [engine.state()[0] for _ in steps(engine, catalog, case.data, 10)], engine


def test_a_lazy_purge_keeps_what_came_since_the_last_and_no_more() -> None:
    eager, _ = states(Forgetting())
    by_rows, _ = states(Forgetting(rows=90))
    by_time, _ = states(Forgetting(time=300))
    assert max(eager) <= 8
    assert 40 < max(by_rows) <= 2 * 90 + 8
    assert 40 < max(by_time) <= 2 * 90 + 8
    assert min(by_rows[100:]) <= 8
    assert min(by_time[100:]) <= 8


def test_a_purge_after_few_rows_costs_no_more_than_a_few_slots_for_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a purge passes over is counted, for one step of many rows most of which are kept."""
    ddl = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts;"
    join = "SELECT x.a FROM s x, s y WHERE x.a = y.a AND y.ts > x.ts AND y.ts <= x.ts + 15000"
    case = Case(ddl, join, {"s": [(at % 7000, at) for at in range(20_000)]}, None, "")
    passed: list[int] = []
    plain = PurgeQueue.take

    def counted(self: PurgeQueue, number: int, waits: Ints, clocks: Ints) -> tuple[Ints, Ints]:
        passed.append(self.capacity(number))
        return plain(self, number, waits, clocks)

    monkeypatch.setattr(PurgeQueue, "take", counted)
    query, catalog = bound(case)
    engine = EmbeddedEngine(query, catalog, forgetting=Forgetting(rows=10))
    for name, rows in batches(case, engine, catalog, 0):
        engine.push(name, rows)
    engine.finish()
    assert len(passed) >= 4
    assert sum(passed) <= 20 * 20_000


def test_what_waits_for_a_lost_punctuation_is_dropped_at_the_timeout_and_counted() -> None:
    """Every tenth is lost. Without a timeout its item stays indefinitely."""
    kept, without = states(Forgetting(), lost=10)
    timed_out, engine = states(Forgetting(wait_timeout=100), lost=10)
    assert kept[-1] >= 19
    assert without.totals().timed_out_rows == 0
    assert max(timed_out) <= 12
    assert 18 <= engine.totals().timed_out_rows <= 20
    assert sum(line.timed_out_rows for line in engine.metrics()) == engine.totals().timed_out_rows


@pytest.mark.parametrize("seed", range(6))
def test_what_times_out_does_not_depend_on_how_rows_are_cut(seed: int) -> None:
    """A row joins what comes up to the timeout, and nothing later."""
    random = Random(seed)
    ddl = """
    CREATE STREAM s (a BIGINT, ts BIGINT, PUNCTUATED BY (a) FROM closed (a)) TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, ts BIGINT, PUNCTUATED BY (a) FROM closed (a)) TIMESTAMP BY ts;
    CREATE STREAM closed (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
    """
    data = {
        name: [(random.randint(0, 5), ts) for ts in sorted(random.randint(1, 80) for _ in range(25))] for name in "st"
    } | {"closed": [(90, 79)]}
    join = "SELECT s.a, s.ts AS x, t.ts AS y FROM s, t WHERE s.a = t.a"
    within = f"{join} AND s.ts <= t.ts + 12 AND t.ts <= s.ts + 12"
    want = expected(Case(ddl, within, data, None, ""), *bound(Case(ddl, within, data, None, "")))
    case = Case(ddl, join, data, None, "")
    query, catalog = bound(case)
    for cuts in (Random(seed), Random(seed + 1), 0):
        engine = EmbeddedEngine(query, catalog, forgetting=Forgetting(wait_timeout=12))
        log: Log = Log()
        for name, rows in batches(case, engine, catalog, cuts):
            engine.push(name, rows)
            log += logged(engine.advance(), query)
        assert log + logged(engine.finish(), query) == want
        assert engine.totals().timed_out_rows > 0


@pytest.mark.parametrize("window", ["RANGE 90 MICROSECONDS", "RANGE 90 MICROSECONDS SLIDE 2 MICROSECONDS", "ROWS 9"])
def test_what_a_window_lets_go_does_not_time_out(window: str) -> None:
    ddl = """
    CREATE STREAM s (id BIGINT, a BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
    CREATE STREAM t (id BIGINT, a BIGINT, ts BIGINT, UNIQUE (id), CLUSTERED BY a WITHIN 1 ROWS) TIMESTAMP BY ts;
    """
    data = {"s": [(1, 7, 1), (2, 8, 2)], "t": [(1, 5, 30), (2, 7, 60), (3, 9, 80)]}
    select = f"SELECT ISTREAM(s.id AS s, t.id AS t) FROM s [{window}], t [{window}] WHERE s.a = t.a"
    case = Case(ddl, select, data, None, "")
    query, catalog = bound(case)
    engine = EmbeddedEngine(query, catalog, forgetting=Forgetting(wait_timeout=10))
    log = Log()
    for out in steps(engine, catalog, data, 5):
        log += logged(out, query)
    assert log + logged(engine.finish(), query) == expected(case, query, catalog) != Log()
    assert engine.totals().timed_out_rows == 0


@pytest.mark.parametrize(
    "wrong",
    [{"rows": 0}, {"rows": 1.5}, {"rows": "many"}, {"time": -1}, {"wait_timeout": -1}, {"wait_timeout": "1 HOUR"}],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(PenstockError, match=rf"{next(iter(wrong))} is a whole number from [01] on, not"):
        Forgetting(**wrong)
