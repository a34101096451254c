"""Early results: each as soon as its rows are taken, the same ones with the same times as if all waited."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from penstock.algebra.relations import Query, Relation, walk_relations
from penstock.catalog import StreamDef
from penstock.closing.physical_join import PhysicalJoin
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.planning import plan_of
from penstock.operators import machine
from penstock.plan.early import with_early
from penstock.plan.forgetting import Forgetting
from penstock.sql import bind_text
from tests.engines.comparing import Log, batch, embedded, expected, logged, table
from tests.engines.early_cases import EarlyCase, early_case
from tests.engines.restarting import Pages, restart
from tests.engines.spark.pretending import pretended
from tests.purging.cases import SECOND
from tests.seeds import seeds

#: After how many of the steps the reference is asked, which takes long, and an instant behind all rows.
LOOKS, END = 0.1, 10**12


def arrivals(found: EarlyCase, random: Random) -> Iterator[tuple[StreamDef, list[Any]]]:
    """Rows of each stream as they arrive; one stream lags far behind, or says nothing before all others are over."""
    streams = {stream.name: stream for stream in found.catalog.streams}
    left = {name: list(found.case.data[name]) for name in streams}
    lags = random.choice(list(left))
    patience = random.choice((0.0, 0.1, 1.0))
    while any(left.values()):
        some = [name for name in left if left[name]]
        others = [name for name in some if name != lags] or some
        name = random.choice(some) if random.random() < patience else random.choice(others)
        count = random.randint(1, 4)
        yield streams[name], left[name][:count]
        left[name] = left[name][count:]


def engine_of(found: EarlyCase, cells: int) -> EmbeddedEngine:
    tables = {t.name: table(t, found.case.data[t.name]) for t in found.catalog.tables}
    return EmbeddedEngine(found.query, found.catalog, tables, cells)


def check(found: EarlyCase, cells: int, random: Random, *, restarts: bool = False) -> None:
    """After each step there is what the rows give that are taken, by the reference."""
    engine, log, arrived = engine_of(found, cells), Log(), dict[str, list[Any]]()
    pages: Pages = {}
    for stream, rows in arrivals(found, random):
        arrived.setdefault(stream.name, []).extend(rows)
        if stream.name not in engine.streams:
            continue
        engine.push(stream.name, batch(stream, rows))
        log += logged(engine.advance(), found.query)
        if restarts:
            restart(engine, pages)
        if random.random() < LOOKS:
            case = replace(found.case, data={**found.case.data, **found.taken(arrived)}, horizon=END)
            assert log == expected(case, found.query, found.catalog), (found.early, found.case)
    log += logged(engine.finish(), found.query)
    assert log == expected(found.case, found.query, found.catalog), (found.early, found.case)


@pytest.mark.parametrize("block", range(4))
def test_each_result_comes_when_its_rows_are_taken(block: int) -> None:
    for seed in seeds(10, start=block * 400):
        for cells in (1, 3):
            check(early_case(seed), cells, Random(seed + cells))


@pytest.mark.parametrize("seed", seeds(10, start=3000))
def test_a_restart_does_not_matter(seed: int) -> None:
    check(early_case(seed), 1 + 2 * (seed % 2), Random(seed), restarts=True)


@pytest.mark.parametrize("seed", seeds(10, start=4000))
def test_parts_of_a_step_do_not_matter(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SLICE", 4)
    check(early_case(seed), 1, Random(seed))


@pytest.mark.parametrize("seed", seeds(15, start=5000))
def test_spark_s_tasks_and_retries_do_not_matter(seed: int) -> None:
    found = early_case(seed)
    got = pretended(found.case, found.query, found.catalog, 1 + seed % 3, Random(seed))
    assert got == expected(found.case, found.query, found.catalog), (found.early, found.case)


@pytest.mark.parametrize("seed", seeds(15, start=6000))
def test_rows_after_their_punctuation_are_rejected_as_if_all_waited(seed: int) -> None:
    found = early_case(seed, breaks=True)
    waiting = replace(found.query, early=False)
    want, rejected = lasting(found, waiting, 1, Random(seed))
    for cells, cuts in ((1, Random(seed + 1)), (3, Random(seed + 2))):
        got, violations = lasting(found, found.query, cells, cuts)
        assert got == want, (found.early, found.case)
        assert cells > 1 or violations == rejected
    assert pretended(found.case, found.query, found.catalog, 1 + seed % 3, Random(seed)) == want


@pytest.mark.parametrize("seed", seeds(6, start=8000))
def test_rows_that_wait_too_long_are_left_out_as_if_all_waited(seed: int) -> None:
    found, forgetting = early_case(seed), Forgetting(wait_timeout=3 * SECOND)
    waiting = replace(found.query, early=False)
    want = embedded(found.case, waiting, found.catalog, 1, Random(seed), forgetting)
    for cells in (1, 3):
        assert embedded(found.case, found.query, found.catalog, cells, Random(seed + cells), forgetting) == want


def lasting(found: EarlyCase, query: Query, cells: int, random: Random) -> tuple[Log, int]:
    """What a query gives, and how many rows it rejects."""
    engine, log = engine_of(replace(found, query=query), cells), Log()
    for stream, rows in arrivals(found, random):
        if stream.name in engine.streams:
            engine.push(stream.name, batch(stream, rows))
            log += logged(engine.advance(), query)
    log += logged(engine.finish(), query)
    return log, engine.totals().violations


@pytest.mark.parametrize("seed", seeds(15, start=7000))
def test_no_more_is_kept_than_where_rows_wait(seed: int) -> None:
    """A row that would wait for its instant waits in the join now, and so does what its punctuation closes."""
    found = early_case(seed)
    engines = [engine_of(replace(found, query=replace(found.query, early=how)), 1) for how in (True, False)]
    for stream, rows in arrivals(found, Random(seed)):
        if stream.name in engines[0].streams:
            kept, in_flight = [], 0
            for engine in engines:
                engine.push(stream.name, batch(stream, rows))
                engine.advance()
                machines = [machine for cells in engine._machines for machine in cells]
                in_flight = sum(each.in_flight_rows() for each in machines)
                kept.append(engine.state_rows() + in_flight)
            punctuations = len(evidence_of(engines[0])) * in_flight
            tables = 0 if engines[0].watermark else len(found.case.data["t"])  # they wait for the first instant
            assert kept[0] <= kept[1] + punctuations + tables, (found.early, found.case)


def evidence_of(engine: EmbeddedEngine) -> list[Relation]:
    joins = [node for node in walk_relations(engine.plan.last.root) if isinstance(node, PhysicalJoin)]
    return [scan for join in joins for scan in join.evidence]


SQL = """
CREATE STREAM shown (ad BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM clicked (ad BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS DELAY 5 MICROSECONDS;
CREATE QUERY seen WITH (early = 'on') AS
SELECT ISTREAM(s.ad) FROM shown s, clicked c
WHERE s.ad = c.ad AND c.ts BETWEEN s.ts AND s.ts + 60;
"""


def test_a_quiet_stream_holds_no_match_back() -> None:
    script = bind_text(SQL).checked()
    query, (shown, clicked) = script.queries[0], script.catalog.streams
    engine = EmbeddedEngine(query, script.catalog)

    def arrives(stream: StreamDef, ad: int, ts: int) -> list[tuple[Any, ...]]:
        engine.push(stream.name, batch(stream, [(ad, ts)]))
        return sorted(logged(engine.advance(), query))

    assert arrives(clicked, 7, 12) == []
    assert arrives(shown, 7, 10) == [(12, "+", 7)]
    # Clicks are quiet, and what is shown goes on; then a click comes that is late enough for all of it.
    assert [arrives(shown, 20 + n, 20 + n) for n in range(5)] == [[]] * 5
    assert arrives(clicked, 23, 40) == [(40, "+", 23)]
    # It is no later than the delay allows, and what it joins was not purged.
    assert arrives(clicked, 21, 36) == [(36, "+", 21)]
    assert engine.watermark == 24


def test_time_that_goes_on_without_an_idle_stream_purges_for_it() -> None:
    script = bind_text(SQL).checked()
    query, (shown, clicked) = script.queries[0], script.catalog.streams
    engine = EmbeddedEngine(query, script.catalog)
    engine.push("clicked", batch(clicked, [(0, 0)]))
    engine.push("shown", batch(shown, [(7, 10), (8, 200)]))
    engine.idle = frozenset({"clicked"})
    engine.advance()
    assert (engine.watermark, engine.state_rows()) == (200, 1)
    engine.push("clicked", batch(clicked, [(7, 12), (8, 210)]))
    assert logged(engine.advance(), query) == Log({(210, "+", 8): 1})
    assert engine.streams["clicked"].progress.late_rows == 1


@pytest.mark.parametrize(
    ("select", "obstacle"),
    [
        ("SELECT COUNT(*) AS n FROM a", "it is more than an inner join of streams, with filters and a select list"),
        ("SELECT DSTREAM(k) FROM a", "DSTREAM is about what a relation holds at each instant"),
        ("SELECT ISTREAM(a.k) FROM a, b [RANGE 1 MINUTE] WHERE a.k = b.k", "the window of b has an end"),
        ("SELECT ISTREAM(a.k) FROM a, c WHERE a.k = c.k", "rows are purged by a number of rows, or for a time only"),
        (
            "SELECT ISTREAM(a.k) FROM a, d WHERE a.k = d.k AND d.ts BETWEEN a.ts AND a.ts + 5",
            "a and d are read in step, because punctuations of one speak of the other",
        ),
        (
            "SELECT ISTREAM(a.k) FROM a, e WHERE a.k = e.k",
            "e: FOREIGN KEY (k) REFERENCES a (k) WITHIN 10 SECONDS is watched in the order of time",
        ),
    ],
)
def test_explain_says_why_results_wait(select: str, obstacle: str) -> None:
    ddl = """
    CREATE STREAM a (k BIGINT, ts BIGINT, UNIQUE (k)) TIMESTAMP BY ts;
    CREATE STREAM b (k BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM c (k BIGINT, ts BIGINT, CLUSTERED BY k WITHIN 10 ROWS) TIMESTAMP BY ts;
    CREATE STREAM d (k BIGINT, ts BIGINT, PUNCTUATED BY (k) FROM a (k)) TIMESTAMP BY ts;
    CREATE STREAM e (k BIGINT, ts BIGINT, FOREIGN KEY (k) REFERENCES a (k) WITHIN 10 SECONDS) TIMESTAMP BY ts;
    """
    script = bind_text(f"{ddl} CREATE QUERY q WITH (early = 'on') AS {select} ALLOW UNBOUNDED;").checked()
    early = plan_of(script.queries[0], script.catalog).last.early
    assert str(early) == f"wait for the watermark, because {obstacle}"
    assert plan_of(with_early(replace(script.queries[0], early=None), early=False), script.catalog).last.early is None
