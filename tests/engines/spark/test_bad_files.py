"""The same odd files on both engines: each has the same rows, or is refused with the same words."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.catalog import TableDef
from penstock.engines.files import FileSource
from penstock.engines.spark.declared import declared_stream, declared_table
from penstock.errors import PenstockError
from penstock.session import Session
from penstock.sql import bind_text
from tests.bad_input.hand_made import CASES

#: Files that Spark's own readers would take for something else, or refuse.
SOME = (
    "lone CR behind a header",
    "BOM",
    "a field too few",
    "empty fields",
    "empty fields of a number",
    "doubles",
    "wrong arity in a lenient mode",
    "null behind a row",
    "two objects on a line",
    "a name twice in another case",
    "a name in another case",
    "a text from other values",
    "96 bits",
    "nanoseconds",
    "names that differ in case",
    "a parquet file without a column",
)


def test_tables_mean_the_same_on_both_engines(spark: SparkSession, tmp_path: Path) -> None:
    compare(spark, tmp_path, SOME)


@pytest.mark.slow
def test_all_tables_mean_the_same_on_both_engines(spark: SparkSession, tmp_path: Path) -> None:
    large = [name for name, case in CASES.items() if len(case.content()) > 1 << 20 or len(case.columns) > 1000]
    compare(spark, tmp_path, [name for name in CASES if name not in (*SOME, *large)])


def compare(spark: SparkSession, folder: Path, names: Iterable[str]) -> None:
    different = []
    for name in names:
        case = CASES[name]
        file = folder / f"t.{case.form}"
        file.write_bytes(case.content())
        options = f"path '{file}'{', ' + case.options if case.options else ''}"
        text = f"CREATE TABLE t ({case.columns}) USING {case.form} OPTIONS ({options})"
        table = bind_text(text).checked().catalog.get("t")
        assert isinstance(table, TableDef)
        here, there = (
            rows_or_error(lambda t: FileSource(t).table(), table),
            rows_or_error(lambda t: declared_table(spark, t).toArrow(), table),
        )
        if here != there:
            different.append((name, here, there))
    assert different == []


def rows_or_error(read: Any, table: TableDef) -> str:
    try:
        found: pa.Table = read(table)
    except PenstockError as error:
        return str(error)
    widths = {"timestamp[us, tz=UTC]": pa.int64(), "date32[day]": pa.int32()}
    columns = [column.cast(widths.get(str(column.type), column.type)) for column in found.columns]
    return str([column.to_pylist() for column in columns])


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_paths_that_lead_to_no_file_are_refused_before_anything_starts(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    for path, message in {
        "": "s: the path is empty",
        f"{tmp_path}/none": "there is no such file, which s reads",
        f"{tmp_path}/broken": "the link leads to no file",
        "/dev/zero": "it is a pipe, a socket or a device",
    }.items():
        text = f"CREATE STREAM s (n BIGINT, ts BIGINT) TIMESTAMP BY ts USING {form} OPTIONS (path '{path}')"
        with pytest.raises(PenstockError, match=message):
            declared_stream(spark, bind_text(text).checked().catalog.streams[0])
    made = Session(spark)
    made.sql(f"CREATE STREAM s (n BIGINT, ts BIGINT) TIMESTAMP BY ts USING {form} OPTIONS (path '{tmp_path}/empty')")
    with pytest.raises(PenstockError, match="the folder is empty"):
        made.query("SELECT n FROM s").start(
            str(tmp_path / "out.parquet"), checkpoint=str(tmp_path / "checkpoint"), until_done=True
        )


def test_streams_of_text_mean_the_same_on_both_engines(spark: SparkSession, tmp_path: Path) -> None:
    """Rows whose names, quotes and instants Spark's own readers would take for something else."""
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "1.csv").write_text('TS,more,W\n1,x,""\n2,x,\n3,x,"\\N"\n9223372036854775807,x,late\n')
    (tmp_path / "j").mkdir()
    (tmp_path / "j" / "1.json").write_text('{"W": "", "TS": 1}\n{"w": {"a": 1.5}, "ts": 3}\n{"w": "x"}\n')
    text = f"""
        CREATE STREAM c (w STRING, ts BIGINT) TIMESTAMP BY ts USING csv OPTIONS (path '{tmp_path}/c', header 'true');
        CREATE STREAM j (w STRING, ts BIGINT) TIMESTAMP BY ts USING json OPTIONS (path '{tmp_path}/j');
    """
    made = Session(spark)
    made.sql(text)
    query = made.query("SELECT ISTREAM(c.w AS c, j.w AS j) FROM c [ROWS 9], j [ROWS 9]")
    expected = sorted(str(row) for row in query.to_arrow().to_pylist())
    running = query.start(
        str(tmp_path / "out.parquet"), checkpoint=str(tmp_path / "checkpoint"), until_done=True, cells=1
    )
    running.await_done()
    found = spark.read.parquet(str(tmp_path / "out.parquet")).toArrow().to_pylist()
    assert sorted(str(row) for row in found) == expected
    assert len(expected) == 6
    progress = running.progress()
    assert [(progress.streams[name].bad_rows, progress.streams[name].newest) for name in "cj"] == [(1, 3), (1, 3)]
