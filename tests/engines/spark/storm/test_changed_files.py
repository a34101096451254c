"""Source files that are rewritten after they were read: what was read counts, and the file is not read again.

A micro-batch that runs again after a restart reads its files again. A file that changed meanwhile counts as it is now,
unless the results of the micro-batch are in the output already: then the query is refused.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from tests.engines.comparing import bound, table
from tests.engines.spark.storm.cases import ROWS_PER_FILE, Stormy, stormy
from tests.engines.spark.storm.ledger import Ledger
from tests.engines.spark.storm.started import Started

pytestmark = pytest.mark.slow

FILES = 6
HALF = FILES // 2


@pytest.mark.parametrize("reader", ["workers", "spark"])
def test_files_that_were_read_are_rewritten(spark: SparkSession, tmp_path: Path, ledger: Ledger, reader: str) -> None:
    started = Started(spark, stormy("counts", 800, FILES), tmp_path, reader=reader)
    started.write_files(only=HALF)
    started.read_what_is_there()
    for number in range(HALF):
        rewrite(started, number)
    started.write_files()
    started.begin().await_done()
    ledger.enter("a file is rewritten that was read", HALF, started.results(), started.reference())


@pytest.mark.parametrize("reader", ["workers", "spark"])
@pytest.mark.parametrize("has_results", [False, True])
def test_a_file_of_a_micro_batch_that_runs_again_is_rewritten(
    spark: SparkSession, tmp_path: Path, ledger: Ledger, reader: str, has_results: bool
) -> None:
    """As after a driver that died before, or after, it had logged the results of the last micro-batch."""
    started = Started(spark, stormy("counts", 801, FILES), tmp_path, reader=reader)
    started.write_files(only=HALF)
    started.read_what_is_there()
    logs = ["checkpoint/commits"] + ([] if has_results else ["out.parquet/_spark_metadata"])
    for log in logs:
        last = tmp_path / log / str(HALF - 1)
        last.unlink()
        last.with_name(f".{last.name}.crc").unlink()
    changed = replace(started, made=rewrite(started, HALF - 1))
    started.write_files()
    kind = "a file is rewritten of a micro-batch that runs again"
    if has_results:
        with pytest.raises(PenstockError, match="the file has changed since micro-batch 2 read it"):
            started.begin()
        ledger.refused(kind)
    else:
        started.begin().await_done()
        ledger.enter(kind, 1, started.results(), changed.reference())


def rewrite(started: Started, number: int) -> Stormy:
    """Gives a file of bids other rows; returns the case of which it is a file then."""
    case = started.made.case
    _, catalog = bound(case)
    stream = next(stream for stream in catalog.streams if stream.name == "bid")
    first = number * ROWS_PER_FILE
    rows = [(9, 1000 + i, "new", ts) for i, (*_, ts) in enumerate(case.data["bid"][first : first + ROWS_PER_FILE])]
    path = started.folder / "in" / "bid" / f"part-{number:05d}.parquet"
    pq.write_table(table(stream, rows), path)
    # Spark takes it for a new version of the file.
    os.utime(path, (1_500_000_000, 1_500_000_000))
    bids = [*case.data["bid"][:first], *rows, *case.data["bid"][first + ROWS_PER_FILE :]]
    return replace(started.made, case=replace(case, data={**case.data, "bid": bids}))
