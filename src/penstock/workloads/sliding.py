"""Readings of a thousand sensors, ten thousand a second of time, for aggregates over sliding windows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.types import SECOND
from penstock.workloads.files import write_files

SENSORS = 1000
RATE = 10_000
RANGE_SECONDS, SLIDE_SECONDS = 60, 10

RESULTS = f"""
CREATE QUERY totals AS
SELECT ISTREAM(sensor, SUM(value) AS total, COUNT(*) AS readings)
FROM reading [RANGE {RANGE_SECONDS} SECONDS SLIDE {SLIDE_SECONDS} SECONDS]
GROUP BY sensor;
"""


def ddl(folder: Path) -> str:
    return (
        "CREATE STREAM reading (sensor BIGINT, value BIGINT, ts BIGINT) TIMESTAMP BY ts\n"
        f"USING parquet OPTIONS (path '{folder / 'reading'}');"
    )


def write(folder: Path, rows: int, files: int = 1, seed: int = 0) -> None:
    """Parquet files of so many readings."""
    random = np.random.default_rng(seed)
    ts = np.arange(rows) * (SECOND // RATE)
    columns = {"sensor": random.integers(0, SENSORS, rows), "value": random.integers(0, 1000, rows), "ts": ts}
    write_files(folder / "reading", pa.table(columns), files)
