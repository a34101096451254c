"""What queries on Spark change in tables, and what users see of those that they start themselves."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock
from penstock.errors import PenstockError
from tests.engines.spark.test_surface import session, written

SCHEMA = "_ts BIGINT, _op STRING, auction BIGINT, top BIGINT"


def test_changes_of_a_micro_batch_are_one_per_key(spark: SparkSession) -> None:
    changes = [(1, "+", 1, 10), (4, "-", 1, 10), (4, "+", 1, 30), (5, "-", 2, 25), (6, "+", 3, 7), (7, "-", 3, 7)]
    frame = spark.createDataFrame([*changes, (8, "+", None, None)], SCHEMA)
    found = {tuple(row) for row in penstock.latest_changes(frame, "auction").collect()}
    assert found == {("+", 1, 30), ("-", 2, 25), ("+", None, None)}


def test_what_cannot_change_a_table_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], SCHEMA)
    with pytest.raises(PenstockError, match="there is no column action") as refused:
        penstock.latest_changes(frame, ["action"])
    assert refused.value.hint == "did you mean auction?"
    with pytest.raises(PenstockError, match="without a key"):
        penstock.latest_changes(frame, [])
    with pytest.raises(PenstockError, match="_ts and _op are missing"):
        penstock.latest_changes(frame.drop("_op"), "auction")


def test_a_table_follows_a_query_whose_metrics_are_seen_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    """A table in SQLite has what the relation has after every micro-batch, also if one is applied twice."""
    written(tmp_path)
    query = session(spark, tmp_path).query("SELECT a, b FROM s [ROWS 1]")
    table = sqlite3.connect(tmp_path / "table.db", check_same_thread=False)
    table.execute("CREATE TABLE last (a INTEGER PRIMARY KEY, b TEXT)")

    def apply(batch: DataFrame, _: int) -> None:
        rows = penstock.latest_changes(batch, "a").collect()
        for _ in range(2):
            table.executemany("DELETE FROM last WHERE a = ?", [(row.a,) for row in rows])
            table.executemany("INSERT INTO last VALUES (?, ?)", [(row.a, row.b) for row in rows if row._op == "+"])
        table.commit()

    running = query.dataframe(cells=1).writeStream.foreachBatch(apply)
    started = running.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    started.processAllAvailable()
    own: Any = started.lastProgress
    started.stop()
    assert table.execute("SELECT a, b FROM last ORDER BY a").fetchall() == [(2, None)]

    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    sources = [line for line in query.metrics() if line["operator"] == "source"]
    assert [(line["rows_in"], line["late_rows"], line["bad_rows"]) for line in sources][:2] == [(3, 0, 0), (3, 1, 1)]
    seen = own["observedMetrics"]["penstock query"]
    assert (seen["late_rows"], seen["bad_rows"], seen["violations"]) == (1, 1, 0)
    assert seen["state_rows"] >= 1
