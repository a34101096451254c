"""Views on conjuncts: which conjuncts have one, and that a true conjunct's view holds."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, note

from penstock.algebra.expressions import (
    And,
    Arithmetic,
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    IsNull,
    Literal,
    Negate,
    Not,
    Operator,
)
from penstock.algebra.predicates import ColumnBound, ColumnDifference, ColumnEquality, PredicateView, classify
from penstock.algebra.printing import expression_text
from penstock.types import BIGINT, BIGINT_RANGE, BOOLEAN, DATE, DOUBLE, INT, INTERVAL, STRING, TIMESTAMP
from tests.algebra.strategies import Row, comparisons, with_row
from tests.reference.scalar import compare, evaluate
from tests.reference.values import Value
from tests.seeds import CHEAP

X, Y, Z = (Column(scope, "x", BIGINT) for scope in "abc")
I = Column("a", "i", INT)  # noqa: E741
D, E = (Column(scope, "d", DOUBLE) for scope in "ab")
S, T = (Column(scope, "s", STRING) for scope in "ab")
P = Column("a", "p", BOOLEAN)
TS, US = (Column(scope, "ts", TIMESTAMP) for scope in "ab")
DAY, DAZE = (Column(scope, "day", DATE) for scope in "ab")

EQ, NE, LT, LE, GT, GE, SAME = Comparator


def number(value: int) -> Literal:
    return Literal(value, BIGINT)


def micros(value: int) -> Literal:
    return Literal(value, INTERVAL)


def plus(left: Expr, right: Expr) -> Arithmetic:
    return Arithmetic(Operator.ADD, left, right)


def minus(left: Expr, right: Expr) -> Arithmetic:
    return Arithmetic(Operator.SUBTRACT, left, right)


def times(left: Expr, right: Expr) -> Arithmetic:
    return Arithmetic(Operator.MULTIPLY, left, right)


WIDE = Cast(I, BIGINT)

CASES: list[tuple[Expr, PredicateView | None]] = [
    # Equalities.
    (Compare(EQ, X, Y), ColumnEquality(X, Y)),
    (Compare(EQ, Y, X), ColumnEquality(Y, X)),
    (Compare(EQ, S, T), ColumnEquality(S, T)),
    (Compare(EQ, D, E), ColumnEquality(D, E)),
    (Compare(EQ, WIDE, Y), ColumnEquality(I, Y)),
    (Compare(EQ, minus(X, Y), number(0)), ColumnEquality(X, Y)),
    (Compare(EQ, plus(X, number(1)), plus(Y, number(1))), ColumnEquality(X, Y)),
    (Compare(EQ, X, X), None),
    (Compare(SAME, X, Y), None),
    (Compare(SAME, S, T), None),
    (Compare(EQ, Cast(I, DOUBLE), D), None),
    # Bounds.
    (Compare(LT, X, number(5)), ColumnBound(X, LT, 5)),
    (Compare(LT, number(5), X), ColumnBound(X, GT, 5)),
    (Compare(NE, WIDE, number(5)), ColumnBound(I, NE, 5)),
    (Compare(LE, plus(X, number(2)), number(5)), ColumnBound(X, LE, 3)),
    (Compare(LE, Negate(X), number(5)), ColumnBound(X, GE, -5)),
    (Compare(LE, minus(number(2), X), number(5)), ColumnBound(X, GE, -3)),
    (Compare(LE, minus(times(number(2), X), X), number(5)), ColumnBound(X, LE, 5)),
    (Compare(SAME, X, number(5)), ColumnBound(X, EQ, 5)),
    (Compare(SAME, X, Literal(None, BIGINT)), None),
    (Compare(EQ, X, Literal(None, BIGINT)), None),
    (Compare(LT, times(number(2), X), number(5)), None),
    (Compare(EQ, S, Literal("a", STRING)), ColumnBound(S, EQ, "a")),
    (Compare(LT, Literal("a", STRING), S), ColumnBound(S, GT, "a")),
    (Compare(LE, D, Literal(0.5, DOUBLE)), ColumnBound(D, LE, 0.5)),
    (Compare(LE, D, Literal(float("nan"), DOUBLE)), None),
    (Compare(GE, TS, Literal(7, TIMESTAMP)), ColumnBound(TS, GE, 7)),
    (Compare(GE, minus(TS, micros(3)), Literal(7, TIMESTAMP)), ColumnBound(TS, GE, 10)),
    (Compare(GE, minus(TS, Literal(7, TIMESTAMP)), micros(3)), ColumnBound(TS, GE, 10)),
    (Compare(EQ, DAY, Literal(7, DATE)), ColumnBound(DAY, EQ, 7)),
    (P, ColumnBound(P, EQ, True)),
    (Not(P), ColumnBound(P, EQ, False)),
    (Compare(EQ, P, Literal(True, BOOLEAN)), ColumnBound(P, EQ, True)),
    # Differences.
    (Compare(LT, X, Y), ColumnDifference(X, Y, LT, 0)),
    (Compare(LE, minus(X, Y), number(5)), ColumnDifference(X, Y, LE, 5)),
    (Compare(LE, X, plus(Y, number(5))), ColumnDifference(X, Y, LE, 5)),
    (Compare(LT, minus(X, number(5)), Y), ColumnDifference(X, Y, LT, 5)),
    (Compare(GT, plus(number(5), Y), X), ColumnDifference(Y, X, GT, -5)),
    (Compare(GE, number(5), minus(X, Y)), ColumnDifference(Y, X, GE, -5)),
    (Compare(EQ, X, plus(Y, number(1))), ColumnDifference(X, Y, EQ, 1)),
    (Compare(NE, X, Y), ColumnDifference(X, Y, NE, 0)),
    (Compare(GE, WIDE, minus(Y, number(1))), ColumnDifference(I, Y, GE, -1)),
    (Compare(LE, TS, plus(US, micros(9))), ColumnDifference(TS, US, LE, 9)),
    (Compare(LE, minus(TS, US), times(micros(3), number(3))), ColumnDifference(TS, US, LE, 9)),
    (Compare(LT, DAY, DAZE), ColumnDifference(DAY, DAZE, LT, 0)),
    (Compare(SAME, minus(X, Y), number(5)), ColumnDifference(X, Y, EQ, 5)),
    (Compare(SAME, X, plus(Y, number(5))), None),
    (Compare(SAME, minus(X, Y), plus(number(BIGINT_RANGE[1]), number(1))), None),
    (Compare(LT, D, E), None),
    (Compare(LT, S, T), None),
    (Compare(LT, plus(X, Y), number(5)), None),
    (Compare(LT, minus(X, Y), Z), None),
    (Compare(LT, times(X, Y), number(5)), None),
    (Compare(LT, Arithmetic(Operator.DIVIDE, X, number(2)), Y), None),
    # One microsecond times a number is a time, but the number is none.
    (Compare(LE, minus(TS, Literal(0, TIMESTAMP)), times(micros(1), X)), None),
    # Neither.
    (IsNull(X), None),
    (Not(Compare(LT, X, Y)), None),
    (And((P, P)), None),
    (Compare(LT, number(1), number(2)), None),
]


@pytest.mark.parametrize(("conjunct", "view"), CASES, ids=[expression_text(conjunct) for conjunct, _ in CASES])
def test_a_conjunct_is_seen_as(conjunct: Expr, view: PredicateView | None) -> None:
    assert classify(conjunct) == view


@CHEAP
@given(with_row(comparisons()))
def test_the_view_of_a_true_conjunct_holds(case: tuple[Expr, Row]) -> None:
    conjunct, row = case
    view = classify(conjunct)
    if view is not None and evaluate(conjunct, row) is True:
        note(f"{expression_text(conjunct)} is seen as {view}")
        assert holds(view, row)


def holds(view: PredicateView, row: Row) -> bool:
    """Whether the view's relation holds between mathematical values, none of them NULL."""
    match view:
        case ColumnEquality(left, right):
            return compare(EQ, row[left], row[right]) is True
        case ColumnBound(column, op, value):
            return compare(op, row[column], value) is True
        case ColumnDifference(left, right, op, constant):
            return _MATHEMATICAL[op](_whole(row[left]) - _whole(row[right]), constant)


_MATHEMATICAL: dict[Comparator, Callable[[Any, Any], bool]] = {
    EQ: operator.eq,
    NE: operator.ne,
    LT: operator.lt,
    LE: operator.le,
    GT: operator.gt,
    GE: operator.ge,
}


def _whole(value: Value) -> int:
    assert isinstance(value, int)
    return value
