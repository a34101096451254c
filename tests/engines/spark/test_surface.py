"""Penstock from Python on Spark: DataFrames, handles, outputs, sources, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.errors import PenstockError

Session = penstock.Session

DDL = """
CREATE STREAM s (a BIGINT, b STRING, t TIMESTAMP, ts BIGINT) TIMESTAMP BY ts DELAY 1 MICROSECOND
USING parquet OPTIONS (path '{folder}/in', maxFilesPerTrigger '1');
"""
#: One row comes too late, one has no timestamp.
ROWS = [
    (1, ' x "y", \\z ', 1_500_001, 3),
    (2, None, None, 4),
    (3, "two\nlines", 2_000_000, 5),
    (4, "late", 0, 1),
    (5, "never", 0, None),
    (6, "é", -1, 6),
]
ON_TIME = [(ts, "+", a, b, t) for a, b, t, ts in ROWS if ts not in (1, None)]


def written(folder: Path, *parts: list[tuple[Any, ...]]) -> None:
    (folder / "in").mkdir(exist_ok=True)
    types = [pa.int64(), pa.string(), pa.timestamp("us", "UTC"), pa.int64()]
    for number, rows in enumerate(parts or [ROWS[:3], ROWS[3:]]):
        columns = [pa.array(column, type_) for column, type_ in zip(zip(*rows, strict=True), types, strict=True)]
        path = folder / "in" / f"part-{number}.parquet"
        pq.write_table(pa.table(columns, names=["a", "b", "t", "ts"]), path)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def session(spark: SparkSession, folder: Path) -> penstock.Session:
    made = Session(spark)
    made.sql(DDL.format(folder=folder))
    return made


def finished(query: penstock.Query, folder: Path, name: str = "out.parquet", **options: Any) -> Any:
    running = query.start(str(folder / name), checkpoint=str(folder / f"{name}.checkpoint"), until_done=True, **options)
    running.await_done()
    return running


def test_a_handle_tells_of_every_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path)
    query = session(spark, tmp_path).query("SELECT ISTREAM(a, b, t) FROM s [ROWS 2]")
    running = finished(query, tmp_path, cells=1)
    found = spark.read.parquet(str(tmp_path / "out.parquet")).toArrow()
    times = found.column("t").cast(pa.int64()).to_pylist()
    rows = zip(*(found.column(name).to_pylist() for name in ("_ts", "_op", "a", "b")), times, strict=True)
    assert sorted(rows) == ON_TIME

    assert not running.is_running
    progress = running.progress()
    assert (progress.batch, progress.watermark) == (2, 7)
    assert progress.streams["s"] == type(progress.streams["s"])(rows=6, late_rows=1, bad_rows=1, newest=6)
    lines = query.metrics()
    assert {line["step"] for line in lines} == {0, 1, 2}
    sources = [line for line in lines if line["operator"] == "source"]
    assert [(s["rows_in"], s["rows_out"], s["late_rows"], s["bad_rows"]) for s in sources] == [
        (3, 3, 0, 0),
        (3, 1, 1, 1),
        (0, 0, 0, 0),
    ]
    assert {line["cell"] for line in lines if line["operator"] != "source"} == {0}


def test_a_checkpoint_belongs_to_one_query_and_one_output(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing here needs a micro-batch: folders are as runs leave them."""
    written(tmp_path)
    query = session(spark, tmp_path).query("SELECT a FROM s")

    def refused(message: str, out: str, checkpoint: str) -> None:
        with pytest.raises(PenstockError, match=message):
            query.start(str(tmp_path / out), checkpoint=str(tmp_path / checkpoint), until_done=True)

    (tmp_path / "old.parquet" / "_spark_metadata").mkdir(parents=True)
    refused("it holds the results of another run", "old.parquet", "new")
    (tmp_path / "foreign" / "offsets").mkdir(parents=True)
    (tmp_path / "foreign" / "offsets" / "0").touch()
    refused("the checkpoint of a Spark query that Penstock did not start", "new.parquet", "foreign")
    (tmp_path / "foreign" / "penstock").mkdir()
    (tmp_path / "foreign" / "penstock" / "fingerprint").write_text("another")
    refused("the query, its streams, the horizon or the number of cells changed", "old.parquet", "foreign")
    refused("cannot tell the format", "new.text", "new")


def test_what_a_session_lacks_is_said(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path)
    other = spark.newSession()
    other.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "false")
    query = session(other, tmp_path).query("SELECT a FROM s")
    with pytest.raises(PenstockError, match="a micro-batch must write only what changed"):
        query.dataframe()
    made = Session(spark)
    made.sql("CREATE STREAM k (value BINARY, timestamp TIMESTAMP) TIMESTAMP BY timestamp USING kafka")
    with pytest.raises(PenstockError, match=r"k cannot be read: Failed to find data source: kafka") as raised:
        made.query("SELECT value FROM k").dataframe()
    assert "spark-sql-kafka" in str(raised.value.hint)
    made.sql("CREATE STREAM n (ts BIGINT) TIMESTAMP BY ts USING nothing")
    with pytest.raises(PenstockError, match="n cannot be read: Failed to find the data source: nothing"):
        made.query("SELECT ts FROM n").dataframe()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("using", "content", "message"),
    [
        ("csv", "1,x,,2\nmany,y,,3\n", r"a:2: 'many' in column a is no BIGINT"),
        ("csv", '1,x,,2\n1,"y,,3\n', r"a:2: the file ends inside a quoted field"),
        ("csv", "1,x,,2\n1,y", r"a:2: 2 fields instead of 4"),
        ("json", '{"a": 1, "ts": 2}\n{"a": "many", "ts": 2}\n', r'a:2: "many" in a is no BIGINT'),
        ("json", '{"a": 1, "ts": 2}\n{"a": 1, "t', r"a:2: this is no JSON"),
        ("parquet", {"a": [1], "ts": [2], "b": ["x"]}, r"a: has no column t"),
        ("parquet", {"a": ["1"], "ts": [2], "b": ["x"], "t": [None]}, r"a: column a holds string, not BIGINT"),
        ("parquet", "PAR1 and no more", r"a: it cannot be read as parquet"),
    ],
)
def test_a_bad_file_is_told_without_a_trace(
    spark: SparkSession, tmp_path: Path, using: str, content: Any, message: str
) -> None:
    (tmp_path / "in").mkdir()
    if isinstance(content, str):
        (tmp_path / "in" / "a").write_text(content)
    else:
        pq.write_table(pa.table(content), tmp_path / "in" / "a")
    made = Session(spark)
    made.sql(DDL.format(folder=tmp_path).replace("parquet", using))
    with pytest.raises(PenstockError, match=message) as raised:
        finished(made.query("SELECT a, b, t FROM s"), tmp_path, cells=1)
    assert "\tat " not in str(raised.value)
