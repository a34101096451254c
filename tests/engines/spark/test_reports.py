"""What Spark says becomes an error that a user can act on; what Spark would misread is refused before it counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from penstock.catalog import StreamDef
from penstock.engines.spark.declared import declared_stream
from penstock.engines.spark.inspection import inspect
from penstock.engines.spark.output import _CsvFields, _JsonLines
from penstock.engines.spark.query import RunningQuery
from penstock.engines.spark.reports import SlowStart, SparkDied, error_of, explained
from penstock.errors import PenstockError
from penstock.sql import bind_text
from penstock.types import BIGINT, BINARY, STRING, TIMESTAMP

READ = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file {}.  SQLSTATE: KD001"


def stream(using: str) -> StreamDef:
    text = f"CREATE STREAM s (a BIGINT, b STRING, ts BIGINT) TIMESTAMP BY ts USING {using}"
    return bind_text(text).checked().catalog.streams[0]


def test_an_error_of_ours_comes_out_of_spark_as_it_was_raised() -> None:
    error = error_of(
        ["[STREAM_FAILED] ...", "Traceback ...\npenstock.errors.PenstockError: it is so\nhint: do this\n\tat x"]
    )
    assert (error.message, error.hint) == ("it is so", "do this")


def test_an_error_of_python_is_told_without_its_trace() -> None:
    error = error_of(
        ["[STREAM_FAILED] it ended", "Job aborted\nTraceback (most recent call last):\n  ...\nValueError: five\n"]
    )
    assert error.message == "Spark stopped the query: ValueError: five"


def test_a_state_store_that_fails_has_a_hint_at_the_disk() -> None:
    """A worker does not get to know why: its connection ends."""
    trace = 'Traceback (most recent call last):\n  File "stateful_processor_api_client.py", line 462\nEOFError\n'
    error = error_of(["[STREAM_FAILED] it ended", f"An exception was thrown from the Python worker: {trace}"])
    assert error.message.startswith("Spark's state store failed")
    assert "space left on the disk of the checkpoint" in str(error)


def test_a_query_that_could_not_start_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    said = ["[STREAM_FAILED] ...", "Timed out while waiting for the Python worker to connect back"]
    running = RunningQuery.__new__(RunningQuery)
    begun: list[int] = []
    monkeypatch.setattr(running, "begin", lambda: begun.append(len(begun)))

    def wait(starts: int) -> Callable[[Callable[[], None]], None]:
        def waited(meanwhile: Callable[[], None]) -> None:
            if len(begun) < starts:
                raise error_of(said)

        return waited

    running._patiently(wait(2), lambda: None)
    assert len(begun) == 2
    with pytest.raises(SlowStart, match="waited ten seconds"):
        running._patiently(wait(100), lambda: None)


STREAM_FAILED = "[STREAM_FAILED] Query [id = 6, runId = 7] terminated with exception: it ended SQLSTATE: XXKST"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            [
                "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE] An error occurred during loading state.",
                "File file:/c/state/0/0/1.changelog does not exist",
            ],
            "File file:/c/state/0/0/1.changelog does not exist",
        ),
        (
            ["[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state.", "NullPointerException"],
            "An error occurred during loading state.",
        ),
        (
            [STREAM_FAILED, "Unexpected end-of-input in field name\n at [Source: ...]"],
            "Unexpected end-of-input in field",
        ),
        ([STREAM_FAILED, "batch 0 doesn't exist"], "batch 0 doesn't exist"),
        ([STREAM_FAILED, "Input length = 1"], "Input length = 1"),
    ],
)
def test_a_damaged_checkpoint_is_called_so(said: list[str], reason: str) -> None:
    error = error_of(said)
    assert error.message.startswith("the checkpoint cannot be read, a file in it is damaged or missing: ")
    assert reason in error.message
    assert error.hint is not None
    assert "restore the checkpoint folder" in error.hint


def test_two_runs_on_one_checkpoint_are_told_apart_from_other_failures() -> None:
    said = "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 3."
    assert error_of([STREAM_FAILED, said]).message.startswith("another run goes on from the same checkpoint")


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "refused"), Py4JNetworkError("Answer is empty")])
def test_a_dead_java_process_is_called_so(error: Exception) -> None:
    with pytest.raises(SparkDied, match="Java process has ended") as raised, explained(()):
        raise error
    assert "start the query again with the same checkpoint" in str(raised.value.hint)


@pytest.mark.parametrize(
    "said", ["Cannot call methods on a stopped SparkContext.", "Job 3 cancelled because SparkContext was shut down"]
)
def test_a_query_that_ends_with_its_process_is_called_so(said: str) -> None:
    assert isinstance(error_of([STREAM_FAILED, said]), SparkDied)


def test_a_call_that_java_answers_is_not_called_a_death() -> None:
    with pytest.raises(Py4JError), explained(()):
        raise Py4JError("An error occurred while calling o1.foo. Trace:\npy4j.Py4JException: Method foo does not exist")


@pytest.mark.parametrize(
    ("format_", "content", "message"),
    [
        ("csv", "1,x,2\nmany,y,3\n", r":2: 'many' in column a is not a BIGINT"),
        ("csv", "1,x,2\n1,y\n", r":2: 2 fields instead of 3"),
        ("json", '{"a": 1, "ts": 2}\n{"a": 1, "t', r":2: this is not JSON"),
        ("parquet", "PAR1", r"it cannot be read as parquet"),
    ],
)
def test_a_file_that_spark_could_not_read_is_told_with_its_line(
    tmp_path: Path, format_: str, content: str, message: str
) -> None:
    file = tmp_path / "a b"
    file.write_text(content)
    definition = stream(f"{format_} OPTIONS (path '{tmp_path}')")
    with pytest.raises(PenstockError, match=message) as raised:
        raise error_of([READ.format(file.as_uri()), "java.lang.Whatever"], [definition])
    assert "a b" in raised.value.message


def test_what_only_spark_cannot_read_has_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("b,a,ts\nx,1,2\n")
    definition = stream(f"csv OPTIONS (path '{tmp_path}', header 'true')")
    error = error_of(
        [READ.format(file.as_uri()), "CSV header does not conform to the schema.\n Header: b, a"], [definition]
    )
    assert error.message == f"{file.as_uri()}: CSV header does not conform to the schema."
    assert error.hint == "on Spark a csv file has the declared columns, all of them, in their order"


def test_a_csv_file_that_ends_inside_quotes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('1,2,"x\n3,4,y\n')
    with pytest.raises(PenstockError, match=r"a\.csv:1: the file ends inside a quoted field"):
        inspect(file.as_uri(), stream("csv OPTIONS (path 'in')"))
    inspect(file.as_uri(), stream("csv OPTIONS (path 'in', multiLine 'false')"))
    inspect("s3a://in/a.csv", stream("csv OPTIONS (path 's3a://in')"))


def test_a_parquet_file_without_a_declared_column_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1], "ts": [2]}), file)
    with pytest.raises(PenstockError, match=r"a\.parquet: has no column b"):
        inspect(file.as_uri(), stream("parquet OPTIONS (path 'in')"))
    pq.write_table(pa.table({"A": [1], "ts": [2], "b": ["x"], "more": [0]}), file)
    inspect(file.as_uri(), stream("parquet OPTIONS (path 'in')"))


def test_text_has_all_of_a_value() -> None:
    columns = [("_ts", BIGINT), ("s", STRING), ("t", TIMESTAMP)]
    times = pa.array([1_500_001, None], pa.timestamp("us", "America/New_York"))
    rows = pa.record_batch([pa.array([1, 2]), pa.array([" a ", None]), times], names=["_ts", "s", "t"])
    (csv,) = _CsvFields(columns, "UTC")([rows])
    assert csv.to_pydict() == {
        "_ts": ["1", "2"],
        "s": [" a ", None],
        "t": ["1970-01-01 00:00:01.500001", None],
    }
    (lines,) = _JsonLines(columns, "UTC")([rows])
    assert lines.column(0).to_pylist() == [
        '{"_ts": 1, "s": " a ", "t": "1970-01-01 00:00:01.500001"}',
        '{"_ts": 2, "s": null, "t": null}',
    ]


def test_csv_has_no_bytes_that_are_no_text() -> None:
    rows = pa.record_batch([pa.array([b"\xff"])], names=["b"])
    with pytest.raises(PenstockError, match="a value of b is not UTF-8, and csv is text"):
        list(_CsvFields([("b", BINARY)], "UTC")([rows]))


class _Reader:
    """Stands for Spark, and notes how a stream is read."""

    def __init__(self) -> None:
        self.called: dict[str, Any] = {}

    @property
    def readStream(self) -> _Reader:
        return self

    def format(self, name: str) -> _Reader:
        self.called["format"] = name
        return self

    def options(self, **options: str) -> _Reader:
        self.called["options"] = options
        return self

    def schema(self, schema: object) -> _Reader:
        self.called["schema"] = schema
        return self

    def load(self) -> Any:
        return None


def test_a_topic_is_read_with_its_options_and_its_own_columns() -> None:
    text = """CREATE STREAM s (key BINARY, value BINARY, timestamp TIMESTAMP) TIMESTAMP BY timestamp DELAY 1 MINUTE
    USING kafka OPTIONS (kafka.bootstrap.servers 'broker:9092', subscribe 'bids', startingOffsets 'earliest')"""
    spark = _Reader()
    declared_stream(spark, bind_text(text).checked().catalog.streams[0])  # type: ignore[arg-type]
    options = {"kafka.bootstrap.servers": "broker:9092", "subscribe": "bids", "startingOffsets": "earliest"}
    assert spark.called == {"format": "kafka", "options": options}
