"""What aggregates such as MAX_BY, APPROX_COUNT_DISTINCT and VARIANCE are composed of, value by value."""

from __future__ import annotations

import hashlib
import math
import struct
from decimal import Decimal
from fractions import Fraction
from typing import Any

from penstock.types import Kind, Type
from tests.reference.numbers import nearest_double
from tests.reference.values import Value


def sort_key(args: tuple[Any, ...], types: tuple[Type, ...], result: Type) -> Value:
    pieces = [_in_order(value, type_) for value, type_ in zip(args, types, strict=True)]
    return pieces[0] + (b"\1" + pieces[1] + struct.pack(">I", len(pieces[1])) if len(pieces) > 1 else bytes(5))


def sorted_value(args: tuple[Any, ...], types: tuple[Type, ...], result: Type) -> Value:
    key = args[0]
    (size,) = struct.unpack(">I", key[-4:])
    if key[len(key) - size - 5] == 0:
        return None
    return _read(key[len(key) - size - 4 : -4], result)


def _in_order(value: Any, type_: Type) -> bytes:
    """Bytes that compare as the values do; those of a text end where no other text goes on."""
    if isinstance(value, str | bytes):
        content = value.encode() if isinstance(value, str) else value
        return b"".join(b"\0\xff" if byte == 0 else bytes([byte]) for byte in content) + b"\0\0"
    if isinstance(value, float):
        if math.isnan(value):
            value = math.nan
        (bits,) = struct.unpack(">q", struct.pack(">d", value + 0.0))
        return struct.pack(">Q", bits + (1 << 63) if bits >= 0 else -1 - bits)
    if isinstance(value, Decimal):
        assert type_.scale is not None
        value = int(Fraction(value) * 10**type_.scale)
        return int(value + (1 << 135)).to_bytes(17, "big")
    return struct.pack(">Q", int(value) + (1 << 63))


def _read(data: bytes, type_: Type) -> Value:
    match type_.kind:
        case Kind.STRING | Kind.BINARY:
            content = data[:-2].replace(b"\0\xff", b"\0")
            return content.decode() if type_.kind is Kind.STRING else content
        case Kind.DECIMAL:
            assert type_.scale is not None
            return Decimal(int.from_bytes(data, "big") - (1 << 135)).scaleb(-type_.scale)
        case Kind.DOUBLE:
            (word,) = struct.unpack(">Q", data)
            bits = word - (1 << 63) if word >= 1 << 63 else (1 << 64) - 1 - word
            found: float = struct.unpack(">d", struct.pack(">Q", bits))[0]
            return found
        case Kind.BOOLEAN:
            return data[-1] == 1
    return int.from_bytes(data, "big") - (1 << 63)


def coupon(args: tuple[Any, ...], types: tuple[Type, ...], result: Type) -> Value:
    value, bits = args
    number = int.from_bytes(hashlib.blake2b(_in_order(value, types[0]), digest_size=16).digest(), "big")
    row, number = number % 2**bits, number // 2**bits
    place = 0
    while place < 63 and number % 2 == 0:
        number, place = number // 2, place + 1
    return row * 64 + place


def estimate(coupons: int, bits: int) -> int:
    """The whole number of values nearest to the one that draws as many coupons on the average."""
    if coupons == 0:
        return 0
    few, many = 0, 2**62
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if _drawn(middle, bits) < coupons else (few, middle)
    return few if few and coupons - _drawn(few, bits) < _drawn(many, bits) - coupons else many


def _drawn(values: int, bits: int) -> float:
    chances = [2.0 ** (-bits - place) for place in [*range(1, 64), 63]]
    return 2**bits * math.fsum(-math.expm1(values * math.log1p(-chance)) for chance in chances)


def variance_term(value: float, number: int) -> float:
    high, low = _halves(value)
    square, rest = _halves(high * high)
    return (high, low, square, rest, 2 * high * low, low * low)[number]


def _halves(value: float) -> tuple[float, float]:
    scaled = 134217729.0 * value
    high = scaled - (scaled - value)
    return high, value - high


def variance(count: int, *sums: float) -> float | None:
    *terms, is_sample = sums
    if count == 0 or count - is_sample == 0:
        return None
    if any(math.isinf(term) or math.isnan(term) for term in terms):
        return math.nan
    exact = [Fraction(term) for term in terms]
    of_squares, of_values = sum(exact[2:]), sum(exact[:2])
    return nearest_double(max(Fraction(0), (of_squares - of_values * of_values / count) / int(count - is_sample)))
