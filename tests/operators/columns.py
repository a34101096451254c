"""Columns of every type, values of them near the places where things go wrong, and rows as machines hold them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

from penstock.algebra.expressions import Column
from penstock.algebra.relations import Schema
from penstock.synopsis.codes import arrow_type, encode_column
from penstock.synopsis.deltas import assemble
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints
from penstock.types import (
    BIGINT,
    BIGINT_RANGE,
    BINARY,
    BOOLEAN,
    DATE,
    DAY,
    DOUBLE,
    INT,
    INT_RANGE,
    INTERVAL,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
    decimal,
)
from tests.reference.values import Value

#: For tests that there are many of.
FEW = settings(max_examples=max(20, settings.default.max_examples // 5))

PRICE = decimal(4, 2)
NARROW = decimal(18, 6)
WIDE = decimal(38, 10)
LONG = decimal(38, 0)
TINY = decimal(38, 38)

TEXTS = [
    "", " ", "a", "b", "ab", "AB", "a%b", "_", "\\", "\n", "äß", "İ", "日本語", "🙂a", "it's", "aaa",
    "true", " No ", "1", "-0", " 42 ", "+7", "1.5", "-.005", "12.345", "99.995", "1e3", "-1E-7", "nan", "-Infinity",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "2147483648", "0" * 30 + "8", ".", "1_0",
    "2024-02-29", "2023-02-29", "1900-02-29", "-0044-03-15", "+10000-01-01", "2024-13-01", "2024-01-32", "2024-00-10",
    "2024-06-01 12:34", "2024-06-01T23:59:59.1234567Z", "2024-06-01 00:00:00+18:00", "2024-06-01 00:00:00-0530",
    "2024-06-01 00:00+19", "2024-06-01 24:00", "294247-01-10 04:00:54.775807", "294247-01-10 04:00:54.775808",
    "-290308-12-21 19:59:05.224192", "999999-12-31", "١",
]  # fmt: skip


def _around(low: int, high: int) -> st.SearchStrategy[int]:
    """Small numbers, the ends of a range, what is next to them, and all between."""
    ends = st.sampled_from([low, low + 1, high - 1, high])
    return st.one_of(st.integers(-3, 3), ends, st.integers(low, high), st.integers(-1000, 1000))


def decimals(type_: Type) -> st.SearchStrategy[Decimal]:
    assert type_.precision is not None
    largest = 10**type_.precision - 1
    return _around(-largest, largest).map(lambda unscaled: scaled(unscaled, type_))


def scaled(unscaled: int, type_: Type) -> Decimal:
    assert type_.scale is not None
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -type_.scale))


_DOUBLES = [0.0, 1.0, -1.5, 0.5, 2.5, 1.005, 2.675, 1e15 + 0.5, -1e-9, 5e-324, 1e22, 1e23, 1e300, -1e300]
_DOUBLES += [
    2.0**31,
    -(2.0**31) - 1,
    2.0**53 + 2,
    2.0**63,
    -(2.0**63),
    math.inf,
    -math.inf,
    math.nan,
    99.995,
    3.0,
    -2.0,
]

VALUES: dict[Type, st.SearchStrategy[Value]] = {
    BOOLEAN: st.booleans(),
    INT: _around(*INT_RANGE),
    BIGINT: _around(*BIGINT_RANGE),
    PRICE: decimals(PRICE),
    NARROW: decimals(NARROW),
    WIDE: decimals(WIDE),
    LONG: decimals(LONG),
    TINY: decimals(TINY),
    # Of the zeros only 0.0, since a column holds no other.
    DOUBLE: st.one_of(
        st.sampled_from(_DOUBLES),
        st.integers(-(10**6), 10**6).map(lambda n: n / 1000),
        st.floats().map(lambda x: x + 0.0),
    ),
    STRING: st.one_of(st.sampled_from(TEXTS), st.text("aAb %_\\é", max_size=5), st.sampled_from(TEXTS[:12])),
    BINARY: st.sampled_from([b"", b"a", b"ab", b"\xff", "é".encode(), b"\x00"]),
    TIMESTAMP: st.one_of(_around(*BIGINT_RANGE), st.integers(-(10**17), 10**17)),
    DATE: st.one_of(_around(-106_751_991, 106_751_992), st.integers(-(10**6), 10**6)),
    INTERVAL: st.one_of(_around(*BIGINT_RANGE), st.sampled_from([DAY, -DAY, 1_000_000])),
}

#: Two columns of each type.
SCHEMA: Schema = tuple(
    Column("t", f"{name}{number}", type_) for number, type_ in enumerate(VALUES) for name in ("left", "right")
)


def columns_of(type_: Type) -> list[Column]:
    return [column for column in SCHEMA if column.type == type_]


def or_null(values: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    """Now and then NULL."""
    return st.integers(0, 4).flatmap(lambda n: values if n else st.none())


def coded(values: Sequence[Sequence[Any]], schema: Schema, dictionary: Dictionary) -> Ints:
    """Rows of values as a matrix of codes."""
    columns = [
        encode_column(arrow([row[position] for row in values], column.type), column.type, dictionary)
        for position, column in enumerate(schema)
    ]
    return assemble(columns, len(values))


def arrow(values: Sequence[Any], type_: Type) -> pa.Array:
    """The Arrow array of values as `penstock.types` holds them."""
    plain = {Kind.TIMESTAMP: pa.int64(), Kind.INTERVAL: pa.int64(), Kind.DATE: pa.int32()}
    if type_.kind in plain:
        return pa.array(values, plain[type_.kind]).view(arrow_type(type_))
    return pa.array(values, arrow_type(type_), from_pandas=False)


def plain(array: pa.Array, type_: Type) -> list[Value]:
    """The values of an Arrow array: `arrow` backwards."""
    if type_.kind in (Kind.TIMESTAMP, Kind.INTERVAL):
        array = array.view(pa.int64())
    if type_.kind is Kind.DATE:
        array = array.view(pa.int32())
    return array.to_pylist()


def same_nulls(left: np.ndarray | None, right: np.ndarray | None, count: int) -> bool:
    none = np.zeros(count, np.bool_)
    return bool(np.array_equal(none if left is None else left, none if right is None else right))
