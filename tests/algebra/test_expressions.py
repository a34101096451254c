"""Expressions: which can be built, which types they have, and how they are taken apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

import pytest

from penstock.algebra.expressions import (
    FALSE,
    TRUE,
    UNKNOWN,
    AlgebraError,
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
    Operator,
    Or,
    can_cast,
    columns,
    conjunction,
    conjuncts,
    rewrite,
    substitute,
    walk,
)
from penstock.algebra.user_functions import Handle, UserCall, UserFunction
from penstock.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    decimal,
)
from tests.algebra.kinds import kinds

X = Column("s", "x", BIGINT)
I = Column("s", "i", INT)  # noqa: E741
D = Column("s", "d", DOUBLE)
M = Column("s", "m", decimal(4, 2))
P = Column("s", "p", BOOLEAN)
T = Column("s", "t", STRING)
TS = Column("s", "ts", TIMESTAMP)
DAY = Column("s", "day", DATE)
ONE = Literal(1, BIGINT)
SECOND = Literal(1_000_000, INTERVAL)

#: One case for each thing that a constructor checks.
WRONG: dict[str, Callable[[], Expr]] = {
    "a literal of another type": lambda: Literal("1", BIGINT),
    "a boolean as a number": lambda: Literal(True, BIGINT),
    "a number as a boolean": lambda: Literal(1, BOOLEAN),
    "a literal of type NULL with a value": lambda: Literal(1, NULL),
    "a comparison of two types": lambda: Compare(Comparator.EQ, X, I),
    "AND of one": lambda: And((P,)),
    "AND of numbers": lambda: And((P, X)),
    "OR of one": lambda: Or((P,)),
    "OR of numbers": lambda: Or((X, P)),
    "NOT of a number": lambda: Not(X),
    "IN nothing": lambda: In(X, ()),
    "IN options of another type": lambda: In(X, (ONE, Literal(1, INT))),
    "LIKE of a number": lambda: Like(X, "%"),
    "LIKE with two escapes": lambda: Like(T, "%", "ab"),
    "a sum of two types": lambda: Arithmetic(Operator.ADD, X, I),
    "a sum of strings": lambda: Arithmetic(Operator.ADD, T, T),
    "a sum of timestamps": lambda: Arithmetic(Operator.ADD, TS, TS),
    "an interval less a timestamp": lambda: Arithmetic(Operator.SUBTRACT, SECOND, TS),
    "a product with a timestamp": lambda: Arithmetic(Operator.MULTIPLY, TS, ONE),
    "arithmetic of dates": lambda: Arithmetic(Operator.SUBTRACT, DAY, DAY),
    "minus a string": lambda: Negate(T),
    "minus a timestamp": lambda: Negate(TS),
    "CASE without a branch": lambda: Case((), (), ONE),
    "CASE with a condition too many": lambda: Case((P, P), (ONE,), ONE),
    "CASE when a number": lambda: Case((X,), (ONE,), ONE),
    "CASE of two types": lambda: Case((P,), (ONE,), Literal(1, INT)),
    "a cast that there is not": lambda: Cast(TS, BIGINT),
    "a cast of an interval": lambda: Cast(SECOND, STRING),
    "a call of no function": lambda: Call("SHOUT", (T,)),
    "a call with an argument too many": lambda: Call("UPPER", (T, T)),
    "a call with an argument that the binder should have cast": lambda: Call("SQRT", (X,)),
    "parts for what has none": lambda: X.with_parts((ONE,)),  # type: ignore[dict-item, return-value]
}


@pytest.mark.parametrize("build", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_expression_cannot_be_built(build: Callable[[], Expr]) -> None:
    with pytest.raises(AlgebraError):
        build()


@pytest.mark.parametrize(
    ("expr", "type_"),
    [
        (Literal(None, STRING), STRING),
        (Literal(Decimal("1.50"), decimal(3, 2)), decimal(3, 2)),
        (Literal(b"\0", BINARY), BINARY),
        (Compare(Comparator.LT, T, T), BOOLEAN),
        (And((P, TRUE)), BOOLEAN),
        (IsNull(SECOND), BOOLEAN),
        (In(T, (T,)), BOOLEAN),
        (Like(T, "a%"), BOOLEAN),
        (Arithmetic(Operator.DIVIDE, I, I), INT),
        (Arithmetic(Operator.MODULO, D, D), DOUBLE),
        (Arithmetic(Operator.ADD, M, M), decimal(5, 2)),
        (Arithmetic(Operator.DIVIDE, M, M), decimal(11, 7)),
        (Arithmetic(Operator.MODULO, M, Literal(Decimal(7), decimal(1, 0))), decimal(3, 2)),
        (Arithmetic(Operator.SUBTRACT, TS, TS), INTERVAL),
        (Arithmetic(Operator.SUBTRACT, TS, SECOND), TIMESTAMP),
        (Arithmetic(Operator.MULTIPLY, SECOND, X), INTERVAL),
        (Negate(SECOND), INTERVAL),
        (Case((P,), (X,), ONE), BIGINT),
        (Cast(DAY, TIMESTAMP), TIMESTAMP),
        (Call("LENGTH", (T,)), INT),
        (Call("COALESCE", (X, ONE)), BIGINT),
    ],
    ids=str,
)
def test_an_expression_knows_its_type(expr: Expr, type_: Type) -> None:
    assert expr.type == type_


ONE_OF_EACH: tuple[Expr, ...] = (
    X,
    ONE,
    Compare(Comparator.EQ, X, ONE),
    And((P, TRUE, P)),
    Or((P, FALSE)),
    Not(P),
    IsNull(X),
    In(X, (ONE, X)),
    Like(T, "a%", "!"),
    Arithmetic(Operator.ADD, X, ONE),
    Negate(X),
    Case((P, TRUE), (X, ONE), X),
    Cast(X, STRING),
    Call("COALESCE", (X, ONE, X)),
    UserCall(UserFunction("f", (BIGINT, BIGINT), STRING, Handle(max, "code")), (X, ONE)),
)


@pytest.mark.parametrize("expr", ONE_OF_EACH, ids=lambda expr: type(expr).__name__)
def test_an_expression_is_what_its_parts_make_of_it(expr: Expr) -> None:
    assert expr.with_parts(expr.parts) == expr
    assert next(walk(expr)) == expr
    assert rewrite(expr, lambda part: part) is expr


def test_one_of_each_kind_of_expression_is_tested() -> None:
    assert {type(expr).__name__ for expr in ONE_OF_EACH} == kinds(Expr, "penstock.algebra")


def test_a_literal_is_known_by_its_value_and_not_by_its_number() -> None:
    nan, zero, minus_zero = (Literal(value, DOUBLE) for value in (math.nan, 0.0, -0.0))
    assert nan == Literal(float("nan"), DOUBLE)
    assert hash(nan) == hash(Literal(float("nan"), DOUBLE))
    assert zero != minus_zero
    assert Literal(1, INT) != Literal(1, BIGINT)
    assert Literal(1, INT) != 1


def test_negating_a_comparator_twice_gives_it_back() -> None:
    for op in Comparator:
        assert op.mirrored.mirrored is op
        assert op.negated is None if op is Comparator.SAME else op.negated and op.negated.negated is op


def test_columns_are_those_that_are_read() -> None:
    assert columns(And((Compare(Comparator.EQ, X, ONE), Or((P, IsNull(X)))))) == {X, P}
    assert columns(ONE) == frozenset()


def test_substitution_is_simultaneous() -> None:
    y = Column("s", "y", BIGINT)
    swapped = substitute(Arithmetic(Operator.SUBTRACT, X, y), {X: y, y: X})
    assert swapped == Arithmetic(Operator.SUBTRACT, y, X)


def test_conjuncts_are_the_arguments_of_nested_ands() -> None:
    nested = And((P, And((TRUE, Not(P))), Or((P, UNKNOWN))))
    assert conjuncts(nested) == (P, Not(P), Or((P, UNKNOWN)))
    assert conjuncts(TRUE) == ()
    assert conjuncts(FALSE) == (FALSE,)


def test_conjunction_is_the_way_back() -> None:
    assert conjunction(()) == TRUE
    assert conjunction((P,)) == P
    assert conjuncts(conjunction((P, Not(P)))) == (P, Not(P))


def test_casts_keep_to_the_table() -> None:
    assert can_cast(INT, INT)
    assert can_cast(NULL, TIMESTAMP)
    assert can_cast(STRING, DATE)
    assert not can_cast(DOUBLE, STRING)
    assert not can_cast(STRING, INTERVAL)
