"""What a program provides: Spark DataFrames, Arrow tables or batches, and pandas frames, as streams and tables.

The libraries of these types need not be there: they are loaded when data of theirs is read.
"""

from __future__ import annotations

from typing import Any

from penstock.engines.handed_columns import HandedColumns, spark_columns
from penstock.errors import PenstockError

#: What a program hands over. The libraries of these types need not be there.
SourceData = Any


def readable(name: str, data: SourceData) -> SourceData:
    """Returns a Spark DataFrame as it is, anything else as rows with a schema."""
    if is_spark(data):
        return data
    from penstock.engines.handed import Handed  # noqa: PLC0415

    return Handed(name, data)


def collected(name: str, data: SourceData) -> SourceData:
    """Rows that can be read in this process."""
    if not is_spark(data):
        return data
    if data.isStreaming:
        message = f"{name} is a streaming DataFrame, which only Spark can read"
        raise PenstockError(message, "use dataframe() or start(...) instead of run() or to_arrow()")
    return readable(name, data.toArrow())


def is_live(data: SourceData) -> bool:
    """Returns whether data is a streaming DataFrame."""
    return is_spark(data) and bool(data.isStreaming)


def columns_of(name: str, data: SourceData) -> HandedColumns:
    """Returns the columns of what is handed over, as they are declared."""
    if is_spark(data):
        return spark_columns(name, data)
    found: HandedColumns = data.columns()
    return found


def is_spark(data: SourceData) -> bool:
    return type(data).__module__.startswith("pyspark.sql")
