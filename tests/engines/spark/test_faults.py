"""Workers, drivers and executors that are killed within a micro-batch: no row is lost, and none comes twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.residence import _place
from tests.engines.comparing import bound, expected
from tests.engines.spark.examples import example
from tests.engines.spark.killing import MOMENTS, UNPACKING, Reaper, set_out
from tests.engines.spark.running import begin, json_results, listed, results, write_files

ROOT = Path(__file__).parents[3]

#: So many files of two rows make so many micro-batches, of the bids; the last one closes time.
BATCHES = 7


def test_workers_are_killed_and_the_query_is_stopped_and_goes_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reaper = Reaper(str(tmp_path), {0: MOMENTS[0], 1: MOMENTS[2], 2: MOMENTS[4]})
    set_out(reaper, monkeypatch)
    case = example("join")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=6, only=1)
    running = begin(spark, case, query, catalog, tmp_path, cells=2, until_done=False)
    assert running._query is not None
    running._query.processAllAvailable()
    running.stop()
    write_files(case, catalog, tmp_path / "in", rows_per_file=6)
    begin(spark, case, query, catalog, tmp_path, cells=2).await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)
    assert reaper.killed() == {0, 1, 2}


def test_workers_are_killed_where_spark_writes_the_results(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task that is tried again steps the cells again, whose state the first one may have written."""
    reaper = Reaper(str(tmp_path), {0: UNPACKING[0], 1: UNPACKING[1], 2: MOMENTS[5]})
    set_out(reaper, monkeypatch)
    case = example("join")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=6)
    begin(spark, case, query, catalog, tmp_path, cells=2, out="out.json").await_done()
    assert json_results(spark, tmp_path, query) == expected(case, query, catalog)
    assert reaper.killed() == {0, 1, 2}


def test_a_micro_batch_runs_again_whose_results_are_logged(spark: SparkSession, tmp_path: Path) -> None:
    """As after a driver that died before Spark wrote that the micro-batch is done."""
    case = example("panes")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=12)
    begin(spark, case, query, catalog, tmp_path, cells=2).await_done()
    last = max((tmp_path / "checkpoint" / "commits").glob("[0-9]"))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()
    begin(spark, case, query, catalog, tmp_path, cells=2).await_done()
    assert last.exists()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "first"), [("join", 0), ("last rows", 2), ("nothing matches", 4)], ids=str)
def test_a_worker_is_killed_in_each_micro_batch(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, first: int
) -> None:
    """Seven kill points each; together they meet each moment early and late in a run."""
    moments = [MOMENTS[(first + batch) % len(MOMENTS)] for batch in range(BATCHES)]
    # No source has rows when time is closed.
    moments[-1] = moments[-1] if moments[-1] != MOMENTS[0] else MOMENTS[4]
    reaper = Reaper(str(tmp_path), dict(enumerate(moments)))
    set_out(reaper, monkeypatch)
    case = example(name)
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=2)
    given = listed(spark, catalog, tmp_path / "in") if first else None
    begin(spark, case, query, catalog, tmp_path, cells=2, given=given).await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)
    assert reaper.killed() == set(range(BATCHES))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["join", "panes", "nothing matches"])
def test_a_worker_is_killed_in_each_micro_batch_where_spark_writes_the_results(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # The bids' delay keeps results back: in the first two micro-batches there may be none to unpack.
    moments = [MOMENTS[3], MOMENTS[1], UNPACKING[1], MOMENTS[4], UNPACKING[0], MOMENTS[5], UNPACKING[1]]
    reaper = Reaper(str(tmp_path), dict(enumerate(moments)))
    set_out(reaper, monkeypatch)
    case = example(name)
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=2)
    begin(spark, case, query, catalog, tmp_path, cells=2, out="out.json").await_done()
    assert json_results(spark, tmp_path, query) == expected(case, query, catalog)
    assert reaper.killed() == set(range(BATCHES))


#: The files that Spark writes in a micro-batch, in their order: its plan, its state, its results, that it is done.
DRIVER_DIES_AT = (
    "checkpoint/offsets/0",
    "checkpoint/state/0/0/**/2*.changelog",
    "out.parquet/_spark_metadata/2",
    "checkpoint/commits/3",
    "checkpoint/penstock/control/close",
    "out.parquet/_spark_metadata/6",
)


@pytest.mark.slow
def test_a_driver_is_killed_again_and_again(spark: SparkSession, tmp_path: Path) -> None:
    case = example("join")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=2)
    for file in DRIVER_DIES_AT:
        ended = _drive(tmp_path, "join", "local[2,4]", "driver", file)
        assert ended.returncode == -signal.SIGKILL, f"{file} never came\n{ended.stderr}"
    begin(spark, case, query, catalog, tmp_path, cells=2).await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)
    # The drivers could not give the memory of their machines back; those that started later have.
    left = {path.name for path in _place().iterdir()}
    assert not [run.name for run in tmp_path.glob("run-*") if f"penstock-{os.getuid()}-{run.read_text()}" in left]


@pytest.mark.slow
def test_executors_are_lost(spark: SparkSession, tmp_path: Path) -> None:
    case = example("join")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=2)
    lost_at = ("checkpoint/commits/1", "checkpoint/offsets/4")
    ended = _drive(tmp_path, "join", "local-cluster[2,1,1024]", "executor", *lost_at)
    assert ended.returncode == 0, ended.stderr
    assert len(list(tmp_path.glob("lost-*"))) == 2
    assert results(spark, tmp_path, query) == expected(case, query, catalog)


def _drive(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.engines.spark.drivers", str(folder), *arguments]
    return subprocess.run(command, cwd=ROOT, start_new_session=True, capture_output=True, text=True, check=False)
