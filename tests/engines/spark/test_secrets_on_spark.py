"""A query on Spark whose options hold secrets leaves none of them in its folders, its metrics or its errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock import Session
from penstock.errors import PenstockError

SECRET = "hunter2Zq8Xw"


def declared(spark: SparkSession, folder: Path, rest: str = "") -> Session:
    session = Session(spark)
    session.sql(
        "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts "
        f"USING csv OPTIONS (path '{folder}', header 'true', password '{SECRET}', apiKey '{SECRET}'{rest})"
    )
    return session


def test_folders_and_metrics_hold_no_secret(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("a,ts\n1,1\n2,2\n")
    query = declared(spark, tmp_path / "in").query("SELECT a FROM s [ROWS 5]")
    running = query.start(str(tmp_path / "out.json"), checkpoint=str(tmp_path / "checkpoint"), until_done=True)
    running.await_done()
    assert spark.conf.get("spark.redaction.regex", "").startswith("(?i)passw")
    assert SECRET not in f"{query!r}{running!r}{running.metrics()}{running.progress()}{query.metrics()}"
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert written
    assert [file for file in written if SECRET.encode() in file.read_bytes()] == []


def test_an_error_of_spark_is_told_without_the_secret(spark: SparkSession, tmp_path: Path) -> None:
    """Spark names the option that it does not understand, with its value."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("a,ts\n1,1\n")
    query = declared(spark, tmp_path / "in", f", maxFilesPerTrigger '{SECRET}'").query("SELECT a FROM s [ROWS 5]")
    with pytest.raises(PenstockError) as raised:
        query.start(str(tmp_path / "out.json"), checkpoint=str(tmp_path / "checkpoint"), until_done=True).await_done()
    assert "***" in str(raised.value)
    error: BaseException | None = raised.value
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__
