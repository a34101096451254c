"""Rows that a Python program provides: an Arrow table, batches of one, or a pandas frame.

An Arrow schema stands for rows that are pushed later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.algebra.zones import DEFAULT
from penstock.catalog import Attribute, StreamDef, TableDef
from penstock.engines.columns import spelled, sql_type, typed
from penstock.engines.files import bounded
from penstock.engines.handed_columns import HandedColumns, arrow_columns
from penstock.engines.texts import in_zone
from penstock.errors import PenstockError
from penstock.synopsis.codes import arrow_type

#: Rows of the largest piece of a batch. They are in memory anyhow, so that it may be larger than one of a file.
BATCH_ROWS = 1 << 18


class Handed:
    """Rows with a schema. A table can be read again and again, an iterator of batches once."""

    def __init__(self, name: str, data: Any) -> None:
        self.name = name
        self._used = False
        self._data: pa.Table | Iterator[pa.RecordBatch]
        if isinstance(data, pa.Schema):
            data = data.empty_table()
        elif isinstance(data, pa.RecordBatch):
            data = pa.Table.from_batches([data])
        elif type(data).__module__.partition(".")[0] == "pandas":
            data = _from_pandas(name, data)
        if isinstance(data, (pa.Table, pa.RecordBatchReader)):
            self._data, self.schema = data, data.schema
        else:
            self._data, self.schema = _peeked(name, data)

    def columns(self) -> HandedColumns:
        """Returns the columns as they would be declared."""
        return arrow_columns(self.name, [(field.name, sql_type(field.type), field.type) for field in self.schema])

    def batches(
        self, definition: StreamDef | TableDef, columns: list[str], zone: str = DEFAULT
    ) -> Iterator[pa.RecordBatch]:
        """Yields the rows, with these columns, of the declared types. Times without a zone are in `zone`."""
        wanted = [attribute for attribute in definition.attributes if attribute.name in columns]
        for batch in self._again():
            own = spelled(batch.schema.names, wanted, self.name)
            arrays = [typed(_zoned(batch.column(own[a.name]), zone), a, self.name) for a in wanted]
            made = pa.RecordBatch.from_arrays(arrays, names=[a.name for a in wanted])
            yield from bounded(made, BATCH_ROWS)

    def table(self, definition: TableDef, zone: str = DEFAULT) -> pa.Table:
        attributes: list[Attribute] = [attribute for attribute in definition.attributes if not attribute.virtual]
        schema = pa.schema([(attribute.name, arrow_type(attribute.type)) for attribute in attributes])
        return pa.Table.from_batches(self.batches(definition, schema.names, zone), schema)

    def _again(self) -> Iterator[pa.RecordBatch]:
        if isinstance(self._data, pa.Table):
            return iter(self._data.to_batches())
        if self._used:
            raise PenstockError(
                f"the batches of {self.name} have been read already", "hand over a table to read it again"
            )
        self._used = True
        return iter(self._data)


def _zoned(column: pa.Array, zone: str) -> pa.Array:
    """Returns a column whose times, if it has any, have a zone."""
    is_local = pa.types.is_timestamp(column.type) and column.type.tz is None
    return in_zone(column, zone) if is_local and zone != DEFAULT else column


def _from_pandas(name: str, frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        hint = "each column has one name and values of one simple type"
        raise PenstockError(f"{name}: the frame cannot be turned into Arrow columns: {error}", hint) from error


def _peeked(name: str, data: object) -> tuple[Iterator[pa.RecordBatch], pa.Schema]:
    """Returns batches, and the schema of the first of them."""
    hint = "hand over an Arrow table, an iterable of its batches, a pandas frame, or a Spark DataFrame"
    if not isinstance(data, Iterable):
        raise PenstockError(f"{name}: {type(data).__name__} holds no rows", hint)
    batches = iter(data)
    first = next(batches, None)
    if not isinstance(first, (pa.RecordBatch, pa.Table)):
        what = "nothing" if first is None else type(first).__name__
        raise PenstockError(f"{name}: the first batch is {what}", hint)
    return chain.from_iterable(_parts(part) for part in chain([first], batches)), first.schema


def _parts(part: pa.RecordBatch | pa.Table) -> list[pa.RecordBatch]:
    return part.to_batches() if isinstance(part, pa.Table) else [part]
