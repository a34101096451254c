"""A memory budget makes steps smaller in a burst: what rows take stays inside it, and nothing is lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engines.embedded_run import EmbeddedRun, open_run
from penstock.engines.memory_budget import COPIES, LEAST
from penstock.sql import bind_text
from tests.cli.conftest import Penstock, penstock  # noqa: F401
from tests.engines.comparing import Log, logged

SECOND = 1_000_000
SQL = """
CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS USING parquet OPTIONS (path '{}');
CREATE QUERY q AS SELECT a, COUNT(*) AS n FROM s [RANGE 1 SECOND] WHERE b < 50 GROUP BY a;
"""


def write_bursts(path: Path) -> int:
    """Ten quiet minutes of 100 rows each, and between them one with twenty times as many rows per second."""
    times: list[int] = []
    for minute in range(10):
        count = 40_000 if minute == 5 else 2_000
        times += [minute * 60 * SECOND + n * 60 * SECOND // count for n in range(count)]
    count = len(times)
    columns = {"a": [n % 7 for n in range(count)], "b": [n % 100 for n in range(count)], "ts": times}
    pq.write_table(pa.table(columns), path, row_group_size=30_000)
    return count


def run_of(path: Path, memory: int | None) -> tuple[EmbeddedRun, Log, int, Counter[str]]:
    """Gives the results, the largest step in rows, and the limits that were recorded."""
    script = bind_text(SQL.format(path)).checked()
    run = open_run(script.queries, script.catalog)
    (engine,) = run.engines
    engine.adjust(replace(engine.settings, memory=memory))
    log: Log = Counter()
    largest, limits = 0, Counter[str]()
    for result in run.results():
        assert result is not None
        log += logged(result.rows, engine.query)
        if result.ends_step:
            lines = engine.metrics()
            largest = max(largest, *(line.rows_in for line in lines if line.operator == "source"))
            limits.update(change.after for line in lines for change in line.changes)
    return run, log, largest, limits


def test_a_burst_stays_inside_the_budget_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    rows = write_bursts(path)
    _, whole, unlimited, none = run_of(path, None)
    budget = 2_000_000
    run, log, largest, limits = run_of(path, budget)
    assert log == whole
    assert run.engines[0].streams["s"].progress.rows == rows
    assert not none
    assert limits  # which metrics and sysstream say
    assert largest < unlimited
    assert largest * 24 * COPIES <= budget


def test_state_that_takes_all_of_the_budget_makes_steps_small_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    write_bursts(path)
    _, whole, _, _ = run_of(path, None)
    _, log, largest, limits = run_of(path, 1)
    assert log == whole
    assert largest == LEAST
    assert set(limits) == {str(LEAST)}


def test_the_command_line_takes_a_budget(penstock: Penstock) -> None:  # noqa: F811
    count = write_bursts(penstock.folder / "s.parquet")
    penstock.file("q.sql", SQL.format("s.parquet"))
    run = ["run", "q.sql", "--engine", "embedded", "--until-done", "--out"]
    assert penstock(*run, "whole.csv").code == 0
    done = penstock(*run, "small.csv", "--memory", "2MB", "--watch", "SELECT * FROM sysstream [ROWS 1]")
    assert (done.code, done.err.partition(" ")[0]) == (0, f"{count:,}")
    assert (penstock.folder / "small.csv").read_text() == (penstock.folder / "whole.csv").read_text()
