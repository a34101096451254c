"""Numbers: arithmetic and the functions of numbers. A result that does not exist or does not fit its type is NULL."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.expressions import Operator
from penstock.operators.scalars.integers import (
    CHECKED,
    Integers,
    exact,
    outside,
    power_of_ten,
    quotient_and_remainder,
    rescaled,
    rounded_quotient,
)
from penstock.operators.scalars.vectors import Data, Mask, Vector, VectorRule, either, strict, total
from penstock.synopsis.codes import Nulls
from penstock.synopsis.memory import Ints
from penstock.types import BIGINT_RANGE, INT_RANGE, Kind, Type

Doubles = NDArray[np.float64]

_ZERO = np.zeros(1, np.int64)
#: The powers of ten that a DOUBLE holds exactly.
_EXACT_POWERS = 10.0 ** np.arange(23)
#: Enough digits to write any DOUBLE out, and then some.
_AMPLE = Context(prec=2000, rounding=ROUND_HALF_UP)


def arithmetic(op: Operator, left: Type, right: Type, result: Type) -> VectorRule:
    function = _ARITHMETIC.get(result.kind, _integer_arithmetic)(op, left, right, result)
    if op in (Operator.DIVIDE, Operator.MODULO):
        return strict(_but_by_zero(function))
    return strict(function)


def negation(type_: Type) -> VectorRule:
    if type_.kind is Kind.DOUBLE:
        return total(np.negative)
    if type_.kind is Kind.DECIMAL:
        return total(lambda data: exact(Operator.SUBTRACT, _ZERO, data))
    return strict(lambda data: fit_integer(*CHECKED[Operator.SUBTRACT](_ZERO, data), type_))


def fit_integer(data: Ints, overflown: Nulls, type_: Type) -> Vector:
    """Integers of 64 bits, and where these did not do, as a vector of a type: INT has 32 bits."""
    return Vector(data, either(overflown, outside(data, *INT_RANGE) if type_.kind is Kind.INT else None))


def fit_exact(data: Integers, type_: Type) -> Vector:
    """Integers of any length as a vector of an integer type."""
    beyond = outside(data, *(INT_RANGE if type_.kind is Kind.INT else BIGINT_RANGE))
    return Vector(data if beyond is None else np.where(beyond, 0, data).astype(np.int64), beyond)


def fit_decimal(data: Integers, scale: int, type_: Type) -> Vector:
    """Unscaled integers of some scale as a vector of a DECIMAL type."""
    assert type_.precision is not None
    assert type_.scale is not None
    data = rescaled(data, type_.scale - scale)
    beyond = outside(data, 1 - 10**type_.precision, 10**type_.precision - 1)
    # Zeros there, so that numbers that are too long for the type do not slow down what comes after.
    return Vector(data if beyond is None else np.where(beyond, 0, data), beyond)


def fit_double(data: Doubles, type_: Type) -> Vector:
    """Whole DOUBLEs as a vector of an integer type."""
    low, high = INT_RANGE if type_.kind is Kind.INT else BIGINT_RANGE
    # The ends as powers of two, which DOUBLEs hold exactly.
    inside = (data >= float(low)) & (data < float(high + 1))
    return Vector(np.where(inside, data, 0.0).astype(np.int64), None if inside.all() else ~inside)


def unscaled_from_double(data: Doubles, type_: Type) -> Vector:
    """A DECIMAL, of the decimal number that a DOUBLE prints as, rounded."""
    assert type_.scale is not None
    scale = type_.scale
    whole, sure = _rounded(data, np.array([scale]))
    # Where it is not sure it may be too large for int64.
    unscaled: Integers = np.where(sure, whole, 0.0).astype(np.int64)
    doubtful = ~sure & np.isfinite(data)
    if doubtful.any():
        unscaled = unscaled.astype(object)
        unscaled[doubtful] = [int(_printed(value, scale).scaleb(scale, _AMPLE)) for value in data[doubtful].tolist()]
    fitted = fit_decimal(unscaled, scale, type_)
    return Vector(fitted.data, either(fitted.nulls, ~np.isfinite(data)))


def double_from_unscaled(data: Integers, scale: int) -> Doubles:
    """The DOUBLE nearest to a DECIMAL."""
    # A quotient of two numbers that DOUBLEs hold exactly is rounded once; Python's own division of integers always is.
    if data.dtype != object and scale < len(_EXACT_POWERS):
        quotient = data / _EXACT_POWERS[scale]
        long = outside(data, -(2**53), 2**53)
        if long is not None:
            quotient[long] = [value / 10**scale for value in data[long].tolist()]
        return np.asarray(quotient)
    return np.array([value / 10**scale for value in data.tolist()], np.float64)


def _integer_arithmetic(op: Operator, left: Type, right: Type, result: Type) -> Callable[..., Vector]:
    """Times too: they are integers of 64 bits."""
    return lambda a, b: fit_integer(*CHECKED[op](a, b), result)


def _double_arithmetic(op: Operator, left: Type, right: Type, result: Type) -> Callable[..., Vector]:
    function = _DOUBLE[op]
    return lambda a, b: Vector(function(a, b))


def _decimal_arithmetic(op: Operator, left: Type, right: Type, result: Type) -> Callable[..., Vector]:
    assert left.scale is not None and right.scale is not None and result.scale is not None
    a_scale, b_scale, scale = left.scale, right.scale, result.scale
    common = max(a_scale, b_scale)
    match op:
        case Operator.MULTIPLY:
            return lambda a, b: fit_decimal(exact(op, a, b), a_scale + b_scale, result)
        case Operator.DIVIDE:
            # Never negative: a bounded scale is at least 38 - (precision - a_scale + b_scale).
            digits = scale + b_scale - a_scale
            return lambda a, b: fit_decimal(rounded_quotient(rescaled(a, digits), b), scale, result)
        case Operator.MODULO:

            def remainder(a: Integers, b: Integers) -> Vector:
                parts = quotient_and_remainder(rescaled(a, common - a_scale), rescaled(b, common - b_scale))
                return fit_decimal(parts[1], common, result)

            return remainder
    return lambda a, b: fit_decimal(
        exact(op, rescaled(a, common - a_scale), rescaled(b, common - b_scale)), common, result
    )


_ARITHMETIC: dict[Kind, Callable[[Operator, Type, Type, Type], Callable[..., Vector]]] = {
    Kind.DOUBLE: _double_arithmetic,
    Kind.DECIMAL: _decimal_arithmetic,
}
_DOUBLE: dict[Operator, Callable[[Doubles, Doubles], Doubles]] = {
    Operator.ADD: np.add,
    Operator.SUBTRACT: np.subtract,
    Operator.MULTIPLY: np.multiply,
    Operator.DIVIDE: np.divide,
    Operator.MODULO: np.fmod,
}


def _but_by_zero(function: Callable[..., Vector]) -> Callable[..., Vector]:
    """A division that has no result where the divisor is zero."""

    def divided(a: Data, b: Data) -> Vector:
        zero = b == 0
        if not zero.any():
            return function(a, b)
        result = function(a, np.where(zero, 1, b))
        return Vector(result.data, either(result.nulls, zero))

    return divided


def _abs(arguments: Sequence[Type], result: Type) -> VectorRule:
    if result.is_integer:
        negate = negation(result)
        return lambda batch, args: _where_negative(args[0], negate(batch, args))
    if result.kind is Kind.DECIMAL:
        return total(lambda data: np.where(data < 0, exact(Operator.SUBTRACT, _ZERO, data), data))
    return total(np.abs)


def _where_negative(vector: Vector, opposite: Vector) -> Vector:
    negative = vector.data < 0
    lost = None if opposite.nulls is None else negative & opposite.nulls
    return Vector(np.where(negative, opposite.data, vector.data), either(vector.nulls, lost))


def _whole(up: bool) -> Callable[[Sequence[Type], Type], VectorRule]:
    """CEIL and FLOOR."""

    def rule(arguments: Sequence[Type], result: Type) -> VectorRule:
        if result.kind is Kind.DECIMAL:
            scale = arguments[0].scale
            assert scale is not None
            return strict(lambda data: fit_decimal(_whole_part(data, scale, up), 0, result))
        if arguments[0].kind is Kind.DOUBLE:
            return strict(lambda data: fit_double(np.ceil(data) if up else np.floor(data), result))
        return total(lambda data: data)

    return rule


def _whole_part(data: Integers, scale: int, up: bool) -> Integers:
    quotient, remainder = quotient_and_remainder(data, power_of_ten(scale))
    return quotient + (remainder > 0) if up else quotient - (remainder < 0)


def _round(data: Doubles, digits: Ints = _ZERO) -> Doubles:
    whole, sure = _rounded(data, digits)
    unit = _EXACT_POWERS[np.minimum(np.abs(digits), len(_EXACT_POWERS) - 1)]
    # A quotient or product of two numbers that DOUBLEs hold exactly is rounded once.
    result = np.where(digits < 0, whole * unit, whole / unit) + 0.0
    if not sure.all():
        doubtful, data, digits = np.broadcast_arrays(~sure, data, digits)
        pairs = zip(data[doubtful].tolist(), digits[doubtful].tolist(), strict=True)
        result[doubtful] = [_round_printed(value, places) for value, places in pairs]
    return np.asarray(result)


def _rounded(data: Doubles, digits: Ints) -> tuple[Doubles, Mask]:
    """Each DOUBLE times ten to the digits, rounded half away from zero, and where that is sure to be right.

    What counts is the shortest decimal number that reads as the DOUBLE. That number, and the product computed here, are
    both within one part in 2**53 of the truth, so only a product as near as that to a half can be rounded wrongly.
    """
    power = _EXACT_POWERS[np.minimum(np.abs(digits), len(_EXACT_POWERS) - 1)]
    scaled = np.abs(np.where(digits < 0, data / power, data * power))
    below = np.floor(scaled)
    from_half = np.abs(scaled - below - 0.5)
    sure = (scaled < 2.0**50) & (from_half > scaled * 2.0**-51) & (np.abs(digits) < len(_EXACT_POWERS))
    return np.copysign(np.floor(scaled + 0.5), data), sure


def _round_printed(value: float, digits: int) -> float:
    # No DOUBLE has a digit that far from the point.
    if not math.isfinite(value) or digits > 400:
        return value
    return 0.0 if digits < -400 else float(_printed(value, digits)) + 0.0


def _printed(value: float, digits: int) -> Decimal:
    """The decimal number that a DOUBLE prints as, rounded to so many digits after the point."""
    return Decimal(repr(value)).quantize(Decimal((0, (1,), -digits)), context=_AMPLE)


def _mapped(function: Callable[..., float]) -> Callable[..., Doubles]:
    """A function of Python's `math`, value by value.

    numpy's own differ in the last bit from one processor to the next, and even with the layout of an array in memory;
    but what is computed when a row comes must be the same when it goes.
    """

    def mapped(*data: Doubles) -> Doubles:
        values = np.broadcast_arrays(*data)
        return np.fromiter(map(function, *(some.tolist() for some in values)), np.float64, len(values[0]))

    return mapped


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _ln(data: Doubles) -> Vector:
    none = data <= 0
    return Vector(_mapped(math.log)(np.where(none, 1.0, data)), none if none.any() else None)


def _power(base: float, exponent: float) -> float:
    """Java's rules, which are Spark's: C's, but for a power of 1 or -1 that is no number or has no end."""
    if math.isnan(exponent) or (math.isinf(exponent) and abs(base) == 1.0):
        return math.nan
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return _endless(base, exponent)
    except ValueError:
        return _endless(base, exponent) if base == 0.0 else math.nan


def _endless(base: float, exponent: float) -> float:
    """An infinity with the sign of the power: only an odd power keeps the base's."""
    return math.copysign(math.inf, base) if math.fmod(exponent, 2.0) in (1.0, -1.0) else math.inf


def _always(rule: VectorRule) -> Callable[[Sequence[Type], Type], VectorRule]:
    return lambda arguments, result: rule


#: What makes the rule of a call from the types of its arguments and of its result.
FUNCTIONS: dict[str, Callable[[Sequence[Type], Type], VectorRule]] = {
    "ABS": _abs,
    "CEIL": _whole(up=True),
    "FLOOR": _whole(up=False),
    "ROUND": _always(total(_round)),
    "SQRT": _always(total(np.sqrt)),
    "EXP": _always(total(_mapped(_exp))),
    "LN": _always(strict(_ln)),
    "POWER": _always(total(_mapped(_power))),
}
