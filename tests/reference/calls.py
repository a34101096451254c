"""The scalar functions of `penstock.algebra.functions`: for each what it computes.

A function that does not look at NULLs itself is NULL if an argument is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from penstock.algebra.functions import ALL_FUNCTIONS
from penstock.types import BIGINT, DAY, HOUR, MILLISECOND, MINUTE, SECOND, TIMESTAMP, Kind, Type
from tests.reference import civil, composed, text_patterns, zoned
from tests.reference.numbers import fit_decimal, fit_integer, nearest_double, round_half_away, shortest_decimal
from tests.reference.values import Value, canonical, less


def call(function: str, args: tuple[Value, ...], types: tuple[Type, ...], result: Type, zone: str = "UTC") -> Value:
    if None in args and not ALL_FUNCTIONS[function].handles_null:
        return None
    if zone != "UTC" and function == "DATE_TRUNC" and args[0] not in ("SECOND", "MILLISECOND", "MICROSECOND"):
        unit, time = args
        assert isinstance(unit, str)
        assert isinstance(time, int)
        return fit_integer(zoned.truncated(unit, time, zone), TIMESTAMP)
    if function in ("DATE_FORMAT", "TO_TIMESTAMP"):
        return {"DATE_FORMAT": text_patterns.date_format, "TO_TIMESTAMP": text_patterns.to_timestamp}[function](
            *args, zone
        )  # type: ignore[operator]
    if zone != "UTC" and function != "DATE_TRUNC":
        args = tuple(zoned.shown(time, zone) for time in args if isinstance(time, int))
    if function in _OF_TYPES:
        return _OF_TYPES[function](args, types, result)
    return _OF_VALUES[function](*args)


def _abs(args: tuple[Any, ...], types: tuple[Type, ...], result: Type) -> Value:
    value = args[0]
    if isinstance(value, Decimal):
        return value.copy_abs()
    return abs(value) if isinstance(value, float) else fit_integer(abs(value), result)


def _whole(rounding: Callable[[Fraction], int]) -> Callable[[tuple[Any, ...], tuple[Type, ...], Type], Value]:
    """CEIL and FLOOR."""

    def whole(args: tuple[Any, ...], types: tuple[Type, ...], result: Type) -> Value:
        if isinstance(args[0], float) and not math.isfinite(args[0]):
            return None
        number = rounding(Fraction(args[0]))
        return fit_decimal(Fraction(number), result) if result.kind is Kind.DECIMAL else fit_integer(number, result)

    return whole


def _first_by(better: Callable[[Value, Value], bool]) -> Callable[..., Value]:
    """GREATEST and LEAST: the best of the values that are not NULL."""

    def best(*args: Value) -> Value:
        chosen: Value = None
        for value in args:
            if value is not None and (chosen is None or better(value, chosen)):
                chosen = canonical(value)
        return chosen

    return best


def _coalesce(*args: Value) -> Value:
    return next((value for value in args if value is not None), None)


def _round(value: float, digits: int = 0) -> float:
    # No DOUBLE has a digit that far from the point.
    if not math.isfinite(value) or digits > 400:
        return value
    if digits < -400:
        return 0.0
    unit = Fraction(10) ** -digits
    return nearest_double(round_half_away(shortest_decimal(value) / unit) * unit)


def _sqrt(value: float) -> float:
    return math.nan if value < 0 else math.sqrt(value)


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _ln(value: float) -> float | None:
    return None if value <= 0 else math.log(value)


def _power(base: float, exponent: float) -> float:
    """Java's rules, which Spark has: NaN where C says that 1 to the power of NaN or infinity is 1."""
    if math.isnan(exponent) or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    odd = math.isfinite(exponent) and exponent % 2 == 1
    sign = -1.0 if odd and math.copysign(1.0, base) < 0 else 1.0
    if base == 0 and exponent < 0:
        return sign * math.inf
    if base < 0 and math.isfinite(base) and math.isfinite(exponent) and exponent != math.floor(exponent):
        return math.nan
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return sign * math.inf


