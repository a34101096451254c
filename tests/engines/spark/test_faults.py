"""Workers that are killed within a micro-batch: no row is lost, and none comes twice. The storm kills many more."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.engines.comparing import bound, expected
from tests.engines.spark.examples import example
from tests.engines.spark.killing import MOMENTS, UNPACKING, Reaper, set_out
from tests.engines.spark.running import begin, json_results, results, write_files


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
