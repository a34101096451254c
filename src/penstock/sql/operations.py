"""Operators over expressions that are bound: their operands get types that fit, or an error says what to write."""

from __future__ import annotations

from penstock import types
from penstock.algebra.expressions import (
    Arithmetic,
    Case,
    Comparator,
    Compare,
    Expr,
    Literal,
    Operator,
    arithmetic_type,
    can_cast,
)
from penstock.sql import literals
from penstock.sql.coercion import unify, unify_all, widen
from penstock.sql.context import Context
from penstock.sql.diagnostics import listed
from penstock.sql.syntax import Tree
from penstock.types import BIGINT, DOUBLE, INTERVAL, STRING, TIMESTAMP, Kind, Type, as_decimal


def compare(op: Comparator, left: Expr, right: Expr, place: Tree, context: Context) -> Expr:
    both = unify(left, right)
    if both is None:
        message = f"cannot compare {left.type} with {right.type}"
        context.fail(message, _comparison_hint(left, right), place)
    return Compare(op, *both)


def _comparison_hint(left: Expr, right: Expr) -> str:
    kinds = {left.type.kind, right.type.kind}
    if Kind.INTERVAL in kinds and (left.type.is_numeric or right.type.is_numeric):
        return "write a time as INTERVAL 5 SECONDS"
    if Kind.TIMESTAMP in kinds and (left.type.is_numeric or right.type.is_numeric):
        return "use UNIX_MICROS(timestamp), or TIMESTAMP_MICROS(number)"
    literal = next((e for e in (left, right) if isinstance(e, Literal) and isinstance(e.value, str)), None)
    if literal is not None and kinds & {Kind.TIMESTAMP, Kind.DATE}:
        return f"'{literal.value!s}' does not read as a time; write it as '2026-01-31 12:00:00'"
    if Kind.BOOLEAN in kinds and any(isinstance(expr, Compare) for expr in (left, right)):
        return "compare two values at a time, and join the comparisons with AND"
    narrow, wide = (left, right) if left.type == STRING else (right, left)
    return f"say what is meant: CAST(... AS {wide.type if narrow.type == STRING else narrow.type})"


def arithmetic(op: Operator, left: Expr, right: Expr, place: Tree, context: Context) -> Expr:
    left, right = _operands(op, left, right)
    if arithmetic_type(op, left.type, right.type) is None:
        context.fail(f"there is no {left.type} {op.value} {right.type}", _arithmetic_hint(op, left, right), place)
    return Arithmetic(op, left, right)


def _arithmetic_hint(op: Operator, left: Expr, right: Expr) -> str | None:
    kinds = {left.type.kind, right.type.kind}
    is_number = left.type.is_numeric or right.type.is_numeric
    if Kind.TIMESTAMP in kinds and is_number:
        return "write a time as INTERVAL 5 SECONDS, or count with UNIX_MICROS(timestamp)"
    if Kind.DATE in kinds and is_number:
        return "write a time as INTERVAL 1 DAY"
    if Kind.STRING in kinds and kinds & {Kind.INTERVAL, Kind.TIMESTAMP, Kind.DATE}:
        return "write a time as TIMESTAMP '2026-01-31 12:00:00'"
    if Kind.STRING in kinds:
        return "strings are joined with ||" if op is Operator.ADD else "CAST the string to a number"
    return None


def _operands(op: Operator, left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """The operands in the order and of the types that the operator takes, where there are such."""
    commutes = op in (Operator.ADD, Operator.MULTIPLY)
    if commutes and left.type == INTERVAL and right.type.kind in (Kind.TIMESTAMP, Kind.DATE) and op is Operator.ADD:
        left, right = right, left
    if op is Operator.MULTIPLY and right.type == INTERVAL:
        left, right = right, left
    if left.type == INTERVAL and op is Operator.MULTIPLY and right.type.is_integer:
        return left, widen(right, BIGINT)
    times = (Kind.TIMESTAMP, Kind.DATE, Kind.INTERVAL)
    if left.type.kind is Kind.DATE and right.type.kind in times:
        left = widen(left, TIMESTAMP)
    if right.type.kind is Kind.DATE and left.type.kind in times:
        right = widen(right, TIMESTAMP)
    if left.type.is_numeric and right.type.is_numeric:
        return _numbers(left, right)
    if types.NULL in (left.type, right.type):
        return unify(left, right) or (left, right)
    return left, right


def _numbers(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    kinds = {left.type.kind, right.type.kind}
    if Kind.DOUBLE in kinds:
        return widen(left, DOUBLE), widen(right, DOUBLE)
    if Kind.DECIMAL in kinds:
        return widen(left, as_decimal(left.type)), widen(right, as_decimal(right.type))
    both = unify(left, right)
    assert both is not None
    return both


def choose(
    conditions: tuple[Expr, ...], values: tuple[Expr, ...], otherwise: Expr, place: Tree, context: Context
) -> Expr:
    alike = unify_all((*values, otherwise))
    if alike is None:
        kinds = listed(dict.fromkeys(str(value.type) for value in (*values, otherwise)))
        context.fail(f"the branches are of different types: {kinds}", "CAST them to one type", place)
    return Case(conditions, alike[:-1], alike[-1])


def cast(arg: Expr, target: Type, place: Tree, context: Context) -> Expr:
    if isinstance(arg, Literal) and isinstance(arg.value, str) and target.kind in (Kind.TIMESTAMP, Kind.DATE):
        read = literals.timestamp_value if target == TIMESTAMP else literals.date_value
        value = read(arg.value)
        if value is None:
            context.fail(f"'{arg.value}' is not a {target}", "write it as '2026-01-31 12:00:00'", place)
        return Literal(value, target)
    if not can_cast(arg.type, target):
        hint = None
        if {arg.type.kind, target.kind} <= {Kind.TIMESTAMP, Kind.INT, Kind.BIGINT, Kind.DOUBLE}:
            hint = "use UNIX_MICROS(timestamp), or TIMESTAMP_MICROS(number)"
        context.fail(f"a {arg.type} cannot be cast to {target}", hint, place)
    return widen(arg, target)
