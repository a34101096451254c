"""Strategies for scalar expressions of a given type over the columns of a scope.

`value` chooses between the scope's own expressions of that type, a constant, and what `_MAKERS` can make of smaller
expressions. Where a BIGINT is asked for an INT may come, as small constants are INTs: types are computed from the parts.
Shrinking goes to the front of each choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from hypothesis import strategies as st

from penstock.algebra.expressions import Operator, arithmetic_type
from penstock.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
    as_decimal,
    decimal,
)
from tests.generators.declarations import POOLS
from tests.generators.features import Features
from tests.generators.syntax import (
    BareNull,
    Between,
    Binary,
    Call,
    CaseWhen,
    Cast,
    Compare,
    Const,
    Expr,
    Gap,
    InList,
    IsNull,
    Like,
    Logic,
    Minus,
    Not,
    Shift,
    common,
)

T = TypeVar("T")
Draw = st.DrawFn
PRICE = decimal(6, 2)
COMPARATORS = ("=", "=", "<", "<=", ">", ">=", "<>", "<=>")


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may be made of: columns, or the keys and aggregates of a grouped query."""

    leaves: tuple[Expr, ...]
    features: Features

    def of_type(self, type_: Type) -> list[Expr]:
        return [leaf for leaf in self.leaves if leaf.type == type_]

    def having(self, leaves: Sequence[Expr]) -> Scope:
        return replace(self, leaves=(*self.leaves, *leaves))


def choose(draw: Draw, options: Sequence[T]) -> T:
    return draw(st.sampled_from(options))


def chance(draw: Draw, percent: int) -> bool:
    """False is simpler."""
    return draw(st.integers(0, 99)) >= 100 - percent


def value(draw: Draw, scope: Scope, type_: Type, depth: int = 2) -> Expr:
    """An expression of a type, or of one that widens to it."""
    leaves = scope.of_type(type_)
    makers: list[Callable[[], Expr]] = [lambda: choose(draw, leaves)] * 6 if leaves else []
    makers += [lambda: constant(draw, type_)] * 2
    if depth > 0:
        makers += [lambda: _choice(draw, scope, type_, depth - 1)]
        makers += [
            lambda make=make: make(draw, scope, depth - 1)  # type: ignore[misc]
            for make in _MAKERS.get(type_.kind, ())
            if type_.kind is not Kind.DECIMAL or type_ == PRICE
        ]
    return choose(draw, makers)()


def constant(draw: Draw, type_: Type) -> Expr:
    """A constant; a whole number that fits is an INT wherever it stands, as in Spark."""
    if chance(draw, 5):
        return Const(None, type_)
    if type_.kind is Kind.DECIMAL and type_ != PRICE:
        return Cast(Const(choose(draw, POOLS[Kind.INT][:4]), INT), type_)
    if type_ == PRICE:
        return Cast(Const(choose(draw, POOLS[Kind.DECIMAL]), PRICE), PRICE)
    chosen = choose(draw, POOLS[type_.kind])
    if type_ == BIGINT and isinstance(chosen, int) and -(2**31) <= chosen < 2**31:
        return Cast(Const(chosen, INT), BIGINT) if chance(draw, 10) else Const(chosen, INT)
    return Const(chosen, type_)


def comparable(draw: Draw, scope: Scope, type_: Type, depth: int) -> Expr:
    """Something that can be compared with a value of a type: of that type, or of one that it has a common one with."""
    if type_.is_numeric and chance(draw, 20):
        return number(draw, scope, depth)
    if type_ == TIMESTAMP and scope.of_type(DATE) and chance(draw, 20):
        return value(draw, scope, DATE, depth)
    return value(draw, scope, type_, depth)


def number(draw: Draw, scope: Scope, depth: int) -> Expr:
    kinds = [BIGINT, INT]
    kinds += [DOUBLE] if scope.of_type(DOUBLE) else []
    kinds += [PRICE] if scope.of_type(PRICE) else []
    return value(draw, scope, choose(draw, kinds), depth)


