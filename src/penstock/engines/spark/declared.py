"""The DataFrames of declared sources: what `USING format OPTIONS (...)` means to Spark.

Local csv, json and parquet files are read by the embedded engine's readers, unless an option is Spark's alone. Where
Spark reads them, its options are set so that they mean nearly the same: `\\N` and an empty field are NULL, and text
that is not a value of its type is an error, unless OPTIONS say otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa  # type: ignore[import-untyped]
import pyspark
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from penstock.catalog import Catalog, Connector, StreamDef, TableDef
from penstock.engines.files import FORMATS
from penstock.engines.paths import check_not_empty, files_of
from penstock.engines.planning import read_by
from penstock.engines.spark.inspection import inspect
from penstock.engines.spark.listing import ListedFiles, listed_files, reading_options
from penstock.engines.spark.paths import from_here, local_path
from penstock.engines.spark.reports import causes, plain_message, relayed
from penstock.engines.spark.session import session_zone
from penstock.engines.spark.types import spark_type
from penstock.errors import PenstockError
from penstock.plan.fragments import Plan
from penstock.synopsis.codes import arrow_type

#: Spark reads an empty field as the nullValue, and a quoted one as the emptyValue.
_DEFAULTS: dict[str, dict[str, str]] = {
    "csv": {
        "mode": "FAILFAST",
        "nullValue": "\\N",
        "emptyValue": "",
        "escape": '"',
        "multiLine": "true",
        "enforceSchema": "false",
    },
    "json": {"mode": "FAILFAST"},
}


def frames_of(
    planned: Plan,
    catalog: Catalog,
    spark: SparkSession,
    handed: Mapping[str, Any] | None = None,
    *,
    slowly: bool = False,
) -> tuple[dict[str, DataFrame | ListedFiles], dict[str, DataFrame]]:
    """Returns the streams and the tables that a plan reads: those that were handed over, and the others as declared.

    `slowly`: of files a micro-batch reads one, until somebody sets how many.
    """
    handed = handed or {}
    streams, tables = read_by([planned], catalog)
    for stream in streams:
        if stream.name in handed and not isinstance(handed[stream.name], DataFrame):
            message = f"{stream.name} was handed over as rows, and Spark reads streams"
            raise PenstockError(message, "hand over a streaming DataFrame, or use run() or to_arrow()")
    return (
        {s.name: handed[s.name] if s.name in handed else declared_stream(spark, s, slowly=slowly) for s in streams},
        {
            t.name: _handed_table(spark, t, handed[t.name]) if t.name in handed else declared_table(spark, t)
            for t in tables
        },
    )


def _handed_table(spark: SparkSession, table: TableDef, rows: Any) -> DataFrame:
    return rows if isinstance(rows, DataFrame) else spark.createDataFrame(rows.table(table, session_zone(spark)))


def declared_stream(spark: SparkSession, stream: StreamDef, *, slowly: bool = False) -> DataFrame | ListedFiles:
    connector = _connector(stream)
    _check_path(connector, stream.name)
    options = _options(spark, connector)
    if os.path.isfile(options.get("path", "")):
        options["path"] = _as_pattern(options["path"])
    with _explained(stream):
        files = listed_files(spark, connector, options, slowly=slowly)
    if files is not None:
        return files
    reader = spark.readStream.format(connector.format).options(**options)
    if connector.format.lower() in _WITH_SCHEMA:
        reader = reader.schema(_schema(stream))
    with _explained(stream):
        return reader.load()


def declared_table(spark: SparkSession, table: TableDef) -> DataFrame:
    connector = _connector(table)
    _check_path(connector, table.name)
    check_whole([table])
    with _explained(table):
        found = spark.read.format(connector.format).schema(_schema(table)).options(**_options(spark, connector)).load()
        files = found.inputFiles()
        options = reading_options(spark, connector)
    if options is not None:
        return spark.createDataFrame(_read(table, files, options))
    for file in files:
        inspect(file, table)
    return found


def _read(table: TableDef, files: Iterable[str], options: Mapping[str, str]) -> pa.Table:
    """Returns the rows of a table, by the embedded engine's reader."""
    declared = [attribute for attribute in table.attributes if not attribute.virtual]
    read = FORMATS[_connector(table).format.lower()].read
    paths = sorted(path for file in files if (path := local_path(file)) is not None)
    batches = (batch for path in paths for batch in read(path, declared, declared, options))
    return pa.Table.from_batches(batches, pa.schema([(a.name, arrow_type(a.type)) for a in declared]))


def check_whole(definitions: Iterable[StreamDef | TableDef]) -> None:
    """Refuses folders without any file, where what is there now is all that will be read."""
    for definition in definitions:
        if definition.connector is not None and (path := _local(definition.connector)) is not None:
            check_not_empty(path)


def _check_path(connector: Connector, reader: str) -> None:
    """Refuses a path on this machine that leads to no file, before Spark waits for one."""
    if connector.format.lower() in _WITH_SCHEMA and (path := _local(connector)) is not None:
        files_of(path, reader)


def _local(connector: Connector) -> str | None:
    """Returns the path of a source on this machine; None for a pattern, which Spark has to expand."""
    path = {name.lower(): value for name, value in connector.options}.get("path")
    if path is None or any(sign in path for sign in "*?[{"):
        return None
    local = local_path(path)
    return str(local) if local is not None else None if urlparse(path).scheme else path


def _as_pattern(file: str) -> str:
    """Returns a pattern that matches one file only, because Spark streams from folders and patterns."""
    folder, name = os.path.split(os.path.abspath(file))
    return f"{folder}/[{name[0]}]{name[1:]}"


@contextmanager
def _explained(definition: StreamDef | TableDef) -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        said = plain_message(causes(error)[0])
        known = _PACKAGES.get(definition.connector.format.lower()) if definition.connector else None
        hint = known if known and "Failed to find" in said else "check what follows USING in its declaration"
        raise PenstockError(f"{definition.name} cannot be read: {said}", hint) from relayed(error)


#: How to add formats that an installation of Spark lacks.
_PACKAGES = {
    "kafka": "start Spark with its package: "
    f'.config("spark.jars.packages", "org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}")'
}


#: The formats whose files do not say what is in them, or not all of them alike.
_WITH_SCHEMA = ("csv", "json", "parquet", "orc")


def _connector(definition: StreamDef | TableDef) -> Connector:
    if definition.connector is None:
        hint = "write USING ... OPTIONS (...) behind its declaration, or hand over a DataFrame"
        raise PenstockError(f"{definition.name} has no source", hint)
    return definition.connector


def _options(spark: SparkSession, connector: Connector) -> dict[str, str]:
    given = dict(connector.options)
    known = {name.lower() for name in given}
    defaults = _DEFAULTS.get(connector.format.lower(), {})
    filled = {name: value for name, value in defaults.items() if name.lower() not in known} | given
    return {name: from_here(spark, value) if name.lower() == "path" else value for name, value in filled.items()}


def _schema(definition: StreamDef | TableDef) -> T.StructType:
    stored = (attribute for attribute in definition.attributes if not attribute.virtual)
    return T.StructType([T.StructField(attribute.name, spark_type(attribute.type)) for attribute in stored])
