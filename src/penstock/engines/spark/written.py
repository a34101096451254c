"""Results that cells write themselves: a Parquet file per cell and micro-batch, and the log of the files that count.

Rows that leave Python for Spark to write them cost more than it did to find them. So a cell writes its results where
it is, and hands on the name of the file. Each attempt writes a draft of its own, in a hidden folder. When all cells are
done, the driver gives the drafts of the attempts that count their final names, and then adds the files to the log that
Spark's own file sink keeps, `_spark_metadata`, under the number of the micro-batch. A driver may die anywhere on the
way; then the micro-batch runs again:

    drafts written      the new attempts write new drafts; the old ones are removed
    some files named    new drafts take the names of the old files, and what is left of those goes
    the log has them    the files stay, and the new drafts are removed

So a reader of the folder sees each result exactly once, with Spark's log or without it, and what an attempt left that
does not count is never taken for the result of another one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from penstock.algebra.relations import Schema
from penstock.engines.spark.callbacks import Callbacks
from penstock.engines.spark.paths import local_folder
from penstock.engines.spark.reports import Definitions, explained
from penstock.errors import PenstockError
from penstock.types import Kind

#: The folder of drafts in that of the results. Readers pass over names that start with a dot.
_DRAFTS = ".drafts"

#: The version of the log's format.
_LOG_VERSION = 1

#: What the log says of a file besides its name and size: Spark's readers cut large files by it.
_BLOCK_BYTES = 128 << 20


def folder_of_cells(spark: SparkSession, out: str, schema: Schema) -> str | None:
    """Returns the folder that cells can write results to; None if it is not local, or its files are not Parquet.

    Spark itself decides what to write for columns of type VOID.
    """
    if not out.rstrip("/").lower().endswith(".parquet") or any(column.type.kind is Kind.NULL for column in schema):
        return None
    return local_folder(spark, out)


def write_results(results: Iterable[pa.Table], schema: pa.Schema, folder: str, name: str) -> bytes:
    """Writes a draft of results block by block, and describes the file that becomes of it."""
    drafts = Path(folder) / _DRAFTS
    os.makedirs(drafts, exist_ok=True)
    draft = drafts / f"{name}.{uuid4().hex}"
    with pq.ParquetWriter(draft, schema) as writer:
        for block in results:
            writer.write_table(block)
    found = draft.stat()
    described = {"name": name, "draft": draft.name, "size": found.st_size, "modified": found.st_mtime_ns // 1_000_000}
    return json.dumps(described).encode()


def file_name(cell: int) -> str:
    """Returns the name of a cell's results in the micro-batch that runs."""
    context = TaskContext.get()
    assert context is not None
    query, batch = (context.getLocalProperty(key) for key in ("sql.streaming.queryId", "streaming.sql.batchId"))
    return f"{int(batch or 0):05d}-{cell:05d}-{query}"


def clear_drafts(folder: str, query: str, until: int | None = None) -> None:
    """Removes the drafts of a query that do not count; `until` is the last micro-batch that is done, None for all."""
    drafts = Path(folder) / _DRAFTS
    for draft in drafts.glob(f"*-{query}.*"):
        if until is None or _batch(draft.name) <= until:
            draft.unlink(missing_ok=True)
    if until is None:
        with suppress(OSError):
            drafts.rmdir()  # unless another query's are there


class Log(Protocol):
    """Records which files hold the results of which micro-batch."""

    def latest(self) -> int:
        """Returns the last micro-batch that the log has; -1 if it has none."""

    def add(self, number: int, files: list[LoggedFile]) -> bool:
        """Adds the files of a micro-batch, unless it is there already."""


class LoggedFile(NamedTuple):
    path: str
    size: int
    modified: int


class WrittenResults:
    """The results of a query in a folder, to which each micro-batch adds its own once."""

    def __init__(self, folder: str, log: Log, streams: Definitions = (), callbacks: Callbacks | None = None) -> None:
        self._folder, self._log, self._streams = Path(folder), log, streams
        self._callbacks = callbacks or Callbacks()
        #: Whether what an earlier run named and did not log has been removed.
        self._is_clear = False

    def run(self, batch: DataFrame, number: int) -> None:
        """Runs a micro-batch, whose rows describe drafts, and commits them."""
        self._callbacks.note(batch.sparkSession)
        # An error must leave as one of ours: what Spark says would get lost on the way through Java.
        with explained(self._streams):
            described = [row.data for row in batch.collect()]
        self.commit(described, number)

    def commit(self, described: Iterable[bytes], number: int) -> None:
        """Names the drafts that attempts have described, and adds them to the log.

        A driver may have died after the log had the files and before Spark had committed the micro-batch. Then the
        micro-batch runs again for its state alone, because its results exist already.
        """
        drafts = [json.loads(each) for each in described]
        if number > self._log.latest():
            self._clear({f["name"] for f in drafts}, number)
            for file in drafts:
                os.replace(self._folder / _DRAFTS / file["draft"], self._path(file["name"]))
            files = [LoggedFile(self._path(f["name"]).as_uri(), f["size"], f["modified"]) for f in drafts]
            if not self._log.add(number, files):
                message = f"the results of micro-batch {number} were written by another run"
                raise PenstockError(message, "let only one run write to a folder")
        for query in {_query(file["name"]) for file in drafts}:
            clear_drafts(str(self._folder), query, number)

    def _clear(self, names: set[str], number: int) -> None:
        """Removes files that a driver named before it died, and did not log."""
        if self._is_clear:
            return
        kept = {self._path(name) for name in names}
        for query in {_query(name) for name in names}:
            for path in self._folder.glob(f"part-*-{query}.snappy.parquet"):
                if path not in kept and _batch(path.name.removeprefix("part-")) >= number:
                    path.unlink(missing_ok=True)
        self._is_clear = True

    def _path(self, name: str) -> Path:
        return self._folder / f"part-{name}.snappy.parquet"


class SparkLog:
    """The log that Spark's file sink keeps in a folder."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        gateway: Any = spark.sparkContext._gateway
        self._gateway = gateway
        sinks = gateway.jvm.org.apache.spark.sql.execution.streaming.sinks
        nothing = gateway.jvm.scala.Option.apply(None)
        # A path of Hadoop's is written as it is, without %20 and the like.
        at = f"file://{folder}/_spark_metadata"
        self._log = sinks.FileStreamSinkLog(_LOG_VERSION, spark._jsparkSession, at, nothing)
        self._status = sinks.SinkFileStatus

    def latest(self) -> int:
        last = self._log.getLatestBatchId()
        return int(last.get()) if last.isDefined() else -1

    def add(self, number: int, files: list[LoggedFile]) -> bool:
        described = self._gateway.new_array(self._status, len(files))
        for place, file in enumerate(files):
            described[place] = self._status(file.path, file.size, False, file.modified, 1, _BLOCK_BYTES, "add")
        return bool(self._log.add(number, described))


def _batch(name: str) -> int:
    return int(name.partition("-")[0])


def _query(name: str) -> str:
    return name.split("-", 2)[2]