def _substring(text: str, position: int, length: int | None = None) -> str:
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = len(text) if length is None else start + length
    return text[max(start, 0) : max(end, 0)]


def _replace(text: str, search: str, replacement: str) -> str:
    return text.replace(search, replacement) if search else text


def _times(unit: int) -> Callable[[int], int | None]:
    return lambda value: fit_integer(value * unit, BIGINT)


_FIXED_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": MILLISECOND,
    "SECOND": SECOND,
    "MINUTE": MINUTE,
    "HOUR": HOUR,
    "DAY": DAY,
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _date_trunc(unit: str, time: int) -> int | None:
    if unit in _FIXED_UNITS:
        return fit_integer(time // _FIXED_UNITS[unit] * _FIXED_UNITS[unit], TIMESTAMP)
    days = time // DAY
    if unit == "WEEK":
        first: int | None = days - (days + 3) % 7  # 1970-01-01 was a Thursday
    else:
        year, month, _ = civil.from_days(days)
        first = civil.to_days(year, month - (month - 1) % _MONTHS[unit], 1)
    assert first is not None
    return fit_integer(first * DAY, TIMESTAMP)


def _civil_part(part: int) -> Callable[[tuple[Any, ...], tuple[Type, ...], Type], Value]:
    """YEAR, MONTH and DAY, of a TIMESTAMP or a DATE."""

    def of(args: tuple[Any, ...], types: tuple[Type, ...], result: Type) -> Value:
        return civil.from_days(args[0] // DAY if types[0] == TIMESTAMP else args[0])[part]

    return of


#: Functions that need the types of their arguments or result.
_OF_TYPES: dict[str, Callable[[tuple[Any, ...], tuple[Type, ...], Type], Value]] = {
    "ABS": _abs,
    "CEIL": _whole(math.ceil),
    "FLOOR": _whole(math.floor),
    "YEAR": _civil_part(0),
    "MONTH": _civil_part(1),
    "DAY": _civil_part(2),
    "_SORT_KEY": composed.sort_key,
    "_SORTED_VALUE": composed.sorted_value,
    "_COUPON": composed.coupon,
}

_OF_VALUES: dict[str, Callable[..., Value]] = {
    "ROUND": _round,
    "SQRT": _sqrt,
    "EXP": _exp,
    "LN": _ln,
    "POWER": _power,
    "GREATEST": _first_by(lambda a, b: less(b, a)),
    "LEAST": _first_by(less),
    "COALESCE": _coalesce,
    "UPPER": str.upper,
    "LOWER": str.lower,
    "TRIM": lambda text: text.strip(" "),
    "LTRIM": lambda text: text.lstrip(" "),
    "RTRIM": lambda text: text.rstrip(" "),
    "REVERSE": lambda text: text[::-1],
    "LENGTH": len,
    "CONCAT": lambda *texts: "".join(texts),
    "SUBSTRING": _substring,
    "REPLACE": _replace,
    "CONTAINS": lambda text, part: part in text,
    "STARTSWITH": str.startswith,
    "ENDSWITH": str.endswith,
    "INSTR": lambda text, part: text.find(part) + 1,
    "UNIX_MICROS": lambda time: time,
    "UNIX_MILLIS": lambda time: time // MILLISECOND,
    "UNIX_SECONDS": lambda time: time // SECOND,
    "TIMESTAMP_MICROS": _times(1),
    "TIMESTAMP_MILLIS": _times(MILLISECOND),
    "TIMESTAMP_SECONDS": _times(SECOND),
    "DATE_TRUNC": _date_trunc,
    "HOUR": lambda time: time % DAY // HOUR,
    "MINUTE": lambda time: time % HOUR // MINUTE,
    "SECOND": lambda time: time % MINUTE // SECOND,
    "RLIKE": text_patterns.rlike,
    "REGEXP_EXTRACT": text_patterns.regexp_extract,
    "_ESTIMATE": composed.estimate,
    "_VARIANCE_TERM": composed.variance_term,
    "_VARIANCE": composed.variance,
}
