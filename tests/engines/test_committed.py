"""What Spark has committed to a folder is shown, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engines.spark.committed import Committed


def write(folder: Path, name: str, ts: list[int]) -> str:
    path = folder / f"part {name}.parquet"
    pq.write_table(pa.table({"_ts": ts, "_op": ["+"] * len(ts)}), path)
    return json.dumps({"path": path.as_uri(), "action": "add"})


def test_batches_are_shown_once_in_their_order(tmp_path: Path) -> None:
    log = tmp_path / "_spark_metadata"
    committed = Committed(tmp_path)
    assert list(committed.new()) == []
    log.mkdir()
    first, second = write(tmp_path, "a", [3, 1]), write(tmp_path, "b", [2])
    write(tmp_path, "not committed", [0])
    (log / "0").write_text(f"v1\n{first}\n{second}")
    (log / "1").write_text("v1")
    assert [part.column("_ts").to_pylist() for part in committed.new()] == [[1, 2, 3]]
    third = write(tmp_path, "c", [4])
    (log / "2.compact").write_text(f"v1\n{first}\n{second}\n{third}")
    assert [part.column("_ts").to_pylist() for part in committed.new()] == [[4]]
    assert list(committed.new()) == []
