"""A stream's rows as Parquet files in a folder."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]


def write_files(folder: Path, rows: pa.Table, files: int) -> None:
    """Cuts rows into so many files of about the same size, whose names are in the order of the rows."""
    folder.mkdir(parents=True, exist_ok=True)
    size = max(1, -(-rows.num_rows // files))
    for number, start in enumerate(range(0, rows.num_rows, size)):
        pq.write_table(rows.slice(start, size), folder / f"{number:05}.parquet")
