"""Casts: the value of another type, or NULL where there is none."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

from penstock.types import DAY, Kind, Type
from tests.reference import civil, zoned
from tests.reference.numbers import fit_decimal, fit_integer, nearest_double, shortest_decimal, truncate
from tests.reference.values import Value

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)
_TIME = re.compile(
    r"([+-]?[0-9]{4,6})-([0-9]{2})-([0-9]{2})"
    r"(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_TRUE = ("true", "t", "yes", "y", "1")
_FALSE = ("false", "f", "no", "n", "0")


def cast(value: Value, source: Type, target: Type, zone: str = "UTC") -> Value:
    if value is None:
        return None
    if source == target:
        return value
    if source.kind is Kind.TIMESTAMP:
        assert isinstance(value, int)
        value = zoned.shown(value, zone)
    match target.kind:
        case Kind.BOOLEAN:
            return _boolean(value)
        case Kind.INT | Kind.BIGINT:
            return _integer(value, target)
        case Kind.DECIMAL:
            number = _number(value, _DECIMAL)
            return None if number is None else fit_decimal(number, target)
        case Kind.DOUBLE:
            return _double(value)
        case Kind.STRING:
            return _string(value, source)
        case Kind.BINARY:
            assert isinstance(value, str)
            return value.encode()
        case Kind.TIMESTAMP:
            return _timestamp(value, zone)
        case Kind.DATE:
            return _date(value)
    raise AssertionError(f"no cast from {source} to {target}")


def _boolean(value: Value) -> bool | None:
    if isinstance(value, int):
        return value != 0
    assert isinstance(value, str)
    word = value.strip(" ").lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _integer(value: Value, target: Type) -> int | None:
    """Digits after the point are cut off."""
    number = Fraction(value) if isinstance(value, float) and math.isfinite(value) else _number(value, _INTEGER)
    return None if number is None else fit_integer(truncate(number), target)


def _number(value: Value, syntax: re.Pattern[str]) -> Fraction | None:
    """The exact number; of a DOUBLE the one that it prints as."""
    match value:
        case str():
            text = value.strip(" ")
            return Fraction(Decimal(text)) if syntax.fullmatch(text) else None
        case float():
            return shortest_decimal(value) if math.isfinite(value) else None
        case int() | Decimal():
            return Fraction(value)
    raise AssertionError(f"{value!r} is no number")


def _double(value: Value) -> float | None:
    if isinstance(value, str):
        text = value.strip(" ")
        return float(text) if _DOUBLE.fullmatch(text) else None
    assert isinstance(value, int | Decimal)
    return nearest_double(Fraction(value))


def _string(value: Value, source: Type) -> str | None:
    match source.kind:
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case Kind.DECIMAL:
            assert isinstance(value, Decimal)
            return f"{value:.{source.scale}f}"
        case Kind.BINARY:
            assert isinstance(value, bytes)
            return _utf8(value)
        case Kind.TIMESTAMP:
            assert isinstance(value, int)
            return _timestamp_text(value)
        case Kind.DATE:
            assert isinstance(value, int)
            return _date_text(value)
    return str(value)


def _utf8(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _timestamp_text(value: int) -> str:
    days, rest = divmod(value, DAY)
    seconds, micros = divmod(rest, 1_000_000)
    fraction = f".{micros:06}".rstrip("0").rstrip(".")
    return f"{_date_text(days)} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


def _date_text(days: int) -> str:
    """The year has four digits or more, and a sign where it needs one to be read: Spark's form."""
    year, month, day = civil.from_days(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def _timestamp(value: Value, zone: str) -> int | None:
    if isinstance(value, str):
        read = _read_time(value)
        return None if read is None else _fit_time(zoned.instant(read[1], zone) if read[2] else read[1])
    assert isinstance(value, int)
    return _fit_time(zoned.start_of_day(value, zone))


def _date(value: Value) -> int | None:
    if isinstance(value, str):
        read = _read_time(value)
        return None if read is None else read[0]
    assert isinstance(value, int)
    return value // DAY


def _read_time(text: str) -> tuple[int, int, bool] | None:
    """The date as it is written, the time, and whether that has no zone; None if it is neither date nor timestamp."""
    match = _TIME.fullmatch(text.strip(" "))
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = civil.to_days(int(year), int(month), int(day))
    clock = [int(part or 0) for part in (hour, minute, second)]
    offset = _offset(zone)
    if days is None or clock[0] > 23 or clock[1] > 59 or clock[2] > 59 or offset is None:
        return None
    seconds = clock[0] * 3600 + clock[1] * 60 + clock[2] - offset
    micros = int((fraction or "").ljust(6, "0")[:6])
    return days, days * DAY + seconds * 1_000_000 + micros, zone is None


def _offset(zone: str | None) -> int | None:
    """Seconds east of UTC; a zone is at most 18 hours away."""
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    seconds = hours * 3600 + minutes * 60
    if minutes > 59 or seconds > 18 * 3600:
        return None
    return -seconds if zone[0] == "-" else seconds


def _fit_time(micros: int) -> int | None:
    return fit_integer(micros, Type(Kind.TIMESTAMP))
