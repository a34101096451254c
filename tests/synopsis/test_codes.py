"""Codes: what they are, and that values survive them."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.synopsis.codes import arrow_type, decode_column, encode_column, is_interned
from penstock.synopsis.dictionary import Dictionary
from penstock.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    decimal,
)
from tests.operators.columns import FEW, VALUES, arrow, or_null, plain
from tests.reference.values import Value, identity


@pytest.mark.parametrize("type_", VALUES, ids=str)
@FEW
@given(data=st.data())
def test_a_column_is_the_same_after_a_round_trip(type_: Type, data: st.DataObject) -> None:
    values = data.draw(st.lists(or_null(VALUES[type_]), max_size=8))
    dictionary = Dictionary(["something", b"else", 7])
    codes, nulls = encode_column(arrow(values, type_), type_, dictionary)
    array = decode_column(codes, nulls, type_, dictionary)
    array.validate(full=True)
    assert array.type == arrow_type(type_)
    assert _alike(plain(array, type_), values)


@pytest.mark.parametrize("type_", VALUES, ids=str)
@FEW
@given(data=st.data())
def test_codes_are_equal_just_when_values_are(type_: Type, data: st.DataObject) -> None:
    values = data.draw(st.lists(VALUES[type_], min_size=2, max_size=6))
    codes, nulls = encode_column(arrow(values, type_), type_, Dictionary())
    assert nulls is None
    for a, code in zip(values, codes.tolist(), strict=True):
        for b, other in zip(values, codes.tolist(), strict=True):
            assert (code == other) == (identity((a,)) == identity((b,)))


@pytest.mark.parametrize(
    ("type_", "values", "codes"),
    [
        (BOOLEAN, [True, False, None], [1, 0, 0]),
        (INT, [-(2**31), None, 5], [-(2**31), 0, 5]),
        (BIGINT, [2**63 - 1, -(2**63)], [2**63 - 1, -(2**63)]),
        (TIMESTAMP, [1, None], [1, 0]),
        (DATE, [-1, None], [-1, 0]),
        (INTERVAL, [-5, None], [-5, 0]),
        (decimal(18, 2), [Decimal("-1.50"), None], [-150, 0]),
        (DOUBLE, [-0.0, None, 1.0], [0, 0, 0x3FF0000000000000]),
        (STRING, ["b", None, "a", "b"], [0, 0, 1, 0]),
        (BINARY, [b"b", b""], [0, 1]),
        (decimal(19, 0), [Decimal(-7), None, Decimal(8)], [0, 0, 1]),
        (NULL, [None, None], [0, 0]),
    ],
    ids=str,
)
def test_what_the_codes_are(type_: Type, values: list[Value], codes: list[int]) -> None:
    assert encode_column(arrow(values, type_), type_, Dictionary())[0].tolist() == codes


def test_all_nans_have_one_code() -> None:
    bits = np.array([0x7FF8000000000000, 0x7FF0000000000001, -1], np.int64)
    codes, _ = encode_column(pa.array(bits.view(np.float64)), DOUBLE, Dictionary())
    assert len(set(codes.tolist())) == 1
    assert math.isnan(codes.view(np.float64)[0])


def test_decimals_of_38_digits_are_kept() -> None:
    values = [Decimal("9" * 38), Decimal("-" + "9" * 38), Decimal("-1"), None, Decimal(2**64), Decimal(-(2**64) - 1)]
    dictionary = Dictionary()
    codes, nulls = encode_column(arrow(values, decimal(38, 0)), decimal(38, 0), dictionary)
    assert dictionary.value(int(codes[1])) == -(10**38) + 1
    assert decode_column(codes, nulls, decimal(38, 0), dictionary).to_pylist() == values


@pytest.mark.parametrize("type_", [*VALUES, NULL], ids=str)
def test_an_empty_column(type_: Type) -> None:
    codes, nulls = encode_column(arrow([], type_), type_, Dictionary())
    assert codes.dtype == np.int64
    assert len(decode_column(codes, nulls, type_, Dictionary())) == 0


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_a_column_of_nothing_but_nulls(type_: Type) -> None:
    dictionary = Dictionary()
    codes, nulls = encode_column(arrow([None, None], type_), type_, dictionary)
    assert codes.tolist() == [0, 0]
    assert len(dictionary) == 0
    assert decode_column(codes, nulls, type_, dictionary).null_count == 2


@pytest.mark.parametrize("type_", [BOOLEAN, INT, DOUBLE, STRING, decimal(4, 2), decimal(38, 2)], ids=str)
def test_a_slice_is_read_from_where_it_starts(type_: Type) -> None:
    values = [value for value in _SOME[type_] for _ in range(5)]
    dictionary = Dictionary()
    sliced = arrow(values, type_).slice(3, 7)
    assert decode_column(*encode_column(sliced, type_, dictionary), type_, dictionary).equals(sliced)


_SOME: dict[Type, list[Value]] = {
    BOOLEAN: [True, None, False],
    INT: [1, None, 2],
    DOUBLE: [1.5, None, 2.5],
    STRING: ["a", None, "b"],
    decimal(4, 2): [Decimal("1.00"), None, Decimal("-2.00")],
    decimal(38, 2): [Decimal("1.00"), None, Decimal("-2.00")],
}


def test_other_arrow_types_of_the_same_values_are_taken() -> None:
    dictionary = Dictionary()
    chunks = pa.chunked_array([["x", "y"], ["x", None]]).dictionary_encode()
    assert encode_column(chunks, STRING, dictionary)[0].tolist() == [0, 1, 0, 0]
    assert encode_column(pa.array(["y"], pa.large_string()), STRING, dictionary)[0].tolist() == [1]
    assert encode_column(pa.array([3], pa.int16()), BIGINT, dictionary)[0].tolist() == [3]
    assert encode_column(pa.array([3], pa.timestamp("ms")), TIMESTAMP, dictionary)[0].tolist() == [3000]


def test_only_long_decimals_are_interned() -> None:
    assert [is_interned(type_) for type_ in (BIGINT, decimal(18, 0), decimal(19, 0), STRING)] == [
        False,
        False,
        True,
        True,
    ]


def _alike(left: list[Value], right: list[Value]) -> bool:
    return [identity((a,)) for a in left] == [identity((b,)) for b in right]
