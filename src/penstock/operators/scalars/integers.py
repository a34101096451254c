"""Exact integers: int64 where the results fit, Python's own in object arrays where they do not.

What can overflow is seen from the smallest and largest operands, so that the usual batch pays two reductions for the
certainty that it did not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.expressions import Operator
from penstock.synopsis.codes import Nulls
from penstock.synopsis.memory import Ints
from penstock.types import BIGINT_RANGE

#: int64, or object arrays of Python's integers.
Integers = NDArray[Any]
Checked = tuple[Ints, Nulls]

LOWEST, HIGHEST = BIGINT_RANGE


def exact(op: Operator, a: Integers, b: Integers) -> Integers:
    """`a op b` for + - and *, however long."""
    if object not in (a.dtype, b.dtype):
        result, overflown = CHECKED[op](a, b)
        if overflown is None or not overflown.any():
            return result
    return narrowed(_PLAIN[op](a.astype(object), b.astype(object)))


def add(a: Ints, b: Ints) -> Checked:
    """The sum modulo 2**64, and where that is not the sum."""
    result = a + b
    (a0, a1), (b0, b1) = bounds(a), bounds(b)
    return result, None if _fit(a0 + b0, a1 + b1) else ((a ^ result) & (b ^ result)) < 0


def subtract(a: Ints, b: Ints) -> Checked:
    result = a - b
    (a0, a1), (b0, b1) = bounds(a), bounds(b)
    return result, None if _fit(a0 - b1, a1 - b0) else ((a ^ b) & (a ^ result)) < 0


def multiply(a: Ints, b: Ints) -> Checked:
    result = a * b
    (a0, a1), (b0, b1) = bounds(a), bounds(b)
    corners = (a0 * b0, a0 * b1, a1 * b0, a1 * b1)
    if _fit(min(corners), max(corners)):
        return result, None
    # What was lost is a multiple of 2**64, more than any remainder; but -1 times the lowest is itself, either way.
    differs = result // np.where(a == 0, 1, a) != b
    return result, (a != 0) & (differs | ((a == -1) & (b == LOWEST)))


def divide(a: Ints, b: Ints) -> Checked:
    """The quotient, its fraction cut off; `b` is not 0."""
    quotient = (a - np.fmod(a, b)) // b
    return quotient, None if bounds(a)[0] > LOWEST else (a == LOWEST) & (b == -1)


def modulo(a: Ints, b: Ints) -> Checked:
    """The remainder, with the sign of `a`; `b` is not 0."""
    return np.fmod(a, b), None


CHECKED: dict[Operator, Callable[[Ints, Ints], Checked]] = {
    Operator.ADD: add,
    Operator.SUBTRACT: subtract,
    Operator.MULTIPLY: multiply,
    Operator.DIVIDE: divide,
    Operator.MODULO: modulo,
}

_PLAIN: dict[Operator, Callable[[Integers, Integers], Integers]] = {
    Operator.ADD: lambda a, b: a + b,
    Operator.SUBTRACT: lambda a, b: a - b,
    Operator.MULTIPLY: lambda a, b: a * b,
}


def quotient_and_remainder(a: Integers, b: Integers) -> tuple[Integers, Integers]:
    """The quotient, its fraction cut off, and what remains, with the sign of `a`; `b` is not 0."""
    if _is_symmetric(a) and _is_symmetric(b):
        remainder = np.fmod(a, b)
        return (a - remainder) // b, remainder
    a, b = a.astype(object), b.astype(object)
    size = abs(a) % abs(b)
    remainder = np.where(a < 0, -size, size)
    return narrowed((a - remainder) // b), narrowed(remainder)


def rounded_quotient(a: Integers, b: Integers) -> Integers:
    """The integer nearest to a / b, of two the one further from 0; `b` is not 0."""
    quotient, remainder = quotient_and_remainder(a, b)
    away = np.where((a < 0) == (b < 0), 1, -1)
    if not (_is_symmetric(remainder) and _is_symmetric(b)):
        remainder, b = remainder.astype(object), b.astype(object)
    # Written so that nothing is doubled, which could overflow.
    return exact(Operator.ADD, quotient, np.where(abs(remainder) >= abs(b) - abs(remainder), away, 0))


def power_of_ten(digits: int) -> Integers:
    """As a constant: an array of one."""
    return narrowed(np.array([10**digits], object))


def rescaled(data: Integers, digits: int) -> Integers:
    """The integers with so many digits more at their end, or fewer, rounded."""
    if digits == 0:
        return data
    if digits > 0:
        return exact(Operator.MULTIPLY, data, power_of_ten(digits))
    return rounded_quotient(data, power_of_ten(-digits))


def outside(data: Integers, low: int, high: int) -> Nulls:
    """Where the integers are not between two bounds, None if nowhere."""
    least, most = bounds(data)
    return None if low <= least and most <= high else (data < low) | (data > high)


def bounds(data: Integers) -> tuple[int, int]:
    """The smallest and the largest."""
    return (int(data.min()), int(data.max())) if len(data) else (0, 0)


def narrowed(data: Integers) -> Integers:
    """As int64, if all fit."""
    if data.dtype != object:
        return data
    return data.astype(np.int64) if _fit(*bounds(data)) else data


def _fit(least: int, most: int) -> bool:
    return least >= LOWEST and most <= HIGHEST


def _is_symmetric(data: Integers) -> bool:
    """Whether this is int64 of which each has its opposite."""
    return data.dtype != object and bounds(data)[0] > LOWEST
