"""Widening: the casts that SQL leaves out and the algebra wants.

Only casts that keep the meaning are put in: numbers widen, a date becomes the timestamp of its midnight, NULL takes any
type, and a string *literal* becomes the timestamp or date that it spells.
"""

from __future__ import annotations

from decimal import Decimal

from penstock import types
from penstock.algebra.expressions import Expr, Literal, cast_in
from penstock.sql.literals import date_value, timestamp_value
from penstock.sql.zone import current_zone
from penstock.types import Kind, Type, common_type


def widen(expr: Expr, target: Type) -> Expr:
    """`expr` as a value of a type that it widens to. Constants are converted here and now."""
    if expr.type == target:
        return expr
    if isinstance(expr, Literal):
        literal = _widened_literal(expr, target)
        if literal is not None:
            return literal
    return cast_in(expr, target, current_zone())


def unify(left: Expr, right: Expr) -> tuple[Expr, Expr] | None:
    """Both as values of one type, or None where there is no such type."""
    left, right = _read_time(left, right.type), _read_time(right, left.type)
    target = common_type(left.type, right.type)
    return None if target is None else (widen(left, target), widen(right, target))


def unify_all(exprs: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
    """All as values of one type."""
    times = [expr.type for expr in exprs if expr.type.kind in (Kind.TIMESTAMP, Kind.DATE)]
    read = tuple(_read_time(expr, times[0]) for expr in exprs) if times else exprs
    target: Type | None = types.NULL
    for expr in read:
        target = target and common_type(target, expr.type)
    return None if target is None else tuple(widen(expr, target) for expr in read)


def _read_time(expr: Expr, other: Type) -> Expr:
    """A string literal that is compared with a time, read as one."""
    if not isinstance(expr, Literal) or not isinstance(expr.value, str):
        return expr
    if other.kind is Kind.TIMESTAMP and (moment := timestamp_value(expr.value)) is not None:
        return Literal(moment, types.TIMESTAMP)
    if other.kind is Kind.DATE:
        if (day := date_value(expr.value)) is not None:
            return Literal(day, types.DATE)
        if (moment := timestamp_value(expr.value)) is not None:
            return Literal(moment, types.TIMESTAMP)
    return expr


def _widened_literal(literal: Literal, target: Type) -> Literal | None:
    value = literal.value
    if value is None:
        return Literal(None, target)
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return None
    if target.kind is Kind.BIGINT and isinstance(value, int) and literal.type.is_integer:
        return Literal(value, target)
    if target.kind is Kind.DOUBLE and literal.type.is_numeric:
        return Literal(float(value), target)
    if target.kind is Kind.DECIMAL and literal.type.is_numeric:
        return _as_decimal(value, target)
    return None


def _as_decimal(value: int | Decimal, target: Type) -> Literal | None:
    assert target.precision is not None and target.scale is not None
    digits = Decimal(value)
    exponent = digits.as_tuple().exponent
    fits = isinstance(exponent, int) and -exponent <= target.scale
    whole = len(str(abs(int(digits)))) if int(digits) else 0
    if not fits or whole + target.scale > target.precision:
        return None
    sign, coefficient, _ = digits.as_tuple()
    padding = (0,) * (target.scale + int(exponent))
    return Literal(Decimal((sign, coefficient + padding, -target.scale)), target)
