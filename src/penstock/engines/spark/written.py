"""Results that cells write themselves: a Parquet file per cell and micro-batch, and the log of the files that count.

Rows that leave Python for Spark to write them cost more than it did to find them. So a cell writes its results where
it is, and hands on the name of the file. When all cells are done, the files are added to the log that Spark's own file
sink keeps, `_spark_metadata`, under the number of the micro-batch, and only once: whoever reads the folder with Spark
sees each result exactly once, whatever was tried again. A file is named after its micro-batch and cell. What is tried
again finds its file there, with the same rows, and leaves it. So the folder holds each result once for all other
readers, too.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from penstock.algebra.relations import Schema
from penstock.engines.spark.reports import local_path
from penstock.errors import PenstockError
from penstock.types import Kind

#: The version of the log's format.
_LOG_VERSION = 1

#: What the log says of a file besides its name and size: Spark's readers cut large files by it.
_BLOCK_BYTES = 128 << 20


def folder_of_cells(spark: SparkSession, out: str, schema: Schema) -> str | None:
    """The folder that cells can write results to, or None if Spark must: it is no local one, or holds no Parquet.

    Spark has its own opinion of columns that are NULL and nothing else.
    """
    if not out.rstrip("/").lower().endswith(".parquet") or any(column.type.kind is Kind.NULL for column in schema):
        return None
    return local_folder(spark, out)


def local_folder(spark: SparkSession, folder: str) -> str | None:
    """The path of a folder as workers write to it, or None if it is not one of the machine's."""
    context = spark.sparkContext
    assert context._jvm is not None
    path = context._jvm.org.apache.hadoop.fs.Path(folder)
    files = path.getFileSystem(context._jsc.hadoopConfiguration())
    found = local_path(str(files.makeQualified(path).toUri()))
    return None if found is None else str(found)


def write_results(results: pa.Table, folder: str, name: str) -> bytes:
    """Writes results into a file of their own, and gives the file's description."""
    os.makedirs(folder, exist_ok=True)
    path = Path(folder) / f"part-{name}.snappy.parquet"
    # Readers pass over names that start with a dot: what a worker leaves that is killed here is in nobody's way.
    draft = path.with_name(f".{path.name}.{uuid4()}")
    pq.write_table(results, draft)
    try:
        # The log may have the size of the first: a second one has the same rows, but maybe in another order.
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    found = path.stat()
    told = {"path": path.as_uri(), "size": found.st_size, "modified": found.st_mtime_ns // 1_000_000}
    return json.dumps(told).encode()


def file_name(cell: int) -> str:
    """The name of a cell's results in the micro-batch that runs: the same one whenever it is tried again."""
    context = TaskContext.get()
    assert context is not None
    query, batch = (context.getLocalProperty(key) for key in ("sql.streaming.queryId", "streaming.sql.batchId"))
    return f"{int(batch or 0):05d}-{cell:05d}-{query}"


class ResultsLog:
    """Spark's log of the results in a folder."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        gateway: Any = spark.sparkContext._gateway
        self._gateway = gateway
        sinks = gateway.jvm.org.apache.spark.sql.execution.streaming.sinks
        nothing = gateway.jvm.scala.Option.apply(None)
        # A path of Hadoop's is written as it is, without %20 and the like.
        at = f"file://{folder}/_spark_metadata"
        self._log = sinks.FileStreamSinkLog(_LOG_VERSION, spark._jsparkSession, at, nothing)
        self._status = sinks.SinkFileStatus

    def commit(self, batch: DataFrame, number: int) -> None:
        """Runs a micro-batch, whose rows describe files, and adds the files to the log.

        A driver may have died when the log had the files and Spark did not know. Then the micro-batch runs again, for
        its state; its results are there already.
        """
        told = [json.loads(row.data) for row in batch.collect()]
        last = self._log.getLatestBatchId()
        if last.isDefined() and number <= last.get():
            return
        files = self._gateway.new_array(self._status, len(told))
        for place, file in enumerate(told):
            described = (file["path"], file["size"], False, file["modified"], 1, _BLOCK_BYTES, "add")
            files[place] = self._status(*described)
        if not self._log.add(number, files):
            message = f"the results of micro-batch {number} were written by another run"
            raise PenstockError(message, "let only one run write to a folder")
