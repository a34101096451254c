"""Streams that stand in for sources that are not there: a job is judged where Kafka and files cannot be reached.

A verdict depends on the columns of a source, not on its rows, so that an empty folder with the same columns does.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from penstock.engines.scratch import scratch_folder
from penstock.engines.spark.lint.guard import Guard

#: The columns of sources that have always the same.
_COLUMNS = {
    "kafka": (
        "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, timestampType int"
    ),
    "kinesis": (
        "partitionKey string, data binary, stream string, shardId string, sequenceNumber string, "
        "approximateArrivalTimestamp timestamp"
    ),
    "eventhubs": (
        "body binary, partition string, offset string, sequenceNumber long, enqueuedTime timestamp, publisher string, "
        "partitionKey string, properties map<string, string>, systemProperties map<string, string>"
    ),
    "text": "value string",
}
_HEADERS = ", headers array<struct<key: string, value: binary>>"
_READING = ("load", "json", "parquet", "orc", "csv", "text")


def standing_in(guard: Guard) -> None:
    """Makes readers of streams give a stand-in where Spark cannot reach a source whose columns are known."""
    for name in ("schema", "format", "option", "options"):
        guard.replace(DataStreamReader, name, _noting(name, getattr(DataStreamReader, name)))
    for name in _READING:
        guard.replace(DataStreamReader, name, _or_stand_in(name, getattr(DataStreamReader, name)))


def _noting(name: str, method: Any) -> Any:
    def note(reader: Any, *args: Any, **options: Any) -> Any:
        known = reader.__dict__.setdefault("_noted", {})
        if name in ("schema", "format") and args:
            known[name] = args[0]
        elif name == "option" and len(args) == 2:
            known[str(args[0]).lower()] = args[1]
        known.update({key.lower(): value for key, value in options.items()})
        return method(reader, *args, **options)

    return note


def _or_stand_in(name: str, method: Any) -> Any:
    def read(reader: Any, *args: Any, **options: Any) -> DataFrame:
        try:
            found: DataFrame = method(reader, *args, **options)
        except (PySparkException, Py4JJavaError):
            noted = {**reader.__dict__.get("_noted", {}), **{k: v for k, v in options.items() if v is not None}}
            columns = _columns(name, noted)
            if columns is None:
                raise
            spark = SparkSession.active()
            return spark.readStream.schema(columns).format("json").load(str(scratch_folder()))
        return found

    return read


def _columns(method: str, noted: dict[str, Any]) -> Any:
    """Returns the schema of what a reader was about to read, if it is known."""
    if noted.get("schema") is not None:
        return noted["schema"]
    kind = str(noted.get("format", method)).lower()
    columns = _COLUMNS.get("text" if method == "text" else kind)
    has_headers = kind == "kafka" and str(noted.get("includeheaders", "")).lower() == "true"
    return columns + _HEADERS if columns is not None and has_headers else columns
