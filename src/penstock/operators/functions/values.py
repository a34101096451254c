"""Python values in and out of user functions.

| type        | Python                                           |
| ----------- | ------------------------------------------------ |
| BOOLEAN     | bool                                             |
| INT, BIGINT | int                                              |
| DECIMAL     | decimal.Decimal with the type's scale            |
| DOUBLE      | float; NaN may occur, -0.0 is given as 0.0       |
| STRING      | str                                              |
| BINARY      | bytes                                            |
| TIMESTAMP   | datetime.datetime with a time zone, given in UTC |
| DATE        | datetime.date                                    |

NULL is None. A result is of just this type, and fits: nothing is converted in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from types import NoneType
from typing import Any

from penstock.masking import shortened
from penstock.operators.functions.failures import Misfit
from penstock.types import BIGINT_RANGE, INT_RANGE, MAX_PRECISION, Kind, Type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1).toordinal()
#: Wide enough for every DECIMAL.
_EXACT = Context(prec=60)
_MICROSECOND = timedelta(microseconds=1)


def reader(type_: Type) -> Callable[[Any], Any] | None:
    """What makes the Python value of a value as a vector has it; None if they are one."""
    match type_.kind:
        case Kind.DECIMAL:
            assert type_.scale is not None
            scale = -type_.scale
            return lambda unscaled: Decimal(unscaled).scaleb(scale, _EXACT)
        case Kind.TIMESTAMP:
            return _read_timestamp
        case Kind.DATE:
            return _read_date
    return None


def writer(type_: Type) -> Callable[[Any], Any]:
    """What makes a value for a vector of a result, which is not None, or raises a Misfit."""
    if type_.kind is Kind.DECIMAL:
        return lambda value: _write_decimal(value, type_)
    return _WRITERS[type_.kind]


def plain_types(type_: Type) -> frozenset[type]:
    """The Python types of results that are values for a vector as they are."""
    return frozenset({_PLAIN[type_.kind], NoneType}) if type_.kind in _PLAIN else frozenset()


def _read_timestamp(microseconds: int) -> datetime:
    try:
        return _EPOCH + microseconds * _MICROSECOND
    except OverflowError as error:
        raise Misfit("is not called: a datetime is of the years 1 to 9999") from error


def _read_date(days: int) -> date:
    try:
        return date.fromordinal(_FIRST_DAY + days)
    except (OverflowError, ValueError) as error:
        raise Misfit("is not called: a date is of the years 1 to 9999") from error


def _write_integer(lowest: int, highest: int, name: str) -> Callable[[Any], int]:
    def write(value: Any) -> int:
        if type(value) is not int:
            raise _wrong(value, "an int")
        if not lowest <= value <= highest:
            shown = value if value.bit_length() < 256 else f"an int of {value.bit_length()} bits"
            raise Misfit(f"gave {shown}, which does not fit {name}")
        return value

    return write


def _write_double(value: Any) -> float:
    if not isinstance(value, float):
        raise _wrong(value, "a float")
    return float(value) + 0.0


def _write_exactly(kind: type, article: str) -> Callable[[Any], Any]:
    def write(value: Any) -> Any:
        if type(value) is not kind:
            raise _wrong(value, f"{article} {kind.__name__}")
        return value

    return write


def _write_string(value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(value, "a str")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise Misfit("gave a str that is not Unicode text: it has a lone surrogate") from error
    return str(value)


def _write_timestamp(value: Any) -> int:
    if not isinstance(value, datetime):
        raise _wrong(value, "a datetime.datetime")
    if value.utcoffset() is None:
        raise Misfit("gave a datetime without a time zone: add tzinfo, as datetime.UTC")
    return (value - _EPOCH) // _MICROSECOND


def _write_date(value: Any) -> int:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise _wrong(value, "a datetime.date")
    return value.toordinal() - _FIRST_DAY


def _write_decimal(value: Any, type_: Type) -> int:
    if not isinstance(value, Decimal):
        raise _wrong(value, "a decimal.Decimal")
    assert type_.precision is not None and type_.scale is not None
    unscaled = _unscaled(value, type_.scale)
    if unscaled is None or abs(unscaled) >= 10**type_.precision:
        raise Misfit(f"gave {shortened(str(value))}, which does not fit {type_}")
    return unscaled


def _unscaled(value: Decimal, scale: int) -> int | None:
    """A number times ten to the power of a scale, if that is a whole number that may fit."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or value.adjusted() > 2 * MAX_PRECISION:
        return None
    coefficient = int("".join(map(str, digits))) * (-1 if sign else 1)
    shift = exponent + scale
    power: int = 10 ** min(abs(shift), 2 * MAX_PRECISION + len(digits))
    if shift >= 0:
        return coefficient * power
    return None if coefficient % power else coefficient // power


def _wrong(value: Any, wanted: str) -> Misfit:
    return Misfit(f"gave {_article(type(value).__name__)}, not {wanted}")


def _article(name: str) -> str:
    return f"an {name}" if name.lower().startswith(tuple("aeiou")) else f"a {name}"


_PLAIN: dict[Kind, type] = {Kind.BOOLEAN: bool, Kind.BINARY: bytes}

_WRITERS: dict[Kind, Callable[[Any], Any]] = {
    Kind.BOOLEAN: _write_exactly(bool, "a"),
    Kind.INT: _write_integer(*INT_RANGE, "INT"),
    Kind.BIGINT: _write_integer(*BIGINT_RANGE, "BIGINT"),
    Kind.DOUBLE: _write_double,
    Kind.STRING: _write_string,
    Kind.BINARY: _write_exactly(bytes, "a"),
    Kind.TIMESTAMP: _write_timestamp,
    Kind.DATE: _write_date,
}
