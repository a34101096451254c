"""A condition of an assertion as the theory has it: an equality of data, a bound of times, or a congruence.

Overflow is left aside: times are supposed to be so far below 2^63 that the sums of an assertion fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.algebra.expressions import (
    FALSE as FALSE_LITERAL,
)
from penstock.algebra.expressions import (
    Arithmetic,
    Call,
    Column,
    Comparator,
    Compare,
    Expr,
    IsNull,
    Literal,
    Not,
    Operator,
)
from penstock.algebra.predicates import ColumnBound, ColumnDifference, ColumnEquality, classify
from penstock.elimination.constraints import FALSE, ORIGIN, AtMost, Cell, Condition, Congruent, Constant, Equal


@dataclass(frozen=True, slots=True)
class Beyond:
    """A condition that the theory does not express."""

    text: str

    def __str__(self) -> str:
        return self.text


#: For each tuple variable the name of its timestamp column.
Timestamps = Mapping[str, str]


def condition_of(expr: Expr, timestamps: Timestamps) -> tuple[Condition, ...] | None:
    """The conditions that together say what an expression says; None where the theory has none.

    >>> from penstock.types import BIGINT
    >>> x, y = Column("x", "time", BIGINT), Column("y", "time", BIGINT)
    >>> late = Compare(Comparator.LE, Arithmetic(Operator.SUBTRACT, x, y), Literal(5, BIGINT))
    >>> [str(condition) for condition in condition_of(late, {"x": "time", "y": "time"})]
    ['x.time - y.time <= 5']
    """
    match expr:
        case Literal() if expr == FALSE_LITERAL:
            return (FALSE,)
        case Not(IsNull(Column() as column)):
            return _has_value(column, timestamps)
        case Compare(op, Column() as column, right) if right == column and _is_time(column, timestamps):
            return _bounds(column.scope, column.scope, op, 0)
        case Compare(Comparator.EQ, Column() as column, right) if right == column:
            return _has_value(column, timestamps)
        case Compare(Comparator.EQ, left, right) if (found := _congruence(left, right, timestamps)) is not None:
            return (found,)
    match classify(expr):
        case ColumnEquality(left, right):
            return _equality(left, right, timestamps)
        case ColumnBound(column, op, value):
            if not _is_time(column, timestamps):
                return (Equal(_cell(column), Constant(value)),) if op is Comparator.EQ else None
            return _bounds(column.scope, ORIGIN, op, value) if isinstance(value, int) else None
        case ColumnDifference(left, right, op, constant) if _is_time(left, timestamps) and _is_time(right, timestamps):
            return _bounds(left.scope, right.scope, op, constant)
    return None


def _cell(column: Column) -> Cell:
    return Cell(column.scope, column.name)


def _is_time(column: Column, timestamps: Timestamps) -> bool:
    return timestamps[column.scope] == column.name


def _has_value(column: Column, timestamps: Timestamps) -> tuple[Condition, ...]:
    """Every row has a time."""
    return () if _is_time(column, timestamps) else (Equal(_cell(column), _cell(column)),)


def _equality(left: Column, right: Column, timestamps: Timestamps) -> tuple[Condition, ...] | None:
    if _is_time(left, timestamps) != _is_time(right, timestamps):
        return None
    if _is_time(left, timestamps):
        return _bounds(left.scope, right.scope, Comparator.EQ, 0)
    return (Equal(_cell(left), _cell(right)),)


def _bounds(left: str, right: str, op: Comparator, constant: int) -> tuple[Condition, ...] | None:
    """`left - right op constant`, over whole numbers."""
    match op:
        case Comparator.LE:
            return (AtMost(left, right, constant),)
        case Comparator.LT:
            return (AtMost(left, right, constant - 1),)
        case Comparator.GE:
            return (AtMost(right, left, -constant),)
        case Comparator.GT:
            return (AtMost(right, left, -constant - 1),)
        case Comparator.EQ:
            return AtMost(left, right, constant), AtMost(right, left, -constant)
    return None


def _congruence(left: Expr, right: Expr, timestamps: Timestamps) -> Congruent | None:
    """`time % m = r`, `(time - time) % m = 0`, or `time % m = time % m`."""
    match left, right:
        case Literal(), Arithmetic(Operator.MODULO):
            return _congruence(right, left, timestamps)
        case Arithmetic(Operator.MODULO, one, Literal(int(m))), Arithmetic(Operator.MODULO, other, Literal(int(n))):
            first, second = _time(one, timestamps), _time(other, timestamps)
            if first is not None and second is not None and m == n and m > 0:
                return Congruent(first, second, m, 0)
        case Arithmetic(Operator.MODULO, Arithmetic(Operator.SUBTRACT, one, other), Literal(int(m))), Literal(0):
            first, second = _time(one, timestamps), _time(other, timestamps)
            if first is not None and second is not None and m > 0:
                return Congruent(first, second, m, 0)
        case Arithmetic(Operator.MODULO, one, Literal(int(m))), Literal(int(residue)):
            first = _time(one, timestamps)
            if first is not None and 0 <= residue < m:
                return Congruent(first, ORIGIN, m, residue)
    return None


def _time(expr: Expr, timestamps: Timestamps) -> str | None:
    """The row whose time an expression is."""
    match expr:
        case Call("UNIX_MICROS", (Column() as column,)) | (Column() as column) if _is_time(column, timestamps):
            return column.scope
    return None
