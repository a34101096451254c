"""Queries on Spark are watched and adjusted: the driver reads what cells report, and settings reach the cells."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import penstock

ROWS = 3_000
SQL = """
CREATE STREAM s (a BIGINT, ts BIGINT, UNIQUE (a)) TIMESTAMP BY ts MICROSECONDS
USING parquet OPTIONS (path '{0}/s', maxFilesPerTrigger '1');
CREATE STREAM r (a BIGINT, ts BIGINT, FOREIGN KEY (a) REFERENCES s (a) WITHIN 0 SECONDS,
  PUNCTUATED BY (a)) TIMESTAMP BY ts MICROSECONDS
USING parquet OPTIONS (path '{0}/r', maxFilesPerTrigger '1');
CREATE QUERY q AS SELECT ISTREAM(s.a, r.ts) FROM s [RANGE 100 MICROSECONDS], r [RANGE 100 MICROSECONDS]
WHERE s.a = r.a;
CREATE QUERY watch AS SELECT kind, property, SUM(value) AS total FROM sysstream [RANGE 1 HOUR] GROUP BY kind, property;
"""


def test_a_query_on_spark_is_watched_and_adjusted(spark: SparkSession, tmp_path: Path) -> None:
    for name in "sr":
        (tmp_path / name).mkdir()
        for part in range(4):
            times = range(part * ROWS // 4, (part + 1) * ROWS // 4)
            path = tmp_path / name / f"{part}.parquet"
            pq.write_table(pa.table({"a": pa.array(times, pa.int64()), "ts": pa.array(times, pa.int64())}), path)
            os.utime(path, (1_000_000_000 + part, 1_000_000_000 + part))
    session = penstock.Session(spark)
    query, watch = session.sql(SQL.format(tmp_path))
    out = str(tmp_path / "out.parquet")
    running = query.start(out, checkpoint=str(tmp_path / "c"), until_done=True, cells=2)
    for name, value in (("purge_every", "500"), ("adaptive", "off"), ("purge_every", "eager")):
        query.set(name, value)
    running.await_done()
    found = spark.read.parquet(out).toArrow()
    assert sorted(found.column("a").to_pylist()) == list(range(ROWS))
    told = [change for line in query.metrics() for change in line["changes"]]
    assert [(change["name"], change["before"], change["after"]) for change in told] == [
        ("purge_every", "eager", "500"),
        ("adaptive", "full", "off"),
        ("purge_every", "500", "eager"),
    ]
    totals: Counter[tuple[str, str]] = Counter()
    for row in watch.to_arrow().to_pylist():
        if row["total"] is not None:
            totals[row["kind"], row["property"]] += row["total"] if row["_op"] == "+" else -row["total"]
    assert totals["source", "rows_in"] == totals["query", "rows_in"] == 2 * ROWS
    assert totals["cell", "rows_in"] > 0
    assert ("setting", "value") in totals