def predicate(draw: Draw, scope: Scope, depth: int = 2) -> Expr:
    makers = [_comparison, _comparison, _comparison, _is_null, _in_list, _between]
    makers += [_like] if scope.of_type(STRING) else []
    makers += [_gap] if scope.of_type(TIMESTAMP) else []
    makers += [_boolean_leaf] if scope.of_type(BOOLEAN) else []
    makers += [_logic, _logic, _negation] if depth > 0 else []
    return choose(draw, makers)(draw, scope, max(depth - 1, 0))


def equality(draw: Draw, left: Sequence[Expr], right: Sequence[Expr]) -> Expr | None:
    """A comparison, most often `=`, of something on the left with something of the same type on the right."""
    pairs = [(a, b) for a in left for b in right if a.type == b.type and a.type != BOOLEAN]
    if not pairs:
        return None
    a, b = choose(draw, pairs)
    return Compare(choose(draw, ("=", "=", "=", "=", "<=", ">", "<=>")), a, b)


def leaf_type(draw: Draw, scope: Scope) -> Type:
    """The type of something in scope."""
    return choose(draw, scope.leaves).type if scope.leaves else BIGINT


def _comparison(draw: Draw, scope: Scope, depth: int) -> Expr:
    type_ = leaf_type(draw, scope)
    left = value(draw, scope, type_, depth)
    right: Expr = BareNull(type_) if chance(draw, 3) else comparable(draw, scope, left.type, depth)
    return Compare(choose(draw, COMPARATORS), left, right)


def _is_null(draw: Draw, scope: Scope, depth: int) -> Expr:
    return IsNull(value(draw, scope, leaf_type(draw, scope), depth), draw(st.booleans()))


def _in_list(draw: Draw, scope: Scope, depth: int) -> Expr:
    type_ = leaf_type(draw, scope)
    options: list[Expr] = [constant(draw, type_) for _ in range(draw(st.integers(1, 3)))]
    options += [BareNull(type_)] if chance(draw, 15) else []
    return InList(value(draw, scope, type_, depth), tuple(options), draw(st.booleans()))


def _between(draw: Draw, scope: Scope, depth: int) -> Expr:
    type_ = leaf_type(draw, scope)
    low, high = (comparable(draw, scope, type_, 0) for _ in range(2))
    return Between(value(draw, scope, type_, depth), low, high, draw(st.booleans()))


def _like(draw: Draw, scope: Scope, depth: int) -> Expr:
    pieces = draw(st.lists(st.sampled_from(["%", "a", "_", "b", "é", "日", "!%", "!_", "!!"]), max_size=3))
    escape = "!" if any(piece[0] == "!" for piece in pieces) else None
    return Like(value(draw, scope, STRING, depth), "".join(pieces), escape, draw(st.booleans()))


def _gap(draw: Draw, scope: Scope, depth: int) -> Expr:
    left, right = (value(draw, scope, TIMESTAMP, 0) for _ in range(2))
    return Gap(choose(draw, ("<=", "<", "=", ">")), left, right, draw(st.integers(0, 5)))


def _boolean_leaf(draw: Draw, scope: Scope, depth: int) -> Expr:
    return choose(draw, scope.of_type(BOOLEAN))


def _logic(draw: Draw, scope: Scope, depth: int) -> Expr:
    args = tuple(predicate(draw, scope, depth) for _ in range(draw(st.integers(2, 3))))
    return Logic(choose(draw, ("OR", "AND")), args)


def _negation(draw: Draw, scope: Scope, depth: int) -> Expr:
    return Not(predicate(draw, scope, depth))


