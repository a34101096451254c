"""The result of a query as a table: `_ts`, `_op`, and then the select list."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.algebra.relations import Schema
from penstock.synopsis.codes import arrow_type, decode_column
from penstock.synopsis.deltas import Deltas, is_null
from penstock.synopsis.dictionary import Dictionary


def result_schema(schema: Schema) -> pa.Schema:
    fields = [pa.field(column.name, arrow_type(column.type)) for column in schema]
    return pa.schema([pa.field("_ts", pa.int64()), pa.field("_op", pa.string()), *fields])


def result_table(deltas: Deltas, schema: Schema, dictionary: Dictionary) -> pa.Table:
    """Returns a row for each inserted or deleted copy; at one instant deletions come first."""
    if not (deltas.weight == 1).all():
        deltas = _copies(deltas)
    inserted = deltas.weight > 0
    ops = (
        pa.repeat("+", len(deltas)) if inserted.all() else pa.array(["-", "+"]).take(pa.array(inserted.astype(np.int8)))
    )
    some_null = deltas.rows[:, len(schema) :].any()
    columns = [
        decode_column(
            deltas.rows[:, i].copy(),
            is_null(deltas.rows, i, len(schema)) if some_null else None,
            column.type,
            dictionary,
        )
        for i, column in enumerate(schema)
    ]
    return pa.Table.from_arrays([pa.array(deltas.ts), ops, *columns], schema=result_schema(schema))


def _copies(deltas: Deltas) -> Deltas:
    """Returns a row per copy; at one instant deletions come first."""
    deltas = deltas.take(np.lexsort((deltas.weight > 0, deltas.ts)))
    copies, signs = np.abs(deltas.weight), np.sign(deltas.weight)
    if not (copies == 1).all():
        signs, ts = np.repeat(signs, copies), np.repeat(deltas.ts, copies)
        return Deltas(ts, signs, np.repeat(deltas.rows, copies, axis=0))
    return Deltas(deltas.ts, signs, deltas.rows)


def together(parts: Iterable[pa.Table], schema: Schema) -> pa.Table:
    """Concatenates results."""
    found = list(parts)
    if len(found) == 1:
        return found[0]
    return pa.concat_tables([result_schema(schema).empty_table(), *found]).combine_chunks()
