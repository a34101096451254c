"""The folder of files that a query writes: which form they have, and that their text is that of the embedded engine.

Spark's own text of values would cut times to milliseconds, trim strings, and leave out what is NULL in json. Its csv
has no quotes around a text that would be NULL without them, so such a text is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import types as T
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.algebra.relations import Schema
from penstock.engines.sinks import STAMP, OutputColumns, csv_fields, json_lines
from penstock.engines.texts import NULL_TEXT
from penstock.errors import PenstockError

_CSV = {
    "header": "true",
    "nullValue": "\\N",
    "emptyValue": '""',
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}


def writer(result: DataFrame, schema: Schema, out: str, zone: str) -> DataStreamWriter:
    """Writes results into a folder, in the form in which its name ends."""
    columns = [*STAMP, *((column.name, column.type) for column in schema)]
    match out.rstrip("/").rpartition(".")[2].lower():
        case "parquet":
            return result.writeStream.outputMode("append").format("parquet")
        case "csv":
            texts = T.StructType([T.StructField(name, T.StringType()) for name, _ in columns])
            fields = result.mapInArrow(_CsvFields(columns, zone), texts)
            return fields.writeStream.outputMode("append").format("csv").options(**_CSV)
        case "json":
            lines = result.mapInArrow(_JsonLines(columns, zone), "value STRING")
            return lines.writeStream.outputMode("append").format("text")
    raise PenstockError(f"cannot tell the format of {out}", "let its name end in .csv, .json or .parquet")


@dataclass(frozen=True)
class _CsvFields:
    columns: OutputColumns
    zone: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            fields = csv_fields(pa.Table.from_batches([batch]), self.columns, self.zone)
            for (name, _), texts in zip(self.columns, fields, strict=True):
                if pc.any(pc.equal(texts, NULL_TEXT)).as_py():
                    message = f"a value of {name} is the text {NULL_TEXT}, which is NULL in Spark's csv"
                    raise PenstockError(message, "write the results as parquet or json")
            yield pa.RecordBatch.from_arrays(fields, names=batch.schema.names)


@dataclass(frozen=True)
class _JsonLines:
    columns: OutputColumns
    zone: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            lines = json_lines(pa.Table.from_batches([batch]), self.columns, self.zone)
            yield pa.RecordBatch.from_arrays([lines], names=["value"])
