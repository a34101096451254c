"""Conjuncts as the theories read them: two columns are equal, one is bounded, two differ by so much.

Soundness goes one way: where a conjunct is true, the columns of its view are not NULL and the view's relation holds
between their values in the mathematical sense. Arithmetic that overflows is NULL and no comparison with NULL is true,
so a true conjunct never overflowed. The converse fails, since `x + 1 > y` is NULL at the largest x: conclude from a
view, but never put it in place of its conjunct.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from penstock.algebra.expressions import (
    Arithmetic,
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    Literal,
    Negate,
    Not,
    Operator,
    Value,
)
from penstock.effort import once
from penstock.types import BIGINT, INT, Kind, Type


@dataclass(frozen=True, slots=True)
class ColumnEquality:
    """`left = right`. Both are of one type, or one is INT and the other BIGINT."""

    left: Column
    right: Column


@dataclass(frozen=True, slots=True)
class ColumnBound:
    """`column op value`, where op is not `<=>` and the value, of the column's kind, is neither NULL nor NaN."""

    column: Column
    op: Comparator
    value: Value


@dataclass(frozen=True, slots=True)
class ColumnDifference:
    """`left - right op constant` over integers, over timestamps in microseconds, or over dates in days."""

    left: Column
    right: Column
    op: Comparator
    constant: int


PredicateView: TypeAlias = ColumnEquality | ColumnBound | ColumnDifference


@once
def classify(conjunct: Expr) -> PredicateView | None:
    """What a conjunct says about one column or two, if it is one of the three views.

    A cast from INT to BIGINT is seen through. Conjuncts are taken as `normalise_predicates` leaves them: a negated
    comparison has no view.

    >>> from penstock.algebra.expressions import Arithmetic, Compare, Literal, Operator
    >>> x, y = Column("a", "x", BIGINT), Column("b", "y", BIGINT)
    >>> view = classify(Compare(Comparator.LE, x, Arithmetic(Operator.ADD, y, Literal(5, BIGINT))))
    >>> f"{view.left} - {view.right} {view.op.value} {view.constant}"
    'a.x - b.y <= 5'
    """
    match conjunct:
        case Column():
            return ColumnBound(conjunct, Comparator.EQ, True)
        case Not(Column() as column):
            return ColumnBound(column, Comparator.EQ, False)
        case Compare():
            return _linear_view(conjunct) or _plain_view(conjunct)
    return None


def unwidened(expr: Expr) -> Expr:
    """What a whole number was before it was widened, for one that it meets: that is NULL just where it is.

    >>> unwidened(Cast(Column("s", "a", INT), BIGINT)) == Column("s", "a", INT)
    True
    """
    is_wider = isinstance(expr, Cast) and expr.arg.type.is_integer and expr.type == BIGINT
    return unwidened(expr.arg) if isinstance(expr, Cast) and is_wider else expr


@dataclass(frozen=True, slots=True)
class _Linear:
    """A sum of columns, each times a whole number that is not 0, and a constant."""

    terms: Mapping[Column, int]
    constant: int

    def times(self, factor: int) -> _Linear:
        terms = {column: count * factor for column, count in self.terms.items() if factor}
        return _Linear(terms, self.constant * factor)

    def plus(self, other: _Linear) -> _Linear:
        counts = {c: self.terms.get(c, 0) + other.terms.get(c, 0) for c in {**self.terms, **other.terms}}
        terms = {column: count for column, count in counts.items() if count}
        return _Linear(terms, self.constant + other.constant)


_WHOLE = frozenset({Kind.INT, Kind.BIGINT, Kind.TIMESTAMP, Kind.DATE, Kind.INTERVAL})


def _linear(expr: Expr) -> _Linear | None:
    """The expression as a sum, where it is one."""
    match expr:
        case Column() if expr.type.kind in _WHOLE:
            return _Linear({expr: 1}, 0)
        case Literal(int(value), type_) if type_.kind in _WHOLE:
            return _Linear({}, value)
        case Cast(arg, type_) if (arg.type, type_) == (INT, BIGINT):
            return _linear(arg)
        case Negate(arg):
            negated = _linear(arg)
            return negated and negated.times(-1)
        case Arithmetic(op, left, right):
            a, b = _linear(left), _linear(right)
            return None if a is None or b is None else _combined(op, a, b)
    return None


def _combined(op: Operator, a: _Linear, b: _Linear) -> _Linear | None:
    match op:
        case Operator.ADD:
            return a.plus(b)
        case Operator.SUBTRACT:
            return a.plus(b.times(-1))
        case Operator.MULTIPLY if not b.terms:
            return a.times(b.constant)
        case Operator.MULTIPLY if not a.terms:
            return b.times(a.constant)
    return None


def _linear_view(compare: Compare) -> PredicateView | None:
    left, right = _linear(compare.left), _linear(compare.right)
    if left is None or right is None:
        return None
    op = compare.op
    if op is Comparator.SAME:
        if not isinstance(compare.left, Literal) and not isinstance(compare.right, Literal):
            return None  # true also of two NULLs, which even a sum of constants may be
        op = Comparator.EQ
    total = left.plus(right.times(-1))
    counts = list(total.terms.items())
    match counts:
        case [(column, 1)]:
            return ColumnBound(column, op, -total.constant)
        case [(column, -1)]:
            return ColumnBound(column, op.mirrored, total.constant)
        case [(added, 1), (taken, -1)] | [(taken, -1), (added, 1)] if _alike(added.type, taken.type):
            if op is Comparator.EQ and total.constant == 0:
                return ColumnEquality(*total.terms)
            return ColumnDifference(added, taken, op, -total.constant)
    return None


def _alike(left: Type, right: Type) -> bool:
    return left == right or (left.is_integer and right.is_integer)


def _plain_view(compare: Compare) -> ColumnEquality | ColumnBound | None:
    """Of values that have no sum: strings, doubles, booleans and so on."""
    match compare:
        case Compare(Comparator.EQ, Column() as left, Column() as right) if left != right:
            return ColumnEquality(left, right)
        case Compare(op, Column() as column, Literal(value)):
            return _bound(column, op, value)
        case Compare(op, Literal(value), Column() as column):
            return _bound(column, op.mirrored, value)
    return None


def _bound(column: Column, op: Comparator, value: Value) -> ColumnBound | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return ColumnBound(column, Comparator.EQ if op is Comparator.SAME else op, value)
