"""SQL types, and how a value of each is held in Python.

| type        | Python value                                        |
| ----------- | --------------------------------------------------- |
| BOOLEAN     | bool                                                |
| INT, BIGINT | int, of 32 and 64 bits                              |
| DECIMAL     | decimal.Decimal with the type's scale               |
| DOUBLE      | float; NaN equals NaN and is larger than all others |
| STRING      | str                                                 |
| BINARY      | bytes                                               |
| TIMESTAMP   | int, microseconds since 1970-01-01 UTC              |
| DATE        | int, days since 1970-01-01                          |
| INTERVAL    | int, microseconds                                   |

INTERVAL is the type of a difference of timestamps. It has no columns: it cannot be declared nor be a query's output.
NULL is the type of the literal NULL and of nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

INT_RANGE = (-(2**31), 2**31 - 1)
BIGINT_RANGE = (-(2**63), 2**63 - 1)
MAX_PRECISION = 38

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

#: The units in which times are written, from the largest.
UNITS = {
    "DAY": DAY,
    "HOUR": HOUR,
    "MINUTE": MINUTE,
    "SECOND": SECOND,
    "MILLISECOND": MILLISECOND,
    "MICROSECOND": MICROSECOND,
}


def parsed_duration(text: str) -> int | None:
    """Returns a time as SQL writes it, in microseconds; None if it is none.

    >>> parsed_duration("5 seconds"), parsed_duration("1 HOUR"), parsed_duration("soon")
    (5000000, 3600000000, None)
    """
    found = re.fullmatch(r"\s*(\d+)\s*([A-Za-z]+?)[sS]?\s*", text)
    return int(found[1]) * UNITS[found[2].upper()] if found and found[2].upper() in UNITS else None


def parsed_bytes(text: str) -> int | None:
    """Returns a number of bytes as it is written; None if it is none.

    >>> parsed_bytes("512MB"), parsed_bytes("2 GiB"), parsed_bytes("1000"), parsed_bytes("much")
    (512000000, 2147483648, 1000, None)
    """
    found = re.fullmatch(r"\s*(\d+)\s*([KMGT]?)(I?)B?\s*", text.upper())
    return int(found[1]) * (1024 if found[3] else 1000) ** " KMGT".index(found[2] or " ") if found else None


def duration_text(microseconds: int) -> str:
    """A time in the largest unit of which it is a whole number.

    >>> duration_text(600_000_000), duration_text(1_500_000), duration_text(-1)
    ('10 MINUTES', '1500 MILLISECONDS', '-1 MICROSECOND')
    """
    if microseconds == 0:
        return "0 SECONDS"
    name, unit = next((name, unit) for name, unit in UNITS.items() if microseconds % unit == 0)
    count = microseconds // unit
    return f"{count} {name}" if abs(count) == 1 else f"{count} {name}S"


#: Instants before 1971 are of data whose times count from 0.
_COUNTED_FROM_ZERO = 365 * 86_400_000_000


def instant_text(microseconds: int) -> str:
    """An instant as a time of day, in UTC; of times that count from 0, how much time has passed.

    >>> instant_text(1_767_268_800_500_000), instant_text(1_767_268_800_000_000)
    ('2026-01-01 12:00:00.5 UTC', '2026-01-01 12:00:00 UTC')
    >>> instant_text(90_061_500_000), instant_text(0), instant_text(2**61)
    ('25:01:01.5', '0:00:00', '2305843009213693952')
    """
    seconds, fraction = divmod(microseconds, 1_000_000)
    rest = f".{fraction:06}".rstrip("0") if fraction else ""
    if 0 <= microseconds < _COUNTED_FROM_ZERO:
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}{rest}"
    try:
        moment = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    except OverflowError:
        return str(microseconds)
    return f"{moment:%Y-%m-%d %H:%M:%S}{rest} UTC"


class TimeUnit(Enum):
    """What a column of times counts: `multiplier` microseconds, or one of `divisor` parts of a microsecond.

    The column keeps its own numbers; a stream's instants are microseconds. All methods take numbers or arrays of them.
    """

    DAYS = (86_400_000_000, 1)
    SECONDS = (1_000_000, 1)
    MILLISECONDS = (1_000, 1)
    MICROSECONDS = (1, 1)
    NANOSECONDS = (1, 1_000)

    def __init__(self, multiplier: int, divisor: int) -> None:
        self.multiplier = multiplier
        self.divisor = divisor

    @property
    def most(self) -> int:
        """The largest number whose instant fits 64 bits."""
        return BIGINT_RANGE[1] // self.multiplier

    def instant(self, value: Any) -> Any:
        """The microsecond that a number of the column lies in.

        >>> TimeUnit.MILLISECONDS.instant(7), TimeUnit.NANOSECONDS.instant(7_999)
        (7000, 7)
        """
        return value * self.multiplier // self.divisor

    def least(self, instant: Any) -> Any:
        """The least number of the column whose instant is not before one.

        >>> TimeUnit.MILLISECONDS.least(7_001), TimeUnit.NANOSECONDS.least(7)
        (8, 7000)
        """
        return -(-instant // self.multiplier) * self.divisor

    def in_instants(self, difference: int) -> int:
        """How far apart instants are at most, of numbers that are at most so far apart.

        >>> TimeUnit.SECONDS.in_instants(2), TimeUnit.NANOSECONDS.in_instants(2_001)
        (2000000, 3)
        """
        return -(-difference * self.multiplier // self.divisor)

    def in_numbers(self, difference: int) -> int:
        """How far apart numbers are at most, of instants that are at most so far apart.

        >>> TimeUnit.MILLISECONDS.in_numbers(2_999), TimeUnit.NANOSECONDS.in_numbers(2)
        (2, 2999)
        """
        return difference // self.multiplier * self.divisor + self.divisor - 1


class Kind(Enum):
    BOOLEAN = "BOOLEAN"
    INT = "INT"
    BIGINT = "BIGINT"
    DECIMAL = "DECIMAL"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    BINARY = "BINARY"
    TIMESTAMP = "TIMESTAMP"
    DATE = "DATE"
    INTERVAL = "INTERVAL"
    NULL = "NULL"

    #: Members are looked up in tables for every column of every batch, and an enum's own hash is slow.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Type:
    kind: Kind
    precision: int | None = None
    scale: int | None = None

    def __post_init__(self) -> None:
        if (self.kind is Kind.DECIMAL) != (self.precision is not None and self.scale is not None):
            raise ValueError("DECIMAL, and only DECIMAL, has a precision and a scale")
        if self.precision is not None and self.scale is not None:
            if not 1 <= self.precision <= MAX_PRECISION:
                raise ValueError(f"a precision is from 1 to {MAX_PRECISION}, not {self.precision}")
            if not 0 <= self.scale <= self.precision:
                raise ValueError(f"a scale is from 0 to the precision, not {self.scale}")

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})" if self.kind is Kind.DECIMAL else self.kind.value

    @property
    def is_integer(self) -> bool:
        return self.kind in (Kind.INT, Kind.BIGINT)

    @property
    def is_numeric(self) -> bool:
        return self.kind in (Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE)


BOOLEAN = Type(Kind.BOOLEAN)
INT = Type(Kind.INT)
BIGINT = Type(Kind.BIGINT)
DOUBLE = Type(Kind.DOUBLE)
STRING = Type(Kind.STRING)
BINARY = Type(Kind.BINARY)
TIMESTAMP = Type(Kind.TIMESTAMP)
DATE = Type(Kind.DATE)
INTERVAL = Type(Kind.INTERVAL)
NULL = Type(Kind.NULL)


def decimal(precision: int, scale: int) -> Type:
    return Type(Kind.DECIMAL, precision, scale)


def common_type(left: Type, right: Type) -> Type | None:
    """The smallest type that both widen to without a change of meaning, or None.

    Numbers widen INT, BIGINT, DECIMAL, DOUBLE in that order; a DATE widens to the TIMESTAMP of its midnight; NULL to
    anything. A string never turns into a number.

    >>> str(common_type(INT, DOUBLE)), common_type(STRING, INT), str(common_type(BIGINT, decimal(4, 2)))
    ('DOUBLE', None, 'DECIMAL(22, 2)')
    """
    if left == right or right.kind is Kind.NULL:
        return left
    if left.kind is Kind.NULL:
        return right
    if left.is_numeric and right.is_numeric:
        return _common_number(left, right)
    if {left.kind, right.kind} == {Kind.DATE, Kind.TIMESTAMP}:
        return TIMESTAMP
    return None


def as_decimal(type_: Type) -> Type:
    """The DECIMAL that holds every value of an integer type."""
    if type_.kind is Kind.DECIMAL:
        return type_
    return decimal(10, 0) if type_.kind is Kind.INT else decimal(20, 0)


def bounded_decimal(precision: int, scale: int) -> Type:
    """DECIMAL(precision, scale), or when that is too wide the one that keeps the digits before the point.

    Spark's rule: at least six digits after the point stay, if there were as many.
    """
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, 6)))


def _common_number(left: Type, right: Type) -> Type:
    kinds = {left.kind, right.kind}
    if Kind.DOUBLE in kinds:
        return DOUBLE
    if Kind.DECIMAL in kinds:
        a, b = as_decimal(left), as_decimal(right)
        assert a.precision is not None and a.scale is not None
        assert b.precision is not None and b.scale is not None
        scale = max(a.scale, b.scale)
        return bounded_decimal(max(a.precision - a.scale, b.precision - b.scale) + scale, scale)
    return BIGINT
