"""The functions that aggregates are composed of: sort keys of MIN_BY and MAX_BY, coupons of approximate counts, terms
of a variance. `sql/composed_aggregates.py` says how they work together.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np

from penstock.operators.scalars.vectors import Data, VectorRule, per_distinct, total
from penstock.types import Kind, Type

_SIGN = 1 << 63
_WORD = 1 << 64
#: Veltkamp's constant: it splits the 53 bits of a DOUBLE into 26 and 27.
_SPLITTER = float((1 << 27) + 1)


def _sort_key(arguments: Sequence[Type], result: Type) -> VectorRule:
    """Bytes that sort as (by, value), and end in the number of those that the value takes."""

    def key(by: Any, *value: Any) -> bytes:
        tail = b"".join(_ordered(each, type_) for each, type_ in zip(value, arguments[1:], strict=True))
        return b"%b%c%b%b" % (_ordered(by, arguments[0]), len(value), tail, len(tail).to_bytes(4))

    return per_distinct(key, arguments, result)


def _sorted_value(arguments: Sequence[Type], result: Type) -> VectorRule:
    def value(key: bytes, _: Any) -> Any:
        size = int.from_bytes(key[-4:])
        return _value(key[-4 - size : -4], result) if key[-5 - size] else None

    return per_distinct(value, arguments, result)


def _ordered(value: Any, type_: Type) -> bytes:
    """Bytes in the order of values, of which none begins with another's."""
    match type_.kind:
        case Kind.STRING:
            return _ended(value.encode())
        case Kind.BINARY:
            return _ended(value)
        case Kind.DOUBLE:
            (bits,) = struct.unpack(">Q", struct.pack(">d", math.nan if math.isnan(value) else value + 0.0))
            return int(_WORD - 1 - bits if bits & _SIGN else bits | _SIGN).to_bytes(8)
        case Kind.DECIMAL:
            return int(value + (1 << 135)).to_bytes(17)
    return int(value + _SIGN).to_bytes(8)


def _ended(content: bytes) -> bytes:
    return content.replace(b"\0", b"\0\xff") + b"\0\0"


def _value(data: bytes, type_: Type) -> Any:
    match type_.kind:
        case Kind.STRING:
            return data[:-2].replace(b"\0\xff", b"\0").decode()
        case Kind.BINARY:
            return data[:-2].replace(b"\0\xff", b"\0")
        case Kind.DOUBLE:
            bits = int.from_bytes(data)
            return struct.unpack(">d", int(bits ^ _SIGN if bits & _SIGN else _WORD - 1 - bits).to_bytes(8))[0]
        case Kind.DECIMAL:
            return int.from_bytes(data) - (1 << 135)
        case Kind.BOOLEAN:
            return data[-1] == 1
    return int.from_bytes(data) - _SIGN


def _coupon(arguments: Sequence[Type], result: Type) -> VectorRule:
    """One of 64 coupons of one of 2^bits rows, each half as likely as the one before it (Flajolet and Martin)."""

    def coupon(value: Any, bits: int) -> int:
        drawn = int.from_bytes(blake2b(_ordered(value, arguments[0]), digest_size=16).digest())
        row, rest = drawn & ((1 << bits) - 1), drawn >> bits
        return row * 64 + min(63, (rest & -rest).bit_length() - 1 if rest else 63)

    return per_distinct(coupon, arguments, result)


def expected_coupons(values: int, bits: int) -> float:
    """How many different coupons so many values draw, on the average."""
    rows = 1 << bits
    odds = [math.ldexp(1.0, -bits - place) for place in range(1, 64)] + [math.ldexp(1.0, -bits - 63)]
    return rows * math.fsum(-math.expm1(values * math.log1p(-each)) for each in odds)


def estimate(coupons: int, bits: int) -> int:
    """The number of values that would draw so many coupons on the average (Lang's ICON estimator).

    >>> estimate(0, 8), estimate(1, 8), estimate(2000, 8)
    (0, 1, 45695)
    """
    low, high = 0, 1
    while high < 1 << 62 and expected_coupons(high, bits) < coupons:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if expected_coupons(middle, bits) < coupons else (low, middle)
    if not coupons:
        return 0
    nearer_low = coupons - expected_coupons(low, bits) < expected_coupons(high, bits) - coupons
    return low if nearer_low and low else high


def _variance_term(arguments: Sequence[Type], result: Type) -> VectorRule:
    return total(_terms)


def _terms(values: Data, number: Data) -> Data:
    """One of six terms: two that add up to a value, four that add up to its square, each without a rounding error."""
    high, low = _split(values)
    square_high, square_low = _split(high * high)
    choices = (high, low, square_high, square_low, 2 * high * low, low * low)
    return np.asarray(choices[int(number[0])])


def _split(values: Data) -> tuple[Data, Data]:
    scaled = _SPLITTER * values
    high = scaled - (scaled - values)
    return high, values - high


def _variance(arguments: Sequence[Type], result: Type) -> VectorRule:
    def variance(count: int, *terms: Any) -> float | None:
        *sums, is_sample = terms
        if count <= is_sample:
            return None
        if not all(map(math.isfinite, sums)):
            return math.nan
        high, low, *squares = map(Fraction, sums)
        spread = sum(squares, Fraction(0)) - (high + low) ** 2 / count
        return float(max(spread, Fraction(0)) / (count - is_sample))

    return per_distinct(variance, arguments, result)


#: What makes the rule of a call from the types of its arguments and of its result.
FUNCTIONS: dict[str, Callable[[Sequence[Type], Type], VectorRule]] = {
    "_SORT_KEY": _sort_key,
    "_SORTED_VALUE": _sorted_value,
    "_COUPON": _coupon,
    "_ESTIMATE": lambda arguments, result: per_distinct(estimate, arguments, result),
    "_VARIANCE_TERM": _variance_term,
    "_VARIANCE": _variance,
}
