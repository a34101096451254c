"""Time goes on without a stream that is idle. Rows of it that come for closed instants are late: counted, left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.relations import Query
from penstock.catalog import Catalog, StreamDef
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.embedded_run import EmbeddedRun, Result, open_engines
from penstock.engines.idleness import Idleness, timeouts
from penstock.engines.planning import plan_of
from penstock.engines.queued_run import QueuedRun
from penstock.errors import PenstockError
from penstock.sql import bind_text
from tests.engines.comparing import Log, batch, bound, expected, logged, table
from tests.engines.test_queued_run import random_strategy
from tests.engines.test_sharing_across_queries import ALIKE, bound_together
from tests.generators import Case, cases, several_cases
from tests.purging.cases import purging_case
from tests.purging.test_emission import closing_case
from tests.purging.test_other_operators import forgetting_case
from tests.reference.instants import microsecond
from tests.seeds import seeds

SQL = """
CREATE STREAM shown (ad BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS IDLE AFTER 30 SECONDS;
CREATE STREAM clicked (ad BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS DELAY 1 MICROSECOND IDLE AFTER 30 SECONDS;
CREATE QUERY seen AS
SELECT ISTREAM(s.ad) FROM shown [RANGE 60 MICROSECONDS] s, clicked [RANGE 60 MICROSECONDS] c WHERE s.ad = c.ad;
"""
SECOND = 1_000_000


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def instant(stream: StreamDef, row: Sequence[Any]) -> int:
    names = [attribute.name for attribute in stream.attributes if not attribute.virtual]
    return microsecond(row[names.index(stream.timestamp)], stream.unit.name)


class Oracle:
    """Which rows count, by nothing but how far each stream has been read and when it was idle."""

    def __init__(self, streams: Sequence[StreamDef]) -> None:
        self.streams = {stream.name: stream for stream in streams}
        self.newest: dict[str, int] = {}
        self.until = 0
        self.closed = dict.fromkeys(self.streams, 0)
        self.kept: dict[str, list[Any]] = {name: [] for name in self.streams}
        self.late = 0

    def arrive(self, name: str, rows: Sequence[Any], horizon: int | None) -> None:
        stream = self.streams[name]
        for row in rows:
            ts = instant(stream, row)
            if horizon is None or ts <= horizon:
                is_late = ts < self.closed[name]
                self.late += is_late
                self.kept[name] += [] if is_late else [row]
                self.newest[name] = max(ts, self.newest.get(name, 0))

    def go_on(self, idle: frozenset[str]) -> None:
        waited_for = [name for name in self.streams if name not in idle]
        reached = {name: newest - self.streams[name].delay for name, newest in self.newest.items()}
        if self.streams and not waited_for:
            self.until = max(self.until, *reached.values(), 0)
        elif waited_for and all(name in self.newest for name in waited_for):
            self.until = max(self.until, min(reached[name] for name in waited_for))
        self.closed |= {name: max(self.closed[name], self.until) for name in idle}


def with_horizon(case: Case, streams: Sequence[StreamDef]) -> Case:
    """The case with a horizon: by default that of all rows, as those that are late may be the newest of theirs."""
    if case.horizon is not None:
        return case
    newest = [instant(stream, row) for stream in streams for row in case.data[stream.name]]
    return replace(case, horizon=max(newest, default=0))


def pieces(case: Case, streams: Sequence[StreamDef], random: Random) -> Iterator[tuple[StreamDef, list[Any]]]:
    """Rows of each stream in the order of arrival; one stream lags as far as it likes."""
    left = {stream.name: list(case.data[stream.name]) for stream in streams}
    lags = random.choice(streams).name if streams else None
    while any(left.values()):
        some = [stream for stream in streams if left[stream.name]]
        stream = random.choice([s for s in some if s.name != lags] or some) if random.random() < 0.8 else some[0]
        count = random.randint(1, 4)
        yield stream, left[stream.name][:count]
        left[stream.name] = left[stream.name][count:]


def check(case: Case, query: Query, catalog: Catalog, cells: int, random: Random) -> None:
    tables = {t.name: table(t, case.data.get(t.name, ())) for t in catalog.tables}
    read = [s for s in catalog.streams if s.name in EmbeddedEngine(query, catalog, tables).streams]
    case = with_horizon(case, read)
    engine, oracle = EmbeddedEngine(query, catalog, tables, cells, case.horizon), Oracle(read)
    log: Log = Counter()
    for stream, rows in pieces(case, read, random):
        oracle.arrive(stream.name, rows, case.horizon)
        engine.push(stream.name, batch(stream, rows))
        idle = frozenset(s.name for s in read if random.random() < 0.4)
        engine.idle = idle
        log += logged(engine.advance(), query)
        oracle.go_on(idle)
        assert engine.watermark == oracle.until
    log += logged(engine.finish(), query)
    assert log == expected(replace(case, data={**case.data, **oracle.kept}), query, catalog)


@given(cases(), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_whatever_is_idle_the_result_is_that_of_the_rows_that_count(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    check(case, query, catalog, cells, Random(seed))


@pytest.mark.parametrize("seed", seeds(15, start=20_000))
def test_so_it_is_where_rows_are_purged_and_groups_close(seed: int) -> None:
    """A punctuation that is late is left out like any row, and then closes nothing."""
    found = (purging_case, forgetting_case, closing_case)[seed % 3](seed)
    check(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed))


def counting(engine: EmbeddedEngine, case: Case, kept: dict[str, list[Any]]) -> None:
    """Lets an engine say which rows it takes: those that are not before what was closed while their stream was idle."""
    streams, push, left = engine.streams, engine.push, {name: list(case.data[name]) for name in engine.streams}

    def pushed(name: str, rows: pa.RecordBatch) -> None:
        definition, closed = streams[name].definition, streams[name].progress.closed
        given, left[name] = left[name][: rows.num_rows], left[name][rows.num_rows :]
        kept[name] += [row for row in given if instant(definition, row) >= closed]
        push(name, rows)

    engine.push = pushed  # type: ignore[method-assign]


@given(cases(), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_so_it_is_where_rows_are_pushed_and_stages_run_in_any_order(case: Case, cells: int, seed: int) -> None:
    random, clock = Random(seed), Hand()
    query, catalog = bound(case)
    tables = {t.name: table(t, case.data.get(t.name, ())) for t in catalog.tables}
    read = [s for s in catalog.streams if s.name in EmbeddedEngine(query, catalog, tables).streams]
    case = with_horizon(case, read)
    engine = EmbeddedEngine(query, catalog, tables, cells, case.horizon)
    kept: dict[str, list[Any]] = {stream.name: [] for stream in read}
    counting(engine, case, kept)
    after = {stream.name: random.choice((3, 10)) for stream in read if random.random() < 0.8}
    run = QueuedRun(engine, strategy=random_strategy(random), idle_after=after, clock=clock)
    log: Log = Counter()
    for stream, rows in pieces(case, read, random):
        clock.now += random.choice((0, 1, 5, 20))
        run.push(stream.name, batch(stream, rows))
        for _ in range(random.choice((0, 0, 1, 3))):
            run.run_next()
        if random.random() < 0.3:
            for block in run.changes():
                log += logged(block, query)
    for block in run.finish():
        log += logged(block, query)
    assert log == expected(replace(case, data={**case.data, **kept}), query, catalog)


@settings(max_examples=30)
@given(several_cases(2, 3, ALIKE), st.integers(0, 2**32))
def test_queries_that_share_windows_agree_on_the_rows_that_count(together: list[Case], seed: int) -> None:
    """A row that is late for one query is late for all of the run, or a window that they share would have it or not."""
    random, clock = Random(seed), Hand()
    queries, catalog = bound_together(together)
    tables = {t.name: table(t, together[0].data.get(t.name, ())) for t in catalog.tables}
    plans = [plan_of(query, catalog) for query in queries]
    alone = open_engines(plans, catalog, tables)
    read = [stream for stream in catalog.streams if any(stream.name in engine.streams for engine in alone)]
    horizon = with_horizon(together[0], read).horizon
    engines = open_engines(plans, catalog, tables, horizon)
    kept: list[dict[str, list[Any]]] = [{name: [] for name in engine.streams} for engine in engines]
    for engine, own in zip(engines, kept, strict=True):
        counting(engine, together[0], own)

    def of_stream(stream: StreamDef) -> Iterator[pa.RecordBatch | None]:
        rows = list(together[0].data[stream.name])
        while rows:
            clock.now += random.choice((0, 1, 5))
            if random.random() < 0.6:
                yield None
            count = random.randint(1, 4)
            yield batch(stream, rows[:count])
            rows = rows[count:]

    after = {stream.name: random.choice((3, 10)) for stream in read}
    run = EmbeddedRun(engines, {s.name: of_stream(s) for s in read}, idle_after=after, clock=clock)
    logs = {query.name: Log() for query in queries}
    for result in run.results():
        clock.now += random.choice((0, 2))
        if result is not None:
            logs[result.engine.query.name] += logged(result.rows, result.engine.query)
    for number, (case, query) in enumerate(zip(together, queries, strict=True)):
        assert all(kept[number][name] == other[name] for other in kept for name in kept[number].keys() & other.keys())
        want = expected(replace(case, horizon=horizon, data={**case.data, **kept[number]}), query, catalog)
        assert logs[query.name] == want


def rows(ad: int, ts: int) -> pa.RecordBatch:
    return pa.record_batch({"ad": [ad], "ts": [ts]})


def opened(clock: Hand, idle_after: Mapping[str, int] | None = None) -> QueuedRun:
    script = bind_text(SQL).checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog)
    after = timeouts(script.catalog.streams) if idle_after is None else idle_after
    return QueuedRun(engine, idle_after=after, clock=clock)


def ads(run: QueuedRun) -> list[int]:
    return [ad for block in run.changes() for ad in block.column("ad").to_pylist()]


def test_a_match_comes_when_the_quiet_stream_is_idle_and_what_is_late_then_is_counted() -> None:
    clock = Hand()
    run = opened(clock)
    run.push("clicked", rows(7, 10))
    run.push("shown", rows(7, 11))
    run.push("shown", rows(8, 20))
    assert ads(run) == []
    clock.now = 30 * SECOND
    assert ads(run) == [7]
    (late,) = [line for line in run.engine.metrics() if line.operator == "source" and line.stream == "clicked"]
    assert (late.idle, late.late_rows) == (True, 0)
    run.push("clicked", rows(8, 19))
    run.push("clicked", rows(8, 20))
    run.push("shown", rows(9, 40))
    assert ads(run) == []
    (late,) = [line for line in run.engine.metrics() if line.operator == "source" and line.stream == "clicked"]
    assert (late.idle, late.rows_in, late.late_rows) == (False, 2, 1)
    run.push("clicked", rows(0, 42))
    assert ads(run) == [8]


def test_without_a_timeout_nobody_goes_on() -> None:
    clock = Hand()
    run = opened(clock, {"shown": 30 * SECOND})
    run.push("clicked", rows(7, 10))
    run.push("shown", rows(7, 11))
    run.push("shown", rows(8, 20))
    clock.now = 10**15
    assert ads(run) == []


def test_a_stream_that_never_delivered_is_idle_after_others_waited_for_it() -> None:
    clock = Hand()
    clock.now = 10**9
    run = opened(clock)
    run.push("shown", rows(7, 11))
    assert ads(run) == []
    clock.now += 30 * SECOND
    assert ads(run) == []
    assert run.engine.watermark == 11


def test_streams_that_stop_and_go_on_together_lose_nothing() -> None:
    clock = Hand()
    run = opened(clock)
    run.push("clicked", rows(7, 10))
    run.push("shown", rows(7, 11))
    clock.now = 3600 * SECOND
    run.push("shown", rows(8, 5000))
    assert ads(run) == []
    clock.now += 1
    run.push("clicked", rows(8, 4990))
    run.push("clicked", rows(8, 5002))
    assert ads(run) == [7]
    assert run.engine.streams["clicked"].progress.late_rows == 0


def test_a_row_that_waits_in_a_queue_was_delivered() -> None:
    """Its stream is not idle, however long the stages before have taken."""
    clock = Hand()
    run = opened(clock)
    run.push("shown", rows(7, 11))
    clock.now = 29 * SECOND
    run.push("clicked", rows(7, 10))
    clock.now = 31 * SECOND
    assert ads(run) == []
    assert run.engine.idle == {"shown"}


def following(clock: Hand, *arrivals: tuple[int, pa.RecordBatch | None]) -> Iterator[pa.RecordBatch | None]:
    """Yields what has arrived by the time; None where nothing has."""
    for at, rows in arrivals:
        while clock.now < at:
            yield None
        yield rows
    while True:
        yield None


def run_of(clock: Hand, **streams: Iterator[pa.RecordBatch | None]) -> EmbeddedRun:
    script = bind_text(SQL).checked()
    engines = open_engines([plan_of(script.queries[0], script.catalog)], script.catalog, {})
    return EmbeddedRun(engines, streams, idle_after=timeouts(script.catalog.streams), clock=clock)


def taken(results: Iterator[Result | None]) -> list[int]:
    """What comes until the streams have nothing for now."""
    found: list[int] = []
    for result in results:
        if result is None:
            return found
        found += result.rows.column("ad").to_pylist()
    return found


def test_a_run_that_follows_files_goes_on_too() -> None:
    clock = Hand()
    shown = following(clock, (0, rows(7, 11)), (SECOND, rows(8, 20)))
    run = run_of(clock, shown=shown, clicked=following(clock, (0, rows(7, 10)), (60 * SECOND, rows(8, 20))))
    results = run.results()
    assert taken(results) == []
    clock.now = SECOND
    assert taken(results) == []
    clock.now = 30 * SECOND - 1
    assert taken(results) == []
    clock.now += 1
    assert taken(results) == [7]


def test_a_stream_whose_rows_are_there_is_not_idle_though_others_never_pause() -> None:
    """Rows that have arrived unread while another stream was read count as delivered."""
    clock = Hand()

    def without_end() -> Iterator[pa.RecordBatch | None]:
        for ts in range(1, 100):
            clock.now += SECOND
            yield rows(ts, ts)

    run = run_of(clock, shown=without_end(), clicked=following(clock, (20 * SECOND, rows(5, 6))))
    results = run.results()
    assert taken(results) == [5]
    clicked = run.engines[0].streams["clicked"].progress
    assert (clicked.rows, clicked.late_rows) == (1, 0)


def test_what_was_newer_before_the_last_row_of_a_quiet_stream_waits_no_longer() -> None:
    """Where all streams are idle, time goes as far as the one that is farthest."""
    clock = Hand()
    run = opened(clock)
    run.push("shown", rows(7, 11))
    run.push("shown", rows(8, 20))
    clock.now = SECOND
    run.push("clicked", rows(7, 10))
    assert ads(run) == []
    clock.now = 31 * SECOND - 1
    assert ads(run) == []
    clock.now += 1
    assert ads(run) == [7]
    assert run.engine.watermark == 20


def test_in_a_pause_of_all_what_waits_goes_on_and_then_nobody_is_idle() -> None:
    idleness = Idleness({"a": 10, "b": 50})
    idleness.delivered("c", 0)
    found = []
    for now in (9, 10, 49, 50, 51):
        found.append(idleness.idle(now))
        idleness.rest(now)
    assert found == [frozenset(), {"a"}, {"a"}, {"a", "b"}, frozenset()]
    idleness.delivered("c", 100)
    assert idleness.idle(109) == frozenset()
    assert idleness.idle(110) == {"a"}


def test_a_default_is_for_streams_that_declare_nothing() -> None:
    declared = bind_text(SQL + "CREATE STREAM other (ts TIMESTAMP) TIMESTAMP BY ts;").checked().catalog.streams
    after = dict.fromkeys(("shown", "clicked"), 30 * SECOND)
    assert timeouts(declared) == after
    assert timeouts(declared, 5) == {**after, "other": 5}
    with pytest.raises(PenstockError, match="more than zero"):
        timeouts(declared, 0)
