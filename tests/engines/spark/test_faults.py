"""Workers and drivers that are killed in the middle of a micro-batch: no row is lost, and none comes twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from penstock.engines.spark import query as spark_query
from penstock.engines.spark.cell import CellProcessor
from penstock.engines.spark.residence import Residences
from tests.engines.comparing import bound, expected
from tests.engines.spark.examples import example
from tests.engines.spark.running import begin, on_spark, results, write_files

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("moment", ["first write", "after the step", "not at all"])
def test_a_worker_that_is_killed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    # Workers do not find this module, so what it defines travels whole.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    sentinel = str(tmp_path / "killed")
    folder = tmp_path / "run"

    class Mortal(CellProcessor):
        """Its worker dies once, in the third micro-batch or later."""

        def _try_step(self, address: int, mine: list[bytes]) -> Any:
            if moment == "first write":
                self._pages.updateValue = self._dying(self._pages.updateValue)  # type: ignore[method-assign]
            rows = super()._try_step(address, mine)
            if moment == "after the step":
                self._die()
            return rows

        def _dying(self, write: Any) -> Any:
            def dying_write(key: Any, value: Any) -> None:
                write(key, value)
                self._die()

            return dying_write

        def _die(self) -> None:
            if not os.path.exists(sentinel) and os.path.exists(folder / "checkpoint" / "commits" / "1"):
                Path(sentinel).touch()
                os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(spark_query, "CellProcessor", Mortal)
    case = example("join")
    query, catalog = bound(case)
    assert on_spark(spark, case, query, catalog, folder, cells=2) == expected(case, query, catalog)
    assert os.path.exists(sentinel) == (moment != "not at all")


#: Runs the query in a process of its own, which dies with its JVM when so many micro-batches are done.
DRIVER = """
import os, signal, sys
from pathlib import Path
from penstock.engines.spark import spark_session
from tests.engines.comparing import bound
from tests.engines.spark.examples import example
from tests.engines.spark.running import begin

folder, batches = Path(sys.argv[1]), int(sys.argv[2])
case = example("join")
query, catalog = bound(case)
running = begin(spark_session("local[2,4]"), case, query, catalog, folder, cells=2)
(folder / "run").write_text(running._work.run)

def die():
    progress = running.progress()
    if progress is not None and progress.batch >= batches:
        os.killpg(0, signal.SIGKILL)

running.await_done(die)
"""


@pytest.mark.parametrize("batches", [1, 3])
def test_a_driver_that_is_killed(spark: SparkSession, tmp_path: Path, batches: int) -> None:
    case = example("join")
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=2)
    command = [sys.executable, "-c", DRIVER, str(tmp_path), str(batches)]
    ended = subprocess.run(command, cwd=ROOT, start_new_session=True, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    # Nobody was left to give the memory of the machines back.
    Residences((tmp_path / "run").read_text()).remove()
    begin(spark, case, query, catalog, tmp_path, cells=2).await_done()
    assert results(spark, tmp_path, query) == expected(case, query, catalog)
