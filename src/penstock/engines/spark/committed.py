"""The results that Spark has committed to a folder, in the order of its micro-batches: what may be shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]


class Committed:
    """Follows the log that Spark's file sink keeps. Every few batches a log file repeats all earlier entries."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "_spark_metadata"
        self._batch = 0
        self._seen: set[str] = set()

    def new(self) -> Iterator[pa.Table]:
        """Yields the results of the micro-batches that were committed since the last call, in the order of time."""
        while (log := self._next()) is not None:
            self._batch += 1
            entries = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
            paths = [entry["path"] for entry in entries if entry["path"] not in self._seen]
            self._seen.update(paths)
            if paths:
                tables = [pq.ParquetFile(unquote(urlparse(path).path)).read() for path in paths]
                yield pa.concat_tables(tables).sort_by([("_ts", "ascending"), ("_op", "descending")])

    def _next(self) -> Path | None:
        for name in (str(self._batch), f"{self._batch}.compact"):
            if (self._log / name).exists():
                return self._log / name
        return None
