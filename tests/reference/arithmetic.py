"""`+ - * / %` and negation. A result that does not exist or does not fit its type is NULL."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from penstock.algebra.expressions import Operator
from penstock.types import Kind, Type
from tests.reference.numbers import fit_decimal, fit_integer, truncate
from tests.reference.values import Value


def arithmetic(op: Operator, left: Value, right: Value, result: Type) -> Value:
    """`left op right`, where `result` is the type of the operation."""
    if left is None or right is None:
        return None
    if op in (Operator.DIVIDE, Operator.MODULO) and right == 0:
        return None
    if isinstance(left, float) and isinstance(right, float):
        return _double(op, left, right)
    exact = _exact(op, Fraction(left), Fraction(right))  # type: ignore[arg-type]  # numbers and times only
    if result.kind is Kind.DECIMAL:
        return fit_decimal(exact, result)
    return fit_integer(truncate(exact), result)


def negate(value: Value, type_: Type) -> Value:
    if value is None:
        return None
    if isinstance(value, Decimal):
        return value.copy_negate() if value else value
    if isinstance(value, float):
        return -value
    assert isinstance(value, int)
    return fit_integer(-value, type_)


def _exact(op: Operator, left: Fraction, right: Fraction) -> Fraction:
    match op:
        case Operator.ADD:
            return left + right
        case Operator.SUBTRACT:
            return left - right
        case Operator.MULTIPLY:
            return left * right
        case Operator.DIVIDE:
            return left / right
        case Operator.MODULO:
            return left - right * truncate(left / right)


def _double(op: Operator, left: float, right: float) -> float:
    match op:
        case Operator.ADD:
            return left + right
        case Operator.SUBTRACT:
            return left - right
        case Operator.MULTIPLY:
            return left * right
        case Operator.DIVIDE:
            return left / right
        case Operator.MODULO:
            return math.nan if math.isinf(left) or math.isnan(left + right) else math.fmod(left, right)
