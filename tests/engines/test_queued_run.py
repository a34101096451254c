"""Where input is pushed, rows wait between stages: no result depends on what runs first, and bursts fit a budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.adaptive.scheduling.strategies import Scheduling, Strategy, Waiting
from penstock.algebra.relations import Query
from penstock.catalog import Catalog
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.queued_run import QueuedRun
from penstock.monitor.sysstream import properties
from penstock.sql import bind_text
from tests.engines.comparing import Log, batches, bound, expected, logged, table
from tests.generators import Case, cases
from tests.purging.cases import purging_case
from tests.purging.test_emission import closing_case
from tests.purging.test_other_operators import forgetting_case
from tests.seeds import seeds

SOME = settings(max_examples=settings().max_examples // 3)
SECOND = 1_000_000
#: Rows of a batch.
ROWS = 50
SQL = """
CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS;
CREATE STREAM r (a BIGINT, c BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS;
CREATE QUERY q AS
SELECT c, COUNT(*) AS n FROM s [RANGE 1 SECOND] s, r [ROWS 10] r WHERE s.a = r.a AND b < 10 GROUP BY c;
"""


def random_strategy(random: Random) -> Strategy:
    def choose(waiting: Sequence[Waiting]) -> Waiting:
        return random.choice(list(waiting))

    return choose


def pushed(case: Case, query: Query, catalog: Catalog, cells: int, random: Random) -> Log:
    """What a case gives if stages run in a random order, and at random times between pushes."""
    tables = {t.name: table(t, case.data.get(t.name, ())) for t in catalog.tables}
    engine = EmbeddedEngine(query, catalog, tables, cells, case.horizon)
    run = QueuedRun(engine, strategy=random_strategy(random))
    log: Log = Counter()
    for name, rows in batches(case, engine, catalog, random):
        run.push(name, rows)
        for _ in range(random.choice((0, 0, 1, 3))):
            run.run_next()
        if random.random() < 0.1:
            for block in run.changes():
                log += logged(block, query)
    for block in run.finish():
        log += logged(block, query)
    return log


@SOME
@given(cases(), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_random_schedules_give_the_reference(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    assert pushed(case, query, catalog, cells, Random(seed)) == expected(case, query, catalog)


@pytest.mark.parametrize("seed", seeds(12))
def test_random_schedules_of_joins_that_purge_give_the_reference(seed: int) -> None:
    made = (purging_case, forgetting_case, closing_case)[seed % 3]
    found = made(9000 + seed)
    want = expected(found.case, found.query, found.catalog)
    assert pushed(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed)) == want, found.case.script


def engine_of(cells: int = 2, memory: int | None = None, scheduling: Scheduling = Scheduling.CHAIN) -> EmbeddedEngine:
    script = bind_text(SQL).checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog, cells=cells)
    engine.adjust(replace(engine.settings, memory=memory, scheduling=scheduling.value))
    return engine


def arrivals() -> Iterator[list[tuple[str, pa.RecordBatch]]]:
    """What both streams bring in each of 180 seconds: in the second minute twenty times as many batches of rows."""
    at = 0
    for second in range(180):
        arrived = [("r", pa.record_batch({"a": [second % 7], "c": [second % 3], "ts": [second * SECOND]}))]
        count = ROWS * (20 if 60 <= second < 120 else 1)
        for first in range(0, count, ROWS):
            times = [second * SECOND + n * SECOND // count for n in range(first, first + ROWS)]
            s = {"a": [n % 7 for n in range(ROWS)], "b": [(at + n) % 100 for n in range(ROWS)], "ts": times}
            arrived.append(("s", pa.record_batch(s)))
            at += ROWS
        yield arrived


def simulated(run: QueuedRun) -> tuple[Log, int, list[str]]:
    """Pushes what arrives, while a second is enough for four stages: changes, the most bytes, and what is said."""
    log: Log = Counter()
    most, said = 0, []
    for arrived in arrivals():
        for stream, batch in arrived:
            run.push(stream, batch)
        for _ in range(4):
            run.run_next()
        held = run.engine.state()[1] + run.engine.in_flight_bytes() + run.waiting_bytes()
        most = max(most, held)
        rows = properties(run.engine.metrics(), 0)
        said += [row.text or "" for row in rows if row.kind == "setting" and row.entity == "memory.reading"]
    for block in run.finish():
        log += logged(block, run.engine.query)
    return log, most, said


def test_a_burst_of_twenty_times_the_rate_stays_inside_the_budget_and_loses_nothing() -> None:
    without = QueuedRun(engine_of())
    whole, unlimited, silent = simulated(without)
    budget = 300_000
    run = QueuedRun(engine_of(memory=budget))
    log, most, said = simulated(run)
    assert log == whole
    assert run.engine.streams["s"].progress.rows == 50 * 60 * 22
    assert run.engine.streams["s"].progress.late_rows == 0
    assert most <= budget < unlimited
    assert not silent
    assert said[:2] == ["held back", "free"]


def test_chain_keeps_less_waiting_than_fifo_in_a_burst() -> None:
    """The filter drops nine rows of ten: whoever runs it first has less that waits, whatever clocks say."""
    found: dict[Scheduling, int] = {}
    logs: list[Log] = []
    for scheduling in Scheduling:
        run = QueuedRun(engine_of(scheduling=scheduling))
        log, _, _ = simulated(run)
        logs.append(log)
        found[scheduling] = run.most_waiting
    assert logs[0] == logs[1] == logs[2]
    assert found[Scheduling.CHAIN] < found[Scheduling.FIFO]


def test_a_budget_that_state_alone_exceeds_holds_back_each_push() -> None:
    run = QueuedRun(engine_of(memory=1))
    whole, _, _ = simulated(QueuedRun(engine_of()))
    log, _, said = simulated(run)
    assert log == whole
    assert said[0] == "held back"
