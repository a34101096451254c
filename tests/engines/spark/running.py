"""Runs a case on Spark: rows as parquet files, small micro-batches, results from a folder of files."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from penstock.algebra.relations import Query
from penstock.catalog import Catalog, Connector, StreamDef, TableDef
from penstock.engines.spark.listing import ListedFiles, listed_files
from penstock.engines.spark.query import Frames, RunningQuery, start
from penstock.engines.spark.types import result_type, spark_type
from penstock.plan.forgetting import EAGER, Forgetting
from tests.engines.comparing import Log, logged, table
from tests.generators import Case


def write_files(case: Case, catalog: Catalog, folder: Path, rows_per_file: int = 4, only: int | None = None) -> None:
    """The rows of each stream as files, of which there may be `only` so many, in the order of arrival."""
    for stream in catalog.streams:
        (folder / stream.name).mkdir(parents=True, exist_ok=True)
        rows = list(case.data[stream.name])
        pieces = [rows[i : i + rows_per_file] for i in range(0, len(rows), rows_per_file)]
        for number, piece in enumerate(pieces[:only]):
            path = folder / stream.name / f"part-{number:05d}.parquet"
            if not path.exists():
                pq.write_table(table(stream, piece), path)
                # Spark takes the oldest files first.
                os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def frames(spark: SparkSession, catalog: Catalog, folder: Path, files: int = 1) -> dict[str, DataFrame]:
    return {
        stream.name: spark.readStream.schema(struct(stream))
        .option("maxFilesPerTrigger", files)
        .parquet(str(folder / stream.name))
        for stream in catalog.streams
    }


def listed(spark: SparkSession, catalog: Catalog, folder: Path, files: int | None = 1) -> Frames:
    """The same streams, whose files are read by workers; None: all of them at once."""

    def listing(stream: StreamDef) -> ListedFiles:
        limit = {} if files is None else {"maxFilesPerTrigger": str(files)}
        options = {"path": str(folder / stream.name), **limit}
        found = listed_files(spark, Connector("parquet", tuple(options.items())), options)
        assert found is not None
        return found

    return {stream.name: listing(stream) for stream in catalog.streams}


def tables(spark: SparkSession, case: Case, catalog: Catalog) -> dict[str, DataFrame]:
    return {t.name: spark.createDataFrame(table(t, case.data.get(t.name, ())), struct(t)) for t in catalog.tables}


def struct(definition: StreamDef | TableDef) -> T.StructType:
    return T.StructType([T.StructField(a.name, spark_type(a.type)) for a in definition.attributes if not a.virtual])


def begin(
    spark: SparkSession,
    case: Case,
    query: Query,
    catalog: Catalog,
    folder: Path,
    *,
    cells: int = 1,
    until_done: bool = True,
    given: Frames | None = None,
    out: str = "out.parquet",
    forgetting: Forgetting = EAGER,
) -> RunningQuery:
    return start(
        query,
        catalog,
        given or frames(spark, catalog, folder / "in"),
        tables(spark, case, catalog),
        spark=spark,
        out=str(folder / out),
        checkpoint=str(folder / "checkpoint"),
        cells=cells,
        horizon=case.horizon,
        until_done=until_done,
        forgetting=forgetting,
    )


def results(spark: SparkSession, folder: Path, query: Query) -> Log:
    """What was written. Spark reads only files that were committed; there are no others, whatever was tried again."""
    found = logged(spark.read.parquet(str(folder / "out.parquet")).toArrow(), query)
    files = (folder / "out.parquet").glob("*.parquet")
    assert sum((logged(pq.read_table(file, partitioning=None), query) for file in files), Log()) == found
    return found


def json_results(spark: SparkSession, folder: Path, query: Query) -> Log:
    """What was written to `out.json`, as text by Spark; files that were not committed do not count."""
    lines = spark.read.text(str(folder / "out.json"))
    rows = lines.select(F.from_json("value", result_type(query.schema)).alias("row")).select("row.*")
    return logged(rows.toArrow(), query)


def on_spark(spark: SparkSession, case: Case, query: Query, catalog: Catalog, folder: Path, *, cells: int) -> Log:
    write_files(case, catalog, folder / "in")
    given = listed(spark, catalog, folder / "in") if cells % 2 == 0 else None
    begin(spark, case, query, catalog, folder, cells=cells, given=given).await_done()
    return results(spark, folder, query)
