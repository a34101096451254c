"""Filters that order themselves on Spark: the same answers, and decisions that reach the driver."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.plan.adaptivity import Adaptive

ROWS = 6_000
QUERY = "SELECT ISTREAM(name) FROM s [NOW] WHERE name LIKE '%y' AND name LIKE 'b%' AND LENGTH(name) > 3"


@pytest.mark.parametrize("adaptive", [Adaptive(), Adaptive(strategy="random"), Adaptive(mode="off")])
def test_answers_do_not_depend_on_adaptivity_and_orders_are_reported(
    spark: SparkSession, tmp_path: Path, adaptive: Adaptive
) -> None:
    names = [f"{'b' if n % 10 == 1 else 'a'}{n}{'y' if n % 2 else 'z'}" for n in range(ROWS)]
    (tmp_path / "in").mkdir()
    for part in range(3):
        times = range(part * ROWS // 3, (part + 1) * ROWS // 3)
        table = pa.table({"name": [names[n] for n in times], "ts": pa.array(times, pa.int64())})
        path = tmp_path / "in" / f"{part}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_000_000_000 + part, 1_000_000_000 + part))
    session = penstock.Session(spark)
    session.sql(f"""
        CREATE STREAM s (name STRING, ts BIGINT) TIMESTAMP BY ts MICROSECONDS
        USING parquet OPTIONS (path '{tmp_path}/in', maxFilesPerTrigger '1');
    """)
    query = session.query(QUERY)
    out = str(tmp_path / "out.parquet")
    running = query.start(out, checkpoint=str(tmp_path / "c"), until_done=True, cells=2, adaptive=adaptive)
    running.await_done()
    found = spark.read.parquet(out).toArrow().column("name").to_pylist()
    expected = [name for name in names if name.endswith("y") and name.startswith("b") and len(name) > 3]
    assert sorted(found) == sorted(expected)
    ordered = [line for line in query.metrics() if line["filter_order"]]
    assert bool(ordered) == (adaptive.mode != "off")
    if adaptive.strategy == "auto" and ordered:
        assert all(decision.place.startswith("s ") for decision in query.decisions())
