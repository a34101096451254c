"""Relative paths are those of the Python process, wherever Spark's Java process was started."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock import Session


@pytest.mark.parametrize("path", ["rows.json", "rows", "row*.json"])
def test_a_relative_path_starts_where_python_is(
    path: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows").mkdir()
    for file in (tmp_path / "rows.json", tmp_path / "rows" / "rows.json"):
        file.write_text('{"id": 1, "ts": 1000000}\n')
    monkeypatch.chdir(tmp_path)
    session = Session(spark)
    (query,) = session.sql(f"""
        CREATE STREAM s (id BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS USING json OPTIONS (path '{path}');
        CREATE TABLE t (id BIGINT) USING json OPTIONS (path '{path}');
        CREATE QUERY q AS SELECT ISTREAM(s.id) FROM s [NOW], t WHERE s.id = t.id;
    """)
    query.start(out="out.json", checkpoint="checkpoint", until_done=True, cells=1).await_done()
    assert (tmp_path / "checkpoint").is_dir()
    written = "".join(part.read_text() for part in (tmp_path / "out.json").glob("part-*"))
    assert '"id":1' in written.replace(" ", "")
