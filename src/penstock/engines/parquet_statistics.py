"""The statistics of parquet files: bounds of a row group's columns, as codes of the types that they are declared with.

Writers leave NaN out of the bounds of doubles, and SQL has it above all numbers: so a column of doubles has no upper
bound. Bounds of strings may be cut off, but then they are still bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.catalog import Attribute
from penstock.operators.filters.bounds import UNKNOWN, Bounds
from penstock.operators.scalars.logic import double_order
from penstock.synopsis.codes import double_codes
from penstock.synopsis.dictionary import Interned
from penstock.types import Kind, Type


def row_group_bounds(group: Any, content: Any, names: Mapping[str, Attribute]) -> dict[str, Bounds]:
    """Returns the bounds of some columns of a row group, whose names in the file lead to what they are declared as.

    `group` is pyarrow's `RowGroupMetaData`, `content` its `ParquetFile`.
    """
    found = {}
    for number in range(group.num_columns):
        chunk = group.column(number)
        # The path of b inside of a struct a is a.b, as is that of a column of its own with this name.
        name = content.schema.column(number).name
        attribute = names.get(name) if chunk.path_in_schema == name else None
        if attribute is not None:
            held = content.schema_arrow.field(name).type
            found[attribute.name] = _bounds(chunk, group.num_rows, held, attribute.type)
    return found


def _bounds(chunk: Any, rows: int, held: pa.DataType, type_: Type) -> Bounds:
    statistics = chunk.statistics if chunk.is_stats_set else None
    if statistics is None:
        return UNKNOWN
    nulls = statistics.null_count if statistics.has_null_count else None
    has_nulls, has_values = nulls != 0, nulls != rows
    read = _READERS.get(type_.kind)
    if not statistics.has_min_max or read is None:
        return Bounds(None, None, has_nulls, has_values)
    low, high = read(statistics, held, type_)
    return Bounds(low, high, has_nulls, has_values)


Ends = tuple[Interned | None, Interned | None]
_NOTHING: Ends = (None, None)


def _ends(statistics: Any, code: Callable[[Any], Interned | None]) -> Ends:
    return code(statistics.min), code(statistics.max)


def _integers(statistics: Any, held: pa.DataType, type_: Type) -> Ends:
    return _ends(statistics, int) if pa.types.is_integer(held) else _NOTHING


def _booleans(statistics: Any, held: pa.DataType, type_: Type) -> Ends:
    return _ends(statistics, int) if pa.types.is_boolean(held) else _NOTHING


def _dates(statistics: Any, held: pa.DataType, type_: Type) -> Ends:
    return (statistics.min_raw, statistics.max_raw) if held == pa.date32() else _NOTHING


def _times(statistics: Any, held: pa.DataType, type_: Type) -> Ends:
    if not pa.types.is_timestamp(held) or statistics.physical_type != "INT64":
        return _NOTHING
    microseconds = {"ms": lambda raw: raw * 1000, "us": lambda raw: raw, "ns": lambda raw: raw // 1000}.get(held.unit)
    return _NOTHING if microseconds is None else (microseconds(statistics.min_raw), microseconds(statistics.max_raw))


def _doubles(statistics: Any, held: pa.DataType, type_: Type) -> Ends:
    low = statistics.min
    if not pa.types.is_floating(held) or not isinstance(low, float) or low != low:  # noqa: PLR0124
        return _NOTHING
    return int(double_order(double_codes(np.array([low])))[0]), None


def _decimals(statistics: Any, held: pa.DataType, type_: Type) -> Ends:
    def code(value: Any) -> int | None:
        return int(Fraction(value) * 10 ** (type_.scale or 0)) if isinstance(value, Decimal) else None

    return _ends(statistics, code) if pa.types.is_decimal(held) and held.scale == type_.scale else _NOTHING


def _texts(statistics: Any, held: pa.DataType, type_: Type) -> Ends:
    wanted = str if type_.kind is Kind.STRING else bytes
    low, high = statistics.min, statistics.max
    return (low, high) if isinstance(low, wanted) and isinstance(high, wanted) else _NOTHING


#: What reads the bounds of a column of a declared type.
_READERS: Mapping[Kind, Callable[[Any, pa.DataType, Type], Ends]] = {
    Kind.INT: _integers,
    Kind.BIGINT: _integers,
    Kind.BOOLEAN: _booleans,
    Kind.DATE: _dates,
    Kind.TIMESTAMP: _times,
    Kind.DOUBLE: _doubles,
    Kind.DECIMAL: _decimals,
    Kind.STRING: _texts,
    Kind.BINARY: _texts,
}
