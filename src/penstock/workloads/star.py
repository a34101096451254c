"""A star join of four streams (thesis 5.6): a hub with a column for each of three satellites.

Every stream has a row per millisecond. Values are drawn from so many that each row finds five partners in a
satellite's window, and 125 combinations in all.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.types import MILLISECOND
from penstock.workloads.files import write_files

WINDOW = 10_000
MULTIPLICITY = 5
SATELLITES = ("r", "s", "t")

RESULTS = f"""
CREATE QUERY starred AS
SELECT ISTREAM(hub.id AS hub_id, r.id AS r_id, s.id AS s_id, t.id AS t_id)
FROM hub [ROWS {WINDOW}], r [ROWS {WINDOW}], s [ROWS {WINDOW}], t [ROWS {WINDOW}]
WHERE hub.r = r.key AND hub.s = s.key AND hub.t = t.key;
"""


def ddl(folder: Path) -> str:
    """Declarations of the four streams, with their files in a folder."""
    source = "TIMESTAMP BY ts\nUSING parquet OPTIONS (path '{}');"
    satellites = (
        f"CREATE STREAM {name} (id BIGINT, key BIGINT, ts BIGINT, UNIQUE (id)) {source.format(folder / name)}"
        for name in SATELLITES
    )
    hub = ", ".join(f"{name} BIGINT" for name in SATELLITES)
    center = f"CREATE STREAM hub (id BIGINT, {hub}, ts BIGINT, UNIQUE (id)) {source.format(folder / 'hub')}"
    return "\n".join((center, *satellites))


def write(folder: Path, rows: int, files: int = 1, seed: int = 0) -> None:
    """Parquet files of each stream, in a folder per stream: about so many rows in all."""
    random = np.random.default_rng(seed)
    each = rows // (1 + len(SATELLITES))
    own = {"id": np.arange(each), "ts": np.arange(each) * MILLISECOND}

    def values() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return random.integers(0, WINDOW // MULTIPLICITY, each)

    write_files(folder / "hub", pa.table(own | {name: values() for name in SATELLITES}), files)
    for name in SATELLITES:
        write_files(folder / name, pa.table(own | {"key": values()}), files)
