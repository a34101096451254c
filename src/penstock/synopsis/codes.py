"""Codes: every SQL value as one int64, so that kernels see nothing but integers.

| type                                      | code                                                       |
| ----------------------------------------- | ---------------------------------------------------------- |
| BOOLEAN                                   | 0 or 1                                                     |
| INT, BIGINT, TIMESTAMP, DATE, INTERVAL    | the integer                                                |
| DOUBLE                                    | the IEEE bits, with one NaN and without -0.0               |
| DECIMAL of up to 18 digits                | the unscaled integer                                       |
| STRING, BINARY, DECIMAL of more digits    | a number that a `Dictionary` gave the value                |
| NULL, of any type                         | 0; that it is NULL is written elsewhere                    |

Two values of one type are equal just when their codes are. Arrow arrays are read and written whole: Python sees only
the distinct values that a dictionary holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from penstock.synopsis.dictionary import Dictionary, Interned
from penstock.synopsis.memory import Ints
from penstock.types import Kind, Type

Nulls = NDArray[np.bool_] | None

#: Digits of the widest DECIMAL of which every value fits 64 bits.
NARROW_PRECISION = 18


class Encoder(Protocol):
    """What gives numbers to values: a dictionary, or the transient codes of a batch."""

    def encode(self, values: Iterable[Interned]) -> Ints: ...


def is_interned(type_: Type) -> bool:
    """Whether the codes of a type are numbers of a dictionary."""
    return type_.kind in (Kind.STRING, Kind.BINARY) or _is_wide(type_)


def double_codes(values: NDArray[np.float64]) -> Ints:
    """The bits of each DOUBLE, alike for all NaNs and for both zeros."""
    with np.errstate(invalid="ignore"):  # a signalling NaN
        canonical = values + 0.0  # -0.0 + 0.0 is 0.0
    canonical[np.isnan(canonical)] = np.nan
    return canonical.view(np.int64)


def encode_column(array: pa.Array | pa.ChunkedArray, type_: Type, dictionary: Encoder) -> tuple[Ints, Nulls]:
    """The codes of an Arrow column, and where it is NULL (None: nowhere)."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.type != arrow_type(type_):
        array = array.cast(arrow_type(type_))
    nulls = nulls_of(array)
    if is_interned(type_):
        return _encode_interned(array, nulls, dictionary), nulls
    codes = _ENCODERS.get(type_.kind, _plain_numbers)(array)
    return codes if nulls is None else np.where(nulls, 0, codes), nulls


def decode_column(codes: Ints, nulls: Nulls, type_: Type, dictionary: Dictionary) -> pa.Array:
    """The Arrow array of codes, in the type's `arrow_type`."""
    if is_interned(type_):
        return _interned_array(codes, nulls, type_, dictionary)
    return _DECODERS.get(type_.kind, _viewed_array)(codes, nulls, arrow_type(type_))


def arrow_type(type_: Type) -> pa.DataType:
    if type_.kind is Kind.DECIMAL:
        return pa.decimal128(type_.precision, type_.scale)
    return _ARROW_TYPES[type_.kind]


_ARROW_TYPES: dict[Kind, pa.DataType] = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Kind.DATE: pa.date32(),
    # These two are never declared nor queried, but may pass between the stages of a plan.
    Kind.INTERVAL: pa.duration("us"),
    Kind.NULL: pa.null(),
}


def _is_wide(type_: Type) -> bool:
    return type_.precision is not None and type_.precision > NARROW_PRECISION


def nulls_of(array: pa.Array) -> Nulls:
    """Where an Arrow array is NULL."""
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False)) if array.null_count else None


def _plain_numbers(array: pa.Array) -> Ints:
    """A fixed-width array as int64; where it is NULL there is something."""
    width = np.dtype(f"i{array.type.bit_width // 8}")
    if len(array) == 0:
        return np.zeros(0, np.int64)
    held = np.frombuffer(array.buffers()[1], width)[array.offset : array.offset + len(array)]
    return held.astype(np.int64, copy=False)


