"""Rows that were spilled on Spark come back: after a restart, and whatever worker dies."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.query import build
from penstock.errors import PenstockError
from penstock.plan.forgetting import Forgetting
from tests.engines.comparing import bound, expected
from tests.engines.spark.killing import MOMENTS, Reaper, set_out
from tests.engines.spark.running import begin, frames, results, write_files
from tests.generators import Case

SPILL = Forgetting(spill=True)

DDL = """
CREATE STREAM item (id STRING, name STRING, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM bid (auction STRING, price BIGINT, ts BIGINT,
    FOREIGN KEY (auction) REFERENCES item (id) WITHIN 0 ROWS) TIMESTAMP BY ts;
"""
QUERY = "SELECT i.name, b.price FROM item i, bid b WHERE i.id = b.auction ALLOW UNBOUNDED"
ITEMS = 12
#: Bids come in the order of their items, which come ten instants late, and some never.
DATA = {
    "item": [(f"item {i}", f"name {i}", 10 * i + 110) for i in range(ITEMS) if i % 4],
    "bid": [(f"item {i}", price, 10 * i + price) for i in range(ITEMS) for price in (1, 2)],
}
CASE = Case(DDL, QUERY, DATA, None, "")


def test_rows_are_brought_back_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    query, catalog = bound(CASE)
    write_files(CASE, catalog, tmp_path / "in", rows_per_file=6, only=2)
    running = begin(spark, CASE, query, catalog, tmp_path, cells=2, until_done=False, forgetting=SPILL)
    assert running._query is not None
    running._query.processAllAvailable()
    running.stop()
    write_files(CASE, catalog, tmp_path / "in", rows_per_file=6)
    with pytest.raises(PenstockError, match="changed since the checkpoint was written"):
        begin(spark, CASE, query, catalog, tmp_path, cells=2)
    again = begin(spark, CASE, query, catalog, tmp_path, cells=2, forgetting=SPILL)
    again.await_done()
    assert results(spark, tmp_path, query) == expected(CASE, query, catalog)
    progress = again.progress()
    assert progress is not None
    assert progress.on_disk.rows == 2 * ITEMS // 4
    assert progress.on_disk.brought_back >= ITEMS
    assert all(each.false_negatives == 0 for each in progress.constraints)
    kept = [line["on_disk"]["rows"] for line in again.metrics() if line["step"] == progress.batch]
    assert sum(kept) == progress.on_disk.rows
    assert list((tmp_path / "checkpoint" / "spill").glob("*/*.arrow"))


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 2, 4])
def test_a_worker_dies_in_each_micro_batch(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    reaper = Reaper(str(tmp_path), {batch: MOMENTS[1 + (first + batch) % 5] for batch in range(7)})
    set_out(reaper, monkeypatch)
    query, catalog = bound(CASE)
    write_files(CASE, catalog, tmp_path / "in", rows_per_file=4)
    begin(spark, CASE, query, catalog, tmp_path, cells=2, forgetting=SPILL).await_done()
    assert results(spark, tmp_path, query) == expected(CASE, query, catalog)
    assert len(reaper.killed()) >= 4


def test_where_workers_cannot_write_it_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    query, catalog = bound(CASE)
    write_files(CASE, catalog, tmp_path / "in")
    with pytest.raises(PenstockError, match="which a DataFrame does not know"):
        build(query, catalog, frames(spark, catalog, tmp_path / "in"), forgetting=SPILL)