def _choice(draw: Draw, scope: Scope, type_: Type, depth: int) -> Expr:
    """CASE, COALESCE, GREATEST or LEAST: they work for every type."""
    what = choose(draw, ("CASE", "SIMPLE CASE", "COALESCE", "GREATEST", "LEAST"))
    if what in ("COALESCE", "GREATEST", "LEAST"):
        args = tuple(value(draw, scope, type_, depth) for _ in range(draw(st.integers(2, 3))))
        return Call(what, args, common(args))
    branches = range(draw(st.integers(1, 2)))
    operand = None
    if what == "CASE":
        whens = tuple(predicate(draw, scope, depth) for _ in branches)
    else:
        operand = value(draw, scope, leaf_type(draw, scope), depth)
        whens = tuple(comparable(draw, scope, operand.type, 0) for _ in branches)
    thens = tuple(value(draw, scope, type_, depth) for _ in branches)
    otherwise = choose(draw, (None, BareNull(type_), value(draw, scope, type_, depth)))
    given = thens if otherwise is None or isinstance(otherwise, BareNull) else (*thens, otherwise)
    return CaseWhen(operand, whens, thens, otherwise, common(given))


def _integers(type_: Type) -> Callable[[Draw, Scope, int], Expr]:
    def arithmetic(draw: Draw, scope: Scope, depth: int) -> Expr:
        left = value(draw, scope, type_, depth)
        other = INT if type_ == INT else choose(draw, (BIGINT, INT))
        right = value(draw, scope, other, depth)
        left, right = (left, right) if draw(st.booleans()) else (right, left)
        return Binary(choose(draw, "+-*/%"), left, right, common((left, right)))

    return arithmetic


def _doubles(draw: Draw, scope: Scope, depth: int) -> Expr:
    left = value(draw, scope, DOUBLE, depth)
    right = value(draw, scope, choose(draw, (DOUBLE, BIGINT)), depth)
    left, right = (left, right) if draw(st.booleans()) else (right, left)
    return Binary(choose(draw, "+-*/%"), left, right, DOUBLE)


def _prices(draw: Draw, scope: Scope, depth: int) -> Expr:
    """Arithmetic of DECIMALs has a type of its own: cast back."""
    left = value(draw, scope, PRICE, 0)
    right = value(draw, scope, choose(draw, (PRICE, INT)), 0)
    op = choose(draw, "+-*" if scope.features.as_duckdb else "+-*/%")
    type_ = arithmetic_type(Operator(op), as_decimal(left.type), as_decimal(right.type))
    assert type_ is not None
    return Cast(Binary(op, left, right, type_), PRICE)


def _minus(type_: Type) -> Callable[[Draw, Scope, int], Expr]:
    return lambda draw, scope, depth: Minus(value(draw, scope, type_, depth))


def _cast(target: Type, *sources: Type) -> Callable[[Draw, Scope, int], Expr]:
    def cast(draw: Draw, scope: Scope, depth: int) -> Expr:
        if not scope.features.casts:
            return constant(draw, target)
        fine = [source for source in sources if scope.of_type(source)] or sources
        return Cast(value(draw, scope, choose(draw, fine), depth), target)

    return cast


def _unlike_duckdb(
    make: Callable[[Draw, Scope, int], Expr], type_: Type
) -> Callable[[Draw, Scope, int], Expr]:
    def made(draw: Draw, scope: Scope, depth: int) -> Expr:
        return constant(draw, type_) if scope.features.as_duckdb else make(draw, scope, depth)

    return made


def _call(function: str, result: Type, *parameters: Type | Sequence[Expr]) -> Callable[[Draw, Scope, int], Expr]:
    """A call with an argument of each type, or one of the expressions given in the place of a type."""

    def call(draw: Draw, scope: Scope, depth: int) -> Expr:
        if not scope.features.functions:
            return constant(draw, result)
        args = tuple(
            value(draw, scope, parameter, depth) if isinstance(parameter, Type) else choose(draw, parameter)
            for parameter in parameters
        )
        return Call(function, args, result)

    return call


def _shift(draw: Draw, scope: Scope, depth: int) -> Expr:
    return Shift(choose(draw, "+-"), value(draw, scope, TIMESTAMP, depth), draw(st.integers(0, 5)))