def decimal_words(array: pa.Array) -> Ints:
    """Two words per DECIMAL, the low one first."""
    if len(array) == 0:
        return np.zeros((0, 2), np.int64)
    words = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)
    return words[array.offset : array.offset + len(array)]


_ENCODERS: dict[Kind, Callable[[pa.Array], Ints]] = {
    Kind.BOOLEAN: lambda array: array.fill_null(False).to_numpy(zero_copy_only=False).astype(np.int64),
    Kind.DOUBLE: lambda array: double_codes(_plain_numbers(array).view(np.float64)),
    Kind.DECIMAL: lambda array: decimal_words(array)[:, 0].copy(),
    Kind.NULL: lambda array: np.zeros(len(array), np.int64),
}


def _viewed_array(codes: Ints, nulls: Nulls, to: pa.DataType) -> pa.Array:
    numbers = codes.astype(f"i{to.bit_width // 8}", copy=False)
    return pa.array(numbers, mask=nulls).view(to)


def _decimal_array(words: Ints, nulls: Nulls, to: pa.DataType) -> pa.Array:
    valid = None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little").tobytes())
    return pa.Array.from_buffers(to, len(words), [valid, pa.py_buffer(words.tobytes())])


_DECODERS: dict[Kind, Callable[[Ints, Nulls, pa.DataType], pa.Array]] = {
    Kind.BOOLEAN: lambda codes, nulls, to: pa.array(codes != 0, to, mask=nulls),
    Kind.DOUBLE: lambda codes, nulls, to: pa.array(codes.view(np.float64), to, mask=nulls, from_pandas=False),
    # The high word of a number that fits the low one repeats its sign.
    Kind.DECIMAL: lambda codes, nulls, to: _decimal_array(np.stack([codes, codes >> 63], axis=1), nulls, to),
    Kind.NULL: lambda codes, nulls, to: pa.nulls(len(codes)),
}


def _encode_interned(array: pa.Array, nulls: Nulls, dictionary: Encoder) -> Ints:
    """The codes of STRINGs, BINARYs or DECIMALs: each distinct value is looked up once."""
    coded = array.dictionary_encode()
    codes = dictionary.encode(_distinct_values(coded.dictionary))
    if nulls is None:
        return codes[_plain_numbers(coded.indices)]
    spread = np.zeros(len(array), np.int64)
    spread[~nulls] = codes[_plain_numbers(coded.indices)[~nulls]]
    return spread


def _distinct_values(distinct: pa.Array) -> list[Interned]:
    """The values of a short array without NULLs, a DECIMAL as its unscaled integer."""
    if not pa.types.is_decimal(distinct.type):
        return distinct.to_pylist()  # type: ignore[no-any-return]
    words = decimal_words(distinct)
    low, high = words[:, 0].view(np.uint64).tolist(), words[:, 1].tolist()
    return [(above << 64) + below for below, above in zip(low, high, strict=True)]


def _interned_array(codes: Ints, nulls: Nulls, type_: Type, dictionary: Dictionary) -> pa.Array:
    """Each distinct value goes to Arrow once, and Arrow repeats it."""
    live = codes if nulls is None else codes[~nulls]
    used, positions = np.unique(live, return_inverse=True)
    index = np.zeros(len(codes), np.int64)
    index[slice(None) if nulls is None else ~nulls] = positions
    values = _array_of(dictionary.values(used), type_)
    return values.take(pa.array(index, mask=nulls))


def _array_of(values: list[Any], type_: Type) -> pa.Array:
    to = arrow_type(type_)
    if type_.kind is not Kind.DECIMAL:
        return pa.array(values, to)
    low = np.array([value & (2**64 - 1) for value in values], np.uint64).view(np.int64)
    high = np.array([value >> 64 for value in values], np.int64)
    return _decimal_array(np.stack([low, high], axis=1), None, to)
