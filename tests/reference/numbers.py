"""Exact numbers: fitting a result into a type, and rounding half away from zero."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from penstock.types import BIGINT_RANGE, INT_RANGE, Kind, Type


def fit_integer(value: int, type_: Type) -> int | None:
    """The value if it is one of the type's: 32 bits for INT, 64 for all else that is held as an int."""
    low, high = INT_RANGE if type_.kind is Kind.INT else BIGINT_RANGE
    return value if low <= value <= high else None


def fit_decimal(value: Fraction, type_: Type) -> Decimal | None:
    """The value, rounded to the type's scale, if it has no more digits than the type's precision."""
    assert type_.precision is not None
    assert type_.scale is not None
    unscaled = round_half_away(value * 10**type_.scale)
    if abs(unscaled) >= 10**type_.precision:
        return None
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    return Decimal((int(unscaled < 0), digits, -type_.scale))


def round_half_away(value: Fraction) -> int:
    """
    >>> round_half_away(Fraction(5, 2)), round_half_away(Fraction(-5, 2)), round_half_away(Fraction(12, 5))
    (3, -3, 2)
    """
    rounded = math.floor(abs(value) + Fraction(1, 2))
    return rounded if value >= 0 else -rounded


def truncate(value: Fraction) -> int:
    """The integer next to the value in the direction of zero."""
    return math.trunc(value)


def nearest_double(value: Fraction) -> float:
    """The DOUBLE nearest to an exact number; an infinity beyond the largest."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def shortest_decimal(value: float) -> Fraction:
    """The shortest decimal number that reads as a finite DOUBLE: 1.005, not 1.00499999999999989..."""
    return Fraction(repr(value))
