"""Penstock from Python on Spark: DataFrames, handles, outputs, sources, and what is refused."""

from __future__ import annotations

import csv
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

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
    assert progress.streams["s"] == type(progress.streams["s"])(rows=6, late_rows=1, bad_rows=1, newest=6, first=3)
    lines = query.metrics()
    assert lines == running.metrics()
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
    (tmp_path / "old.parquet" / "_spark_metadata" / "0").touch()
    refused("it holds the results of another run", "old.parquet", "new")
    (tmp_path / "foreign" / "offsets").mkdir(parents=True)
    (tmp_path / "foreign" / "offsets" / "0").touch()
    refused("the checkpoint of a Spark query that Penstock did not start", "new.parquet", "foreign")
    (tmp_path / "foreign" / "penstock").mkdir()
    (tmp_path / "foreign" / "penstock" / "fingerprint").write_text("another")
    refused("the query, its streams, functions, horizon or number of cells changed", "old.parquet", "foreign")
    refused("cannot tell the format", "new.text", "new")


def test_folders_that_cannot_be_written_are_named(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path)
    query = session(spark, tmp_path).query("SELECT a FROM s")
    (tmp_path / "file").touch()
    for out, checkpoint in (("file/x.parquet", "new"), ("x.parquet", "file"), ("x.parquet", "file/deep")):
        with pytest.raises(PenstockError) as raised:
            query.start(str(tmp_path / out), checkpoint=str(tmp_path / checkpoint), until_done=True)
        named = out if out.startswith("file") else checkpoint
        assert raised.value.message.startswith(f"{tmp_path / named}: ")
        assert raised.value.hint == "choose a folder that can be written"


def test_what_a_session_lacks_is_said(spark: SparkSession) -> None:
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
        ("csv", "1,x,,2\nmany,y,,3\n", r"a:2: 'many' in column a is not a BIGINT"),
        ("csv", '1,x,,2\n1,"y,,3\n', r"a:2: the file ends inside a quoted field"),
        ("csv", "1,x,,2\n1,y", r"a:2: 2 fields instead of 4"),
        ("json", '{"a": 1, "ts": 2}\n{"a": "many", "ts": 2}\n', r'a:2: "many" in a is not a BIGINT'),
        ("json", '{"a": 1, "ts": 2}\n{"a": 1, "t', r"a:2: this is not JSON"),
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


@pytest.mark.slow
def test_text_results_are_those_of_the_embedded_engine(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path, ROWS)
    query = session(spark, tmp_path).query("SELECT ISTREAM(a, b, t) FROM s")
    finished(query, tmp_path, "out.csv", cells=1)
    finished(query, tmp_path, "out.json", cells=1)
    times = dict(zip((1_500_001, 2_000_000, -1, None), _TIMES, strict=True))
    expected = [[str(ts), op, str(a), "\\N" if b is None else b, times[t] or "\\N"] for ts, op, a, b, t in ON_TIME]
    rows: list[list[str]] = []
    for file in (tmp_path / "out.csv").glob("*.csv"):
        with file.open(newline="") as content:
            header, *more = csv.reader(content)
        assert header == ["_ts", "_op", "a", "b", "t"]
        rows += more
    assert sorted(rows) == expected
    lines = [line for file in (tmp_path / "out.json").glob("*.txt") for line in file.read_text().splitlines()]
    objects = [{"_ts": ts, "_op": op, "a": a, "b": b, "t": times[t]} for ts, op, a, b, t in ON_TIME]
    assert sorted((json.loads(line) for line in lines), key=lambda row: int(row["_ts"])) == objects


_TIMES = ("1970-01-01 00:00:01.500001", "1970-01-01 00:00:02", "1969-12-31 23:59:59.999999", None)


