"""Casts: the value of another type, or NULL where there is none."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np

from penstock.algebra.zones import DEFAULT
from penstock.operators.scalars import times
from penstock.operators.scalars.integers import power_of_ten, quotient_and_remainder
from penstock.operators.scalars.numbers import (
    double_from_unscaled,
    fit_decimal,
    fit_double,
    fit_exact,
    unscaled_from_double,
)
from penstock.operators.scalars.vectors import VectorRule, over_distinct, per_distinct, strict, total, vector_of
from penstock.types import BIGINT_RANGE, INT_RANGE, Kind, Type

Writer = Callable[[list[Any]], list[str | None]]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")
_DOUBLE = re.compile(_DECIMAL.pattern + r"([eE][+-]?[0-9]+)?|[+-]?([iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])")
_WORDS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}


def cast(source: Type, target: Type, zone: str = DEFAULT) -> VectorRule:
    if source == target:
        return total(lambda data: data)
    if source.kind is Kind.NULL:
        nothing = vector_of([None], target)
        return lambda batch, args: nothing
    if Kind.TIMESTAMP in (source.kind, target.kind):
        return _of_times(source, target, zone)
    if source.kind is Kind.STRING:
        return per_distinct(_READERS[target.kind](target), (source,), target)
    if target.kind is Kind.STRING:
        return over_distinct(_WRITERS.get(source.kind, _write_plainly)(source), (source,), target)
    return _CASTS[source.kind, target.kind](source, target)


def _of_times(source: Type, target: Type, zone: str) -> VectorRule:
    """Casts between a TIMESTAMP and what the clocks of a time zone show."""
    match source.kind, target.kind:
        case Kind.TIMESTAMP, Kind.DATE:
            return total(lambda data: times.to_days(data, zone))
        case Kind.DATE, _:
            return strict(lambda data: times.from_days(data, zone))
        case Kind.TIMESTAMP, _:
            return over_distinct(lambda values: times.timestamp_texts(values, zone), (source,), target)
    return over_distinct(lambda texts: times.read_timestamps(texts, zone), (source,), target)


def _from_double(source: Type, target: Type) -> VectorRule:
    return strict(lambda data: fit_double(np.trunc(data), target))


def _from_decimal(source: Type, target: Type) -> VectorRule:
    unit = power_of_ten(_scale(source))
    return strict(lambda data: fit_exact(quotient_and_remainder(data, unit)[0], target))


def _to_decimal(source: Type, target: Type) -> VectorRule:
    scale = _scale(source)
    return strict(lambda data: fit_decimal(data, scale, target))


def _to_double(source: Type, target: Type) -> VectorRule:
    scale = _scale(source)
    return total(lambda data: double_from_unscaled(data, scale))


def _to_boolean(source: Type, target: Type) -> VectorRule:
    return total(lambda data: data != 0)


def _to_integer(source: Type, target: Type) -> VectorRule:
    return strict(lambda data: fit_exact(data.astype(np.int64, copy=False), target))


_CASTS: dict[tuple[Kind, Kind], Callable[[Type, Type], VectorRule]] = {
    (Kind.BOOLEAN, Kind.INT): _to_integer,
    (Kind.BOOLEAN, Kind.BIGINT): _to_integer,
    (Kind.INT, Kind.BOOLEAN): _to_boolean,
    (Kind.INT, Kind.BIGINT): _to_integer,
    (Kind.INT, Kind.DECIMAL): _to_decimal,
    (Kind.INT, Kind.DOUBLE): _to_double,
    (Kind.BIGINT, Kind.BOOLEAN): _to_boolean,
    (Kind.BIGINT, Kind.INT): _to_integer,
    (Kind.BIGINT, Kind.DECIMAL): _to_decimal,
    (Kind.BIGINT, Kind.DOUBLE): _to_double,
    (Kind.DECIMAL, Kind.INT): _from_decimal,
    (Kind.DECIMAL, Kind.BIGINT): _from_decimal,
    (Kind.DECIMAL, Kind.DECIMAL): _to_decimal,
    (Kind.DECIMAL, Kind.DOUBLE): _to_double,
    (Kind.DOUBLE, Kind.INT): _from_double,
    (Kind.DOUBLE, Kind.BIGINT): _from_double,
    (Kind.DOUBLE, Kind.DECIMAL): lambda source, target: strict(lambda data: unscaled_from_double(data, target)),
}


def _scale(type_: Type) -> int:
    """Digits after the point; an integer is a DECIMAL without any."""
    return type_.scale or 0


def _read_integer(target: Type) -> Callable[[str], int | None]:
    low, high = INT_RANGE if target.kind is Kind.INT else BIGINT_RANGE

    def read(text: str) -> int | None:
        text = text.strip(" ")
        # Python refuses to read thousands of digits, even zeros.
        digits = text.lstrip("+-0")
        if not _INTEGER.fullmatch(text) or len(digits) > len(str(high)):
            return None
        number = int(digits or "0") * (-1 if text[0] == "-" else 1)
        return number if low <= number <= high else None

    return read


def _read_decimal(target: Type) -> Callable[[str], int | None]:
    scale = _scale(target)
    unit = Decimal((0, (1,), -scale))
    # A number that needs more digits than the precision is not quantized, but NaN.
    context = Context(prec=target.precision, rounding=ROUND_HALF_UP, traps=[])

    def read(text: str) -> int | None:
        text = text.strip(" ")
        if not _DECIMAL.fullmatch(text):
            return None
        number = Decimal(text).quantize(unit, context=context)
        return None if number.is_nan() else int(number.scaleb(scale, context))

    return read


def _read_double(target: Type) -> Callable[[str], float | None]:
    return lambda text: float(text) if _DOUBLE.fullmatch(text.strip(" ")) else None


def _read_boolean(target: Type) -> Callable[[str], bool | None]:
    return lambda text: _WORDS.get(text.strip(" ").lower())


#: For each type what makes the reader of its values from strings.
_READERS: dict[Kind, Callable[[Type], Callable[[str], object]]] = {
    Kind.BOOLEAN: _read_boolean,
    Kind.INT: _read_integer,
    Kind.BIGINT: _read_integer,
    Kind.DECIMAL: _read_decimal,
    Kind.DOUBLE: _read_double,
    Kind.BINARY: lambda target: str.encode,
    Kind.DATE: lambda target: times.read_date,
}


def _write_plainly(source: Type) -> Writer:
    return _each(str)


def _write_decimal(source: Type) -> Writer:
    scale = _scale(source)

    def write(unscaled: int) -> str:
        digits = str(abs(unscaled)).rjust(scale + 1, "0")
        point = len(digits) - scale
        sign = "-" if unscaled < 0 else ""
        return f"{sign}{digits[:point]}.{digits[point:]}" if scale else sign + digits

    return _each(write)


def _write_binary(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _each(write: Callable[..., str | None]) -> Writer:
    return lambda values: list(map(write, values))


#: For each type what makes the writer of a list of its values as strings.
_WRITERS: dict[Kind, Callable[[Type], Writer]] = {
    Kind.BOOLEAN: lambda source: _each(lambda value: "true" if value else "false"),
    Kind.DECIMAL: _write_decimal,
    Kind.BINARY: lambda source: _each(_write_binary),
    Kind.DATE: lambda source: times.date_texts,
}
