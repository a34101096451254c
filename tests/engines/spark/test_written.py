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
from penstock.engines.spark.written import ResultsLog, folder_of_cells, write_results
from penstock.types import BIGINT, NULL

#: Characters that mean something in a URI.
ODD = "a b%20c"


def test_the_results_of_a_micro_batch_count_once(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path / f"{ODD}.parquet")
    log = ResultsLog(spark, folder)
    for number, value in ((0, 0), (0, 10), (1, 1)):
        told = write_results(pa.table({"_ts": [value], "_op": ["+"]}), folder, str(value))
        log.commit(spark.createDataFrame([(told,)], "data BINARY"), number)
    log.commit(spark.createDataFrame([], "data BINARY"), 2)
    assert len(list(Path(folder).glob("*.parquet"))) == 3
    assert sorted(row._ts for row in spark.read.parquet(folder).collect()) == [0, 1]
    assert [table.column("_ts").to_pylist() for table in Committed(Path(folder)).new()] == [[0], [1]]
    # Every tenth log file holds all that came before.
    for number in range(3, 12):
        told = write_results(pa.table({"_ts": [number], "_op": ["+"]}), folder, str(number))
        ResultsLog(spark, folder).commit(spark.createDataFrame([(told,)], "data BINARY"), number)
    assert spark.read.parquet(folder).count() == 11


def test_the_first_file_of_a_name_stays(tmp_path: Path) -> None:
    """Its size may be in the log."""
    told = [write_results(pa.table({"a": list(range(n))}), str(tmp_path), "0") for n in (1, 1000)]
    assert told[0] == told[1]
    assert [file.name for file in tmp_path.iterdir()] == ["part-0.snappy.parquet"]


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
