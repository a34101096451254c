"""Monitors and the wait timeout change while a query runs: what they say of rows shows in its state and its metrics."""

from __future__ import annotations

import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.monitor.control import Controls
from penstock.sql import bind_text
from tests.engines.comparing import Log, batch, logged
from tests.purging.test_forgetting_settings import DDL as AUCTIONS
from tests.purging.test_forgetting_settings import JOIN, auction
from tests.purging.test_monitors import DDL, MAKES
from tests.purging.varying import joined

STEP = 50_000


def stepped(kind: str, changes: dict[int, str]) -> tuple[list[int], list[bool], Log]:
    """Sets `monitors` before some steps. Gives the rows kept after each, whether k was used, and the results."""
    data = MAKES[kind](900, lambda n: 10)
    ddl = DDL[kind].format(within="INFERRED (w 60)")
    script = bind_text(f"{ddl} CREATE QUERY q AS SELECT s.a FROM s, t WHERE s.a = t.a").checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog)
    controls = Controls([engine])
    kept: list[int] = []
    used: list[bool] = []
    log = Log()
    for step in range(18):
        if step in changes:
            controls.set("monitors", changes[step])
            controls.apply()
        for stream in script.catalog.streams:
            rows = [row for row in data[stream.name] if step * STEP <= row[1] < (step + 1) * STEP]
            if rows:
                engine.push(stream.name, batch(stream, rows))
        log += logged(engine.advance(), script.queries[0])
        kept.append(engine.state_rows())
        used.append(any(each.used for line in engine.metrics() for each in line.constraints))
    assert log + logged(engine.finish(), script.queries[0]) <= joined(data)
    return kept, used, log


@pytest.mark.parametrize("kind", DDL)
def test_without_monitors_nothing_is_purged_by_an_inferred_k(kind: str) -> None:
    always, _, found = stepped(kind, {})
    kept, used, log = stepped(kind, {5: "off", 11: "on"})
    assert used[4]
    assert not any(used[5:11])
    assert any(used[11:])
    assert all(more >= some for more, some in zip(kept[:11], always[:11], strict=True))
    assert kept[-1] == always[-1]
    assert found <= log


def test_a_wait_timeout_that_is_set_while_it_runs_drops_rows_and_counts_them() -> None:
    script = bind_text(f"{AUCTIONS} CREATE QUERY q AS {JOIN}").checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog)
    controls = Controls([engine])
    data = auction(lost=5)
    timed_out_rows: list[int] = []
    for start in range(0, 2000, 500):
        for stream in script.catalog.streams:
            rows = [row for row in data[stream.name] if start <= row[-1] < start + 500]  # type: ignore[operator]
            engine.push(stream.name, batch(stream, rows))
        engine.advance()
        timed_out_rows.append(engine.totals().timed_out_rows)
        controls.set("wait_timeout", {0: "off", 500: "50 MICROSECONDS"}.get(start, "off"))
        controls.apply()
    assert timed_out_rows[:2] == [0, 0]
    assert timed_out_rows[2] > 0
    assert timed_out_rows[3] == timed_out_rows[2]
