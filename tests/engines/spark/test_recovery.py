"""After failures on Spark: data that is put right, checkpoints in use or damaged, and what the dead leave."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.state_directory import _place, new_run
from penstock.errors import PenstockError
from tests.engines.comparing import bound, expected
from tests.engines.spark.examples import example
from tests.engines.spark.running import begin, frames, results, write_files
from tests.faults.examples import RIGHT, STRICT, STRICT_DDL, WRONG
from tests.generators import Case

ROOT = Path(__file__).parents[3]


def in_shared_memory(checkpoint: Path) -> list[Path]:
    """What runs of a checkpoint have left."""
    place = new_run(f"file:{checkpoint}").partition("-")[0]
    return list(_place().glob(f"penstock-{os.getuid()}-{place}-*"))


def test_after_a_violation_the_data_is_put_right_and_nothing_stale_counts(spark: SparkSession, tmp_path: Path) -> None:
    right, wrong = (Case(STRICT_DDL, STRICT, data, None, "") for data in (RIGHT, WRONG))
    query, catalog = bound(right)
    write_files(wrong, catalog, tmp_path / "in", rows_per_file=9)
    with pytest.raises(PenstockError, match="ON VIOLATION ERROR") as raised:
        begin(spark, wrong, query, catalog, tmp_path, cells=2).await_done()
    assert str(raised.value.hint).startswith("put the data right, and start again")
    shutil.rmtree(tmp_path / "in")
    write_files(right, catalog, tmp_path / "in", rows_per_file=9)
    begin(spark, right, query, catalog, tmp_path, cells=2).await_done()
    assert results(spark, tmp_path, query) == expected(right, query, catalog)
    assert not (tmp_path / "out.parquet" / ".drafts").exists()


def test_a_second_run_is_refused_and_the_first_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    case = example("filter")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=6, only=1)
    first = begin(spark, case, query, catalog, tmp_path, until_done=False)
    with pytest.raises(PenstockError, match="another run goes on from this checkpoint"):
        begin(spark, case, query, catalog, tmp_path)
    write_files(case, catalog, tmp_path / "in", rows_per_file=6)
    assert first._query is not None
    first._query.processAllAvailable()
    first.stop()
    begin(spark, case, query, catalog, tmp_path).await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)


def test_a_query_that_ended_unnoticed_can_be_started_again(spark: SparkSession, tmp_path: Path) -> None:
    """Nobody waited for it, so nobody left its checkpoint."""
    case = example("filter")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in")
    unnoticed = begin(spark, case, query, catalog, tmp_path, until_done=False)
    assert unnoticed._query is not None
    unnoticed._query.stop()
    begin(spark, case, query, catalog, tmp_path).await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)


def test_damaged_state_is_called_so(spark: SparkSession, tmp_path: Path) -> None:
    case = example("panes")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=6, only=1)
    running = begin(spark, case, query, catalog, tmp_path, until_done=False)
    assert running._query is not None
    running._query.processAllAvailable()
    running.stop()
    # Another folder: of the first one Spark still has the state in memory.
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("checkpoint", "out.parquet"):
        shutil.copytree(tmp_path / name, moved / name)
    for file in (moved / "checkpoint" / "state").glob("**/*.*"):
        if file.suffix in (".changelog", ".zip"):
            file.unlink()
    write_files(case, catalog, tmp_path / "in", rows_per_file=6)
    with pytest.raises(PenstockError, match="the checkpoint cannot be read, a file in it is damaged or missing"):
        begin(spark, case, query, catalog, moved, given=frames(spark, catalog, tmp_path / "in")).await_done()


SCRIPT = """
CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts USING parquet OPTIONS (path 'in', maxFilesPerTrigger '1');
CREATE QUERY counted AS SELECT a, COUNT(*) AS n FROM s [RANGE 1 SECOND] GROUP BY a;
"""


@pytest.mark.slow
def test_sigterm_to_all_processes_ends_a_run_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(SCRIPT)
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"a": [1, 2, 1], "ts": [1, 2, 3]}), tmp_path / "in" / "0.parquet")
    command = [sys.executable, "-m", "penstock.cli", "run", "q.sql", "--out", "out.parquet", "--checkpoint", "c"]
    command += ["--master", "local[2,4]", "--cells", "2"]
    run = subprocess.Popen(
        command, cwd=tmp_path, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with run:
        while not (tmp_path / "c" / "counted" / "commits" / "0").exists():
            assert run.poll() is None, run.communicate()
            time.sleep(0.05)
        assert in_shared_memory(tmp_path / "c" / "counted")
        os.killpg(run.pid, signal.SIGTERM)
        _, said = run.communicate()
    assert run.returncode == 0, said
    assert not in_shared_memory(tmp_path / "c" / "counted")
