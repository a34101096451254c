"""A second run on a checkpoint that a run goes on from: it is refused, and the first one goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from tests.engines.spark.storm.cases import stormy
from tests.engines.spark.storm.driver import Errand
from tests.engines.spark.storm.driving import each_code, log_of
from tests.engines.spark.storm.ledger import Ledger
from tests.engines.spark.storm.started import Started

pytestmark = pytest.mark.slow

FILES = 6


@pytest.mark.parametrize("where", ["this application", "another one"])
def test_a_second_run_is_refused_and_the_first_goes_on(
    spark: SparkSession, tmp_path: Path, ledger: Ledger, where: str
) -> None:
    started = Started(spark, stormy("join", 700, FILES), tmp_path)
    started.write_files(only=FILES // 2)
    first = started.begin()
    try:
        if where == "this application":
            with pytest.raises(PenstockError, match="another run"):
                started.begin()
        else:
            errand = Errand(str(tmp_path), "join", 700, FILES, "out.parquet", "workers")
            assert list(each_code([errand])) == [1], log_of(tmp_path)
            assert "another run" in log_of(tmp_path)
        ledger.refused("a second run on a checkpoint")
        assert first.is_running
        started.write_files()
        first.await_done()
    finally:
        first.stop()
    ledger.enter("a second run on a checkpoint", 0, started.results(), started.reference())
