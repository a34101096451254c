"""Rows in files, one file a micro-batch: what a streaming query gives, and what a batch query over all of them."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession

#: Batches of rows (id, time of a day); of each stream one batch goes into a micro-batch.
Batches = list[list[tuple[int, str]]]


def streamed_and_batch(
    spark: SparkSession, folder: Path, build: Callable[..., DataFrame], *streams: Batches
) -> tuple[list[Row], list[Row]]:
    """Returns the rows that a query gives over streams, in append mode, and over the same rows as tables."""
    columns = [f"{lead}id long, {lead}ts timestamp" for lead in "abc"[: len(streams)]]
    paths = [_written(folder / lead, lead, batches) for lead, batches in zip("abc", streams, strict=False)]
    reader = (
        spark.readStream.schema(s).option("maxFilesPerTrigger", 1).json(p) for s, p in zip(columns, paths, strict=True)
    )
    name = f"replayed_{uuid.uuid4().hex}"
    query = build(*reader).writeStream.format("memory").queryName(name)
    query.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start().awaitTermination()
    tables = (spark.read.schema(schema).json(path) for schema, path in zip(columns, paths, strict=True))
    return spark.table(name).collect(), build(*tables).collect()


def _written(folder: Path, lead: str, batches: Batches) -> str:
    folder.mkdir(parents=True)
    for number, rows in enumerate(batches):
        file = folder / f"{number}.json"
        lines = [json.dumps({f"{lead}id": key, f"{lead}ts": f"2024-01-01T{time}:00Z"}) for key, time in rows]
        file.write_text("\n".join(lines) + "\n")
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
    return str(folder)
