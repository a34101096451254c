"""The value of an expression on a row. NULL is None; logic has the three values True, False and None."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.algebra.expressions import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    In,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
)
from penstock.algebra.user_functions import UserCall
from tests.reference.arithmetic import arithmetic, negate
from tests.reference.calls import call
from tests.reference.casts import cast
from tests.reference.user_functions import call_user
from tests.reference.values import Value, equal, less


def evaluate(expr: Expr, row: Mapping[Column, Value]) -> Value:
    match expr:
        case Column():
            return row[expr]
        case Literal():
            return expr.value
        case Compare():
            return compare(expr.op, evaluate(expr.left, row), evaluate(expr.right, row))
        case And():
            return all_of(_truth(evaluate(arg, row)) for arg in expr.args)
        case Or():
            return negation(all_of(negation(_truth(evaluate(arg, row))) for arg in expr.args))
        case Not():
            return negation(_truth(evaluate(expr.arg, row)))
        case IsNull():
            return evaluate(expr.arg, row) is None
        case In():
            return _in(evaluate(expr.arg, row), [evaluate(option, row) for option in expr.options])
        case Like():
            return _like(evaluate(expr.arg, row), expr.pattern, expr.escape)
        case Arithmetic():
            return arithmetic(expr.op, evaluate(expr.left, row), evaluate(expr.right, row), expr.type)
        case Negate():
            return negate(evaluate(expr.arg, row), expr.type)
        case Case():
            return _case(expr, row)
        case Cast():
            return cast(evaluate(expr.arg, row), expr.arg.type, expr.type, expr.zone)
        case UserCall():
            return call_user(expr.function, tuple(evaluate(arg, row) for arg in expr.args))
        case Call("COALESCE"):
            return next((value for arg in expr.args if (value := evaluate(arg, row)) is not None), None)
        case Call():
            args = tuple(evaluate(arg, row) for arg in expr.args)
            return call(expr.function, args, tuple(arg.type for arg in expr.args), expr.type, expr.zone)
    raise AssertionError(f"no expression: {expr!r}")


def holds(predicates: Iterable[Expr], row: Mapping[Column, Value]) -> bool:
    """Whether every predicate is true: neither false nor NULL."""
    return all(evaluate(predicate, row) is True for predicate in predicates)


def compare(op: Comparator, left: Value, right: Value) -> bool | None:
    if op is Comparator.SAME:
        return left is right if left is None or right is None else equal(left, right)
    if left is None or right is None:
        return None
    match op:
        case Comparator.EQ:
            return equal(left, right)
        case Comparator.NE:
            return not equal(left, right)
        case Comparator.LT:
            return less(left, right)
        case Comparator.LE:
            return not less(right, left)
        case Comparator.GT:
            return less(right, left)
        case Comparator.GE:
            return not less(left, right)


def all_of(values: Iterable[bool | None]) -> bool | None:
    """AND: false if one is false, else NULL if one is NULL, else true."""
    collected = list(values)
    if False in collected:
        return False
    return None if None in collected else True


def negation(value: bool | None) -> bool | None:
    return None if value is None else not value


def _truth(value: Value) -> bool | None:
    assert value is None or isinstance(value, bool)
    return value


def _in(value: Value, options: list[Value]) -> bool | None:
    """`a = x OR a = y OR ...`"""
    return negation(all_of(negation(compare(Comparator.EQ, value, option)) for option in options))


def _like(value: Value, pattern: str, escape: str) -> bool | None:
    if value is None:
        return None
    assert isinstance(value, str)
    return _matches(value, pattern, escape)


def _matches(text: str, pattern: str, escape: str) -> bool:
    if not pattern:
        return not text
    first, rest = pattern[0], pattern[1:]
    if first == escape and rest:
        return text[:1] == rest[0] and _matches(text[1:], rest[1:], escape)
    if first == "%":
        return any(_matches(text[i:], rest, escape) for i in range(len(text) + 1))
    return bool(text) and first in ("_", text[0]) and _matches(text[1:], rest, escape)


def _case(expr: Case, row: Mapping[Column, Value]) -> Value:
    for condition, value in zip(expr.conditions, expr.values, strict=True):
        if evaluate(condition, row) is True:
            return evaluate(value, row)
    return evaluate(expr.otherwise, row)