def _from_micros(draw: Draw, scope: Scope, depth: int) -> Expr:
    some = value(draw, scope, BIGINT, depth)
    small = Binary("%", some, Const(1000, INT), some.type)
    return Call("TIMESTAMP_MICROS", (small,), TIMESTAMP)


def _any_predicate(draw: Draw, scope: Scope, depth: int) -> Expr:
    return predicate(draw, scope, depth)


_SMALL = [Const(n, INT) for n in (1, 2, 3)]
_UNITS = [
    Const(unit, STRING)
    for unit in ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
]

_MAKERS: dict[Kind, tuple[Callable[[Draw, Scope, int], Expr], ...]] = {
    Kind.BIGINT: (
        *(_integers(BIGINT),) * 3,
        _minus(BIGINT),
        _cast(BIGINT, STRING, DOUBLE, PRICE, INT, BOOLEAN),
        _call("ABS", BIGINT, BIGINT),
        _call("FLOOR", BIGINT, DOUBLE),
        _call("CEIL", BIGINT, DOUBLE),
        _call("UNIX_MICROS", BIGINT, TIMESTAMP),
    ),
    Kind.INT: (
        *(_integers(INT),) * 2,
        _minus(INT),
        _cast(INT, BIGINT, STRING, DOUBLE, PRICE, BOOLEAN),
        _call("LENGTH", INT, STRING),
        _call("LENGTH", INT, BINARY),
        _call("INSTR", INT, STRING, STRING),
        *(_call(part, INT, TIMESTAMP) for part in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")),
        _call("YEAR", INT, DATE),
    ),
    Kind.DOUBLE: (
        *(_doubles,) * 2,
        _minus(DOUBLE),
        _cast(DOUBLE, BIGINT, INT, PRICE),
        _unlike_duckdb(_cast(DOUBLE, STRING), DOUBLE),
        _call("ABS", DOUBLE, DOUBLE),
        _call("SQRT", DOUBLE, DOUBLE),
        _call("ROUND", DOUBLE, DOUBLE),
        _unlike_duckdb(_call("ROUND", DOUBLE, DOUBLE, _SMALL), DOUBLE),
    ),
    Kind.DECIMAL: (
        *(_prices,) * 2,
        _minus(PRICE),
        _cast(PRICE, INT, BIGINT),
        _unlike_duckdb(_cast(PRICE, STRING, DOUBLE), PRICE),
        _call("ABS", PRICE, PRICE),
    ),
    Kind.STRING: (
        _call("CONCAT", STRING, STRING, STRING),
        _call("UPPER", STRING, STRING),
        _call("LOWER", STRING, STRING),
        _call("TRIM", STRING, STRING),
        _call("LTRIM", STRING, STRING),
        _call("RTRIM", STRING, STRING),
        _call("REVERSE", STRING, STRING),
        _call("SUBSTRING", STRING, STRING, _SMALL),
        _call("SUBSTRING", STRING, STRING, _SMALL, _SMALL),
        _call("REPLACE", STRING, STRING, STRING, STRING),
        _cast(STRING, BIGINT, INT, BOOLEAN, PRICE, TIMESTAMP, DATE, BINARY),
    ),
    Kind.BOOLEAN: (
        *(_any_predicate,) * 3,
        _cast(BOOLEAN, BIGINT, INT, STRING),
        _call("STARTSWITH", BOOLEAN, STRING, STRING),
        _call("ENDSWITH", BOOLEAN, STRING, STRING),
        _call("CONTAINS", BOOLEAN, STRING, STRING),
    ),
    Kind.TIMESTAMP: (
        _shift,
        _from_micros,
        _cast(TIMESTAMP, DATE),
        _unlike_duckdb(_cast(TIMESTAMP, STRING), TIMESTAMP),
        _call("DATE_TRUNC", TIMESTAMP, _UNITS, TIMESTAMP),
    ),
    Kind.DATE: (_cast(DATE, TIMESTAMP), _unlike_duckdb(_cast(DATE, STRING), DATE)),
    Kind.BINARY: (_cast(BINARY, STRING),),
}