@pytest.mark.slow
def test_two_queries_run_in_one_application_and_a_table_is_any_batch_source(
    spark: SparkSession, tmp_path: Path
) -> None:
    written(tmp_path)
    spark.createDataFrame([(1, "one"), (3, "three")], "id BIGINT, name STRING").write.orc(str(tmp_path / "names"))
    made = session(spark, tmp_path)
    made.sql(f"CREATE TABLE names (id BIGINT, name STRING) USING orc OPTIONS (path '{tmp_path}/names')")
    queries = made.sql("""
        CREATE QUERY named AS SELECT ISTREAM(a, name) FROM s [NOW], names WHERE id = a;
        CREATE QUERY counted AS SELECT COUNT(*) AS n FROM s;
    """)
    started = [
        query.start(str(tmp_path / f"{query.name}.parquet"), checkpoint=str(tmp_path / query.name), until_done=True)
        for query in queries
    ]
    for running in started:
        running.await_done()
    for query in queries:
        found = spark.read.parquet(str(tmp_path / f"{query.name}.parquet"))
        rows = sorted(tuple(row) for row in found.collect())
        assert rows == sorted(tuple(row.values()) for row in _embedded(tmp_path, query.name))


def _embedded(folder: Path, name: str) -> list[dict[str, Any]]:
    made = Session()
    made.sql(DDL.format(folder=folder))
    made.table("names", pa.table({"id": [1, 3], "name": ["one", "three"]}))
    texts = {
        "named": "SELECT ISTREAM(a, name) FROM s [NOW], names WHERE id = a",
        "counted": "SELECT COUNT(*) AS n FROM s",
    }
    rows: list[dict[str, Any]] = made.query(texts[name]).to_arrow().to_pylist()
    return rows


@pytest.mark.slow
def test_a_dataframe_goes_on_in_plain_spark(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path)
    made = Session(spark)
    frame = spark.readStream.schema("a BIGINT, b STRING, t TIMESTAMP, ts BIGINT").parquet(str(tmp_path / "in"))
    made.stream("s", frame, timestamp="ts", delay=1)
    result = made.query("SELECT ISTREAM(a) FROM s").dataframe(cells=1)
    assert result.columns == ["_ts", "_op", "a"]
    doubled = result.select((F.col("a") * 2).alias("twice"))
    started = doubled.writeStream.format("memory").queryName("twice").trigger(availableNow=True).start()
    started.awaitTermination()
    # Only what is closed: nobody has said that time is over.
    assert sorted(row.twice for row in spark.sql("SELECT * FROM twice").collect()) == [2, 4]


@pytest.mark.slow
def test_the_rate_source_is_a_stream_of_several_partitions(spark: SparkSession, tmp_path: Path) -> None:
    made = Session(spark)
    made.sql("""CREATE STREAM r (timestamp TIMESTAMP, value BIGINT) TIMESTAMP BY timestamp
        USING `rate-micro-batch` OPTIONS (rowsPerBatch '10', numPartitions '2', startTimestamp '1000')""")
    running = made.query("SELECT ISTREAM(value) FROM r").start(
        str(tmp_path / "out.parquet"), checkpoint=str(tmp_path / "checkpoint"), cells=1
    )
    while (progress := running.progress()) is None or progress.batch < 2:
        assert running.is_running
        time.sleep(0.1)
    running.stop()
    assert progress.streams["r"].late_rows == 0
    values = [row.value for row in spark.read.parquet(str(tmp_path / "out.parquet")).collect()]
    assert sorted(values) == list(range(len(values)))


@pytest.fixture
def lines() -> Iterator[int]:
    """A port on which a few lines can be read."""
    with socket.create_server(("localhost", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"one\ntwo\nthree\n")
                over.wait()

        over = threading.Event()
        serving = threading.Thread(target=serve)
        serving.start()
        yield server.getsockname()[1]
        over.set()
        serving.join()


@pytest.mark.slow
def test_a_socket_is_a_stream(spark: SparkSession, tmp_path: Path, lines: int) -> None:
    made = Session(spark)
    made.sql(f"""CREATE STREAM l (value STRING, timestamp TIMESTAMP) TIMESTAMP BY timestamp DELAY 1 SECOND
        USING socket OPTIONS (host 'localhost', port '{lines}', includeTimestamp 'true')""")
    running = made.query("SELECT value FROM l").start(
        str(tmp_path / "out.parquet"), checkpoint=str(tmp_path / "checkpoint"), cells=1
    )
    while (progress := running.progress()) is None or progress.streams["l"].rows < 3:
        assert running.is_running
        time.sleep(0.1)
    running.stop()
    assert progress.streams["l"].late_rows == progress.streams["l"].bad_rows == 0
