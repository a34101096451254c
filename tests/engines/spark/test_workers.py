"""Workers that cannot run queries are named before a query starts, with what they need."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.reports import error_of
from penstock.engines.spark.workers import Worker, asked, importable, refuse, refuse_archives
from penstock.errors import PenstockError

RIGHT = Worker("node-7", sys.version_info[:2], (), importable(("penstock",))["version"], is_archived=False)


def test_workers_say_what_they_lack(spark: SparkSession) -> None:
    found = asked(spark, ("penstock", "numba", "no_such_module"))
    assert {worker.missing for worker in found} == {("no_such_module",)}
    refuse(replace(worker, missing=()) for worker in found)


@pytest.mark.parametrize(
    ("worker", "message"),
    [
        (replace(RIGHT, missing=("penstock", "numba")), "on node-7 cannot import penstock, numba"),
        (replace(RIGHT, is_archived=True), "on node-7 have Penstock in an archive of --py-files"),
        (replace(RIGHT, python=(3, 8)), "on node-7 run Python 3.8, and the driver"),
        (replace(RIGHT, version="0.0.1"), "on node-7 have Penstock 0.0.1, and the driver"),
    ],
)
def test_a_worker_that_cannot_run_queries_is_named(worker: Worker, message: str) -> None:
    with pytest.raises(PenstockError, match=message) as refused:
        refuse([RIGHT, worker])
    assert "--archives environment.tar.gz#environment" in str(refused.value.hint)


def test_archives_of_modules_with_machine_code_are_refused() -> None:
    refuse_archives("")
    refuse_archives("jobs/mine.py,jobs/more.zip")
    with pytest.raises(PenstockError, match="cannot bring Penstock to Spark's workers"):
        refuse_archives("jobs/mine.py,hdfs:///jobs/penstock.zip")


@pytest.mark.parametrize(
    "said",
    [
        "Traceback (most recent call last):\n  ...\nModuleNotFoundError: No module named 'penstock.engines'\n",
        "Error from python worker:\n  python: Error while finding module specification for "
        "'penstock.engines.spark.daemon' (ModuleNotFoundError: No module named 'penstock')",
    ],
)
def test_a_worker_without_penstock_is_explained(said: str) -> None:
    error = error_of(["[STREAM_FAILED] it ended", said])
    assert error.message == "Spark's workers cannot import penstock"
    assert "--archives" in str(error.hint)
