"""Counting instead of joining on Spark: what the embedded engine gives, before and after a restart."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.elimination.counting.querying import case_of
from tests.elimination.counting.simulating import simulated
from tests.engines.comparing import bound, embedded
from tests.engines.spark.running import begin, results, write_files


@pytest.mark.parametrize("ending", ["", " EMIT ON CLOSE", " WITHIN 0 EMIT ON CLOSE"])
def test_a_query_that_counts_goes_on_after_a_restart(spark: SparkSession, tmp_path: Path, ending: str) -> None:
    random = Random(3)
    delay = 7 if "WITHIN" in ending else 0
    case = case_of(simulated(random, links=2, keys=3, size=60), random, ending, delay, always_windowed=True)
    query, catalog = bound(case)
    write_files(case, catalog, tmp_path / "in", rows_per_file=15, only=2)
    running = begin(spark, case, query, catalog, tmp_path, cells=2, until_done=False)
    assert running._query is not None
    running._query.processAllAvailable()
    running.stop()
    write_files(case, catalog, tmp_path / "in", rows_per_file=15)
    begin(spark, case, query, catalog, tmp_path, cells=2).await_done()
    assert results(spark, tmp_path, query) == embedded(case, query, catalog, 1, 0)
