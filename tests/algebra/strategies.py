"""Random predicates over two occurrences, and random rows of them, mostly near the values where things go wrong."""

from __future__ import annotations

import math
from decimal import Decimal

from hypothesis import strategies as st

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
    Operator,
    Or,
    columns,
)
from penstock.algebra.relations import Schema
from penstock.types import (
    BIGINT,
    BIGINT_RANGE,
    BOOLEAN,
    DATE,
    DAY,
    DOUBLE,
    INT,
    INT_RANGE,
    INTERVAL,
    STRING,
    TIMESTAMP,
    Type,
    decimal,
)
from tests.reference.values import Value

Row = dict[Column, Value]

MONEY = decimal(4, 2)
#: The first and the last microsecond of the years 1 to 9999.
TIMES = (-719_162 * DAY, 2_932_897 * DAY - 1)
LONGEST = 10_000 * 366 * DAY

NAMES: dict[str, Type] = {
    "x": BIGINT,
    "y": BIGINT,
    "i": INT,
    "m": MONEY,
    "d": DOUBLE,
    "s": STRING,
    "p": BOOLEAN,
    "ts": TIMESTAMP,
    "us": TIMESTAMP,
    "day": DATE,
}
LEFT: Schema = tuple(Column("a", name, type_) for name, type_ in NAMES.items())
RIGHT: Schema = tuple(Column("b", name, type_) for name, type_ in NAMES.items())
SCHEMA = LEFT + RIGHT


def _around(low: int, high: int) -> st.SearchStrategy[int]:
    """Small numbers, the ends of a range, and what is next to them."""
    ends = st.sampled_from([low, low + 1, high - 1, high])
    return st.one_of(st.integers(-3, 3), ends, st.integers(low, high))


VALUES: dict[Type, st.SearchStrategy[Value]] = {
    BIGINT: _around(*BIGINT_RANGE),
    INT: _around(*INT_RANGE),
    MONEY: st.integers(-999, 999).map(lambda cents: Decimal(cents).scaleb(-2)),
    DOUBLE: st.sampled_from([0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 1e300]),
    STRING: st.sampled_from(["", "a", "b", "ab", "it's", "%", "\\", "\n"]),
    BOOLEAN: st.booleans(),
    TIMESTAMP: _around(*TIMES),
    DATE: _around(-719_162, 2_932_896),
    INTERVAL: st.one_of(_around(-LONGEST, LONGEST), st.sampled_from([5_000_000, -DAY])),
}


def with_row(exprs: st.SearchStrategy[Expr]) -> st.SearchStrategy[tuple[Expr, Row]]:
    """An expression, and values of the columns that it reads."""
    return exprs.flatmap(lambda expr: st.tuples(st.just(expr), _row(expr)))


def _row(expr: Expr) -> st.SearchStrategy[Row]:
    read = [column for column in SCHEMA if column in columns(expr)]
    return st.fixed_dictionaries({column: _or_null(VALUES[column.type]) for column in read})


def literals(type_: Type) -> st.SearchStrategy[Expr]:
    return _or_null(VALUES[type_]).map(lambda value: Literal(value, type_))


def _or_null(values: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    """Now and then NULL."""
    return st.one_of(values, values, values, st.none())


@st.composite
def scalars(draw: st.DrawFn, type_: Type, depth: int = 2) -> Expr:
    """An expression of a type."""
    own = [column for column in SCHEMA if column.type == type_]
    leaves = [literals(type_)] + [st.sampled_from(own)] * 3 if own else [literals(type_)]
    choices = leaves if depth == 0 else [*leaves, *_operations(type_, depth - 1)]
    return draw(st.one_of(choices))


def _operations(type_: Type, depth: int) -> list[st.SearchStrategy[Expr]]:
    of = scalars(type_, depth)
    case = st.builds(lambda p, a, b: Case((p,), (a,), b), predicates(depth), of, of)
    sums = st.sampled_from([Operator.ADD, Operator.SUBTRACT])
    if type_ == TIMESTAMP:
        return [st.builds(Arithmetic, sums, of, scalars(INTERVAL, depth)), case]
    if type_ == INTERVAL:
        difference = st.builds(
            Arithmetic, st.just(Operator.SUBTRACT), scalars(TIMESTAMP, depth), scalars(TIMESTAMP, depth)
        )
        product = st.builds(Arithmetic, st.just(Operator.MULTIPLY), of, scalars(BIGINT, depth))
        return [difference, product, st.builds(Arithmetic, sums, of, of), of.map(Negate)]
    if type_ in (BIGINT, INT, DOUBLE):
        arithmetic = st.builds(Arithmetic, st.sampled_from(Operator), of, of)
        widened = scalars(INT, depth).map(lambda arg: Cast(arg, type_) if type_ != INT else arg)
        return [arithmetic, arithmetic, of.map(Negate), widened, case]
    if type_ == STRING:
        return [of.map(lambda arg: Call("UPPER", (arg,))), case]
    return [case]


@st.composite
def comparisons(draw: st.DrawFn, depth: int = 2) -> Expr:
    if draw(st.booleans()):
        return draw(differences())
    type_ = draw(st.sampled_from(list(VALUES)))
    op = draw(st.sampled_from(Comparator))
    return Compare(op, draw(scalars(type_, depth)), draw(scalars(type_, depth)))


@st.composite
def differences(draw: st.DrawFn) -> Expr:
    """A comparison of up to two columns with constants added here and there, over integers or times."""
    type_, distance = draw(st.sampled_from([(BIGINT, BIGINT), (TIMESTAMP, INTERVAL)]))
    own = st.sampled_from([column for column in SCHEMA if column.type == type_])
    constants = VALUES[distance].map(lambda value: Literal(value, distance))
    a, b, op = draw(own), draw(own), draw(st.sampled_from(Comparator))
    sides: tuple[Expr, Expr] = (a, b)
    if draw(st.booleans()):
        sides = (Arithmetic(Operator.SUBTRACT, a, b), draw(constants))
    left, right = (_shifted(draw, side, constants) for side in sides)
    return Compare(op, left, right) if draw(st.booleans()) else Compare(op, right, left)


def _shifted(draw: st.DrawFn, expr: Expr, constants: st.SearchStrategy[Literal]) -> Expr:
    for _ in range(draw(st.integers(0, 2))):
        op = draw(st.sampled_from([Operator.ADD, Operator.SUBTRACT]))
        expr = Arithmetic(op, expr, draw(constants))
    return expr


def predicates(depth: int = 3) -> st.SearchStrategy[Expr]:
    """A boolean expression, mostly of connectives."""
    if depth == 0:
        return st.one_of(comparisons(1), comparisons(1), comparisons(1), _tests())
    below = st.deferred(lambda: predicates(depth - 1))
    several = st.lists(below, min_size=2, max_size=3).map(tuple)
    return st.one_of(several.map(And), several.map(Or), below.map(Not), below.map(Not), predicates(0))


def _tests() -> st.SearchStrategy[Expr]:
    return st.one_of(
        literals(BOOLEAN),
        st.sampled_from([column for column in SCHEMA if column.type == BOOLEAN]),
        scalars(BIGINT, 1).map(IsNull),
        st.builds(In, scalars(STRING, 0), st.lists(literals(STRING), min_size=1, max_size=3).map(tuple)),
        st.builds(Like, scalars(STRING, 0), st.sampled_from(["%", "a_", "\\%", "it's"])),
    )
