"""Arrow columns and declared types: which Arrow types hold values of a declared type, and the casts between them."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from penstock import types
from penstock.catalog import Attribute
from penstock.errors import PenstockError
from penstock.sql.diagnostics import listed
from penstock.synopsis.codes import arrow_type
from penstock.types import Kind, Type


def typed(column: pa.Array, attribute: Attribute, where: str) -> pa.Array:
    """Casts an Arrow column to the declared type. Times are cut to microseconds; one without a zone is in UTC."""
    target = arrow_type(attribute.type)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not pa.types.is_null(column.type) and not _FITTING[attribute.type.kind](column.type):
        message = f"{where}: column {attribute.name} holds {column.type}, not {attribute.type}"
        raise PenstockError(message, f"declare {attribute.name} with the type that the data have")
    try:
        if attribute.type.kind in _CHECKED:
            column.validate(full=True)
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
            return _microseconds(column).cast(target)
        return column if column.type == target else column.cast(target)
    except pa.ArrowException as error:
        message = f"{where}: column {attribute.name} holds a value that {is_not_a(attribute.type)}: {error}"
        hint = "times are at most some 292,000 years from 1970" if attribute.type.kind is Kind.TIMESTAMP else None
        raise PenstockError(message, hint or f"declare {attribute.name} with a wider type") from error


#: Types of which files may hold invalid values: bytes that are not UTF-8, and more digits than are declared.
_CHECKED = (Kind.STRING, Kind.DECIMAL)


def _microseconds(column: pa.Array) -> pa.Array:
    """Cuts nanoseconds to the microsecond that has begun, before 1970 too."""
    numbers = column.view(pa.int64())
    below = pc.less(pc.subtract(numbers, pc.multiply(pc.divide(numbers, 1000), 1000)), 0)
    return pc.subtract(pc.divide(numbers, 1000), below.cast(pa.int64())).cast(pa.timestamp("us"))


_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BINARY = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)

#: Which Arrow types may hold the values of a type.
_FITTING: dict[Kind, Callable[[pa.DataType], bool]] = {
    Kind.BOOLEAN: pa.types.is_boolean,
    Kind.INT: pa.types.is_integer,
    Kind.BIGINT: pa.types.is_integer,
    Kind.DECIMAL: lambda type_: pa.types.is_decimal(type_) or pa.types.is_integer(type_),
    Kind.DOUBLE: lambda type_: pa.types.is_floating(type_) or pa.types.is_integer(type_),
    Kind.STRING: lambda type_: any(test(type_) for test in _TEXT),
    Kind.BINARY: lambda type_: any(test(type_) for test in _BINARY),
    Kind.TIMESTAMP: pa.types.is_timestamp,
    Kind.DATE: pa.types.is_date,
}


def is_not_a(type_: Type) -> str:
    """Returns the words of a message about a value of another type.

    >>> is_not_a(types.BIGINT), is_not_a(types.INT)
    ('is not a BIGINT', 'is not an INT')
    """
    return f"is not {'an' if str(type_).startswith('I') else 'a'} {type_}"


def spelled(names: list[str], declared: list[Attribute], where: str) -> dict[str, str]:
    """Returns the data's own spelling of each declared column."""
    own = {}
    for attribute in declared:
        same = [name for name in names if name.lower() == attribute.name.lower()]
        if len(same) > 1 and same.count(attribute.name) == 1:
            same = [attribute.name]
        if len(same) != 1:
            wrong = f"has no column {attribute.name}" if not same else f"has {len(same)} columns {attribute.name}"
            raise PenstockError(f"{where}: {wrong}", f"its columns are {listed(names)}")
        own[attribute.name] = same[0]
    return own


def sql_type(type_: pa.DataType) -> Type | None:
    """Returns the type that a column is declared with whose values are these, or None.

    >>> str(sql_type(pa.int16())), str(sql_type(pa.decimal128(6, 2))), sql_type(pa.list_(pa.int64()))
    ('INT', 'DECIMAL(6, 2)', None)
    """
    if pa.types.is_dictionary(type_):
        return sql_type(type_.value_type)
    if pa.types.is_decimal(type_):
        fits = type_.precision <= types.MAX_PRECISION and 0 <= type_.scale <= type_.precision
        return types.decimal(type_.precision, type_.scale) if fits else None
    if pa.types.is_integer(type_):
        signed_bits = type_.bit_width + pa.types.is_unsigned_integer(type_)
        return types.INT if signed_bits <= 32 else types.BIGINT
    for kind in (Kind.BOOLEAN, Kind.DOUBLE, Kind.STRING, Kind.BINARY, Kind.TIMESTAMP, Kind.DATE):
        if _FITTING[kind](type_):
            return Type(kind)
    return None
