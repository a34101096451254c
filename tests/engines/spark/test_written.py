"""Files that workers read and cells write by themselves: which are read, and which results count."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import penstock
from penstock.algebra.expressions import Column
from penstock.catalog import Connector
from penstock.engines.spark.committed import Committed
from penstock.engines.spark.listing import listed_files
from penstock.engines.spark.written import (
    LoggedFile,
    SparkLog,
    WrittenResults,
    clear_drafts,
    folder_of_cells,
    write_results,
)
from penstock.types import BIGINT, NULL

QUERY = "6b1c3a52-8a9c-4d5e-9f00-0123456789ab"

#: Characters that mean something in a URI.
ODD = "a b%20c"


def written(folder: str, batch: int, value: int, cell: int = 0) -> bytes:
    """A draft with one row."""
    block = pa.table({"_ts": [value], "_op": ["+"]})
    return write_results([block], block.schema, folder, f"{batch:05d}-{cell:05d}-{QUERY}")


def in_folder(folder: str | Path) -> list[int]:
    """What a reader finds that does not know the log."""
    files = sorted(Path(folder).glob("*.parquet"))
    return sorted(value for file in files for value in pq.ParquetFile(file).read().column("_ts").to_pylist())


def test_the_results_of_a_micro_batch_count_once(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path / f"{ODD}.parquet")
    log = WrittenResults(folder, SparkLog(spark, folder))
    for number, value in ((0, 0), (0, 10), (1, 1)):
        log.commit([written(folder, number, value)], number)
    log.commit([], 2)
    assert in_folder(folder) == [0, 1]
    assert sorted(row._ts for row in spark.read.parquet(folder).collect()) == [0, 1]
    assert [table.column("_ts").to_pylist() for table in Committed(Path(folder)).new()] == [[0], [1]]
    # Every tenth log file holds all that came before.
    for number in range(3, 12):
        WrittenResults(folder, SparkLog(spark, folder)).commit([written(folder, number, number)], number)
    assert spark.read.parquet(folder).count() == 11
    clear_drafts(folder, QUERY)
    assert not [path for path in Path(folder).iterdir() if path.name.startswith(".") and not path.name.endswith("crc")]


class KeptLog:
    """A log that is kept in this process."""

    def __init__(self) -> None:
        self.batches: dict[int, list[LoggedFile]] = {}

    def latest(self) -> int:
        return max(self.batches, default=-1)

    def add(self, number: int, files: list[LoggedFile]) -> bool:
        return self.batches.setdefault(number, files) is files


def test_a_draft_that_a_failed_attempt_left_never_counts(tmp_path: Path) -> None:
    folder, log = str(tmp_path), KeptLog()
    written(folder, 0, 66)
    WrittenResults(folder, log).commit([written(folder, 0, 1)], 0)
    assert in_folder(folder) == [1]
    assert not list((tmp_path / ".drafts").iterdir())


def test_files_that_were_named_and_not_logged_give_way(tmp_path: Path) -> None:
    """As after a driver that died before the log had them. What is tried again may have results in other cells."""
    folder, log = str(tmp_path), KeptLog()
    WrittenResults(folder, log).commit([written(folder, 0, 0)], 0)
    died = WrittenResults(folder, KeptLog())
    died.commit([written(folder, 1, value, cell) for cell, value in enumerate((66, 67, 68))], 1)
    assert in_folder(folder) == [0, 66, 67, 68]
    WrittenResults(folder, log).commit([written(folder, 1, 1, 1)], 1)
    assert in_folder(folder) == [0, 1]


def test_drafts_and_files_of_another_query_are_left_alone(tmp_path: Path) -> None:
    folder, log = str(tmp_path), KeptLog()
    other = f"00007-00000-{QUERY[:-1]}0"
    block = pa.table({"_ts": [7]})
    write_results([block], block.schema, folder, other)
    (tmp_path / f"part-{other}.snappy.parquet").touch()
    (tmp_path / "part-00000-12345678-spark.snappy.parquet").touch()
    WrittenResults(folder, log).commit([written(folder, 0, 1)], 0)
    clear_drafts(folder, QUERY)
    assert [path.name.partition(".")[0] for path in (tmp_path / ".drafts").iterdir()] == [other]
    assert len(list(tmp_path.glob("part-*"))) == 3


def test_only_parquet_on_a_local_disk_is_written_by_cells(spark: SparkSession, tmp_path: Path) -> None:
    schema = (Column("", "a", BIGINT),)
    out = str(tmp_path / f"{ODD}.parquet")
    assert folder_of_cells(spark, out, schema) == folder_of_cells(spark, f"{out}/", schema) == out
    assert folder_of_cells(spark, str(tmp_path / "out.csv"), schema) is None
    assert folder_of_cells(spark, out, (Column("", "a", NULL),)) is None


def test_only_what_spark_need_not_read_is_listed(spark: SparkSession, tmp_path: Path) -> None:
    def is_listed(format_: str, **options: str) -> bool:
        given = {"path": str(tmp_path), **options}
        return listed_files(spark, Connector(format_, tuple(given.items())), given) is not None

    assert is_listed("parquet")
    assert is_listed("Parquet", maxFilesPerTrigger="1", pathGlobFilter="*.parquet")
    assert not is_listed("parquet", mergeSchema="true")
    assert is_listed("csv", header="true", mode="permissive")
    assert not is_listed("csv", encoding="latin1")
    assert not is_listed("json", mode="DROPMALFORMED")
    assert not is_listed("orc")


def test_names_may_be_odd(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / ODD
    folder.mkdir()
    pq.write_table(pa.table({"a": [1, 2], "ts": [1, 2], "unread": [None, None]}), folder / f"{ODD}.parquet")
    made = penstock.Session(spark)
    made.sql(f"CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts USING parquet OPTIONS (path '{folder}')")
    out = str(tmp_path / f"{ODD}.parquet")
    made.query("SELECT ISTREAM(a) FROM s").start(out, checkpoint=f"{out}.checkpoint", until_done=True).await_done()
    assert sorted(row.a for row in spark.read.parquet(out).collect()) == [1, 2]
