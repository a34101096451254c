"""Strategies for scalar expressions of a given type over the columns of a scope.

`value` chooses between the scope's own expressions of that type, a constant, and what `_MAKERS` can make of smaller
expressions. Where a BIGINT is asked for an INT may come, as small constants are INTs: types are computed from the
parts. Shrinking goes to the front of each choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from hypothesis import strategies as st

from penstock.algebra.expressions import Operator, arithmetic_type
from penstock.algebra.user_functions import UserFunction
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
    IsTruth,
    Like,
    Logic,
    Minus,
    Not,
    Ref,
    Shift,
    TimeText,
    common,
)
from tests.generators.user_functions import USER_FUNCTIONS

T = TypeVar("T")
Draw = st.DrawFn
PRICE = decimal(6, 2)
COMPARATORS = ("=", "=", "=", "<", "<=", ">", ">=", "<>", "<=>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may be made of: columns, or the keys and aggregates of a grouped query."""

    leaves: tuple[Expr, ...]
    features: Features

    def of_type(self, type_: Type) -> list[Expr]:
        return [leaf for leaf in self.leaves if leaf.type == type_]

    def having(self, leaves: Sequence[Expr]) -> Scope:
        return replace(self, leaves=(*self.leaves, *leaves))

    def without(self, expr: Expr) -> Scope:
        return replace(self, leaves=tuple(leaf for leaf in self.leaves if leaf != expr))


def choose(draw: Draw, options: Sequence[T]) -> T:
    return draw(st.sampled_from(options))


def chance(draw: Draw, percent: int) -> bool:
    """False is simpler."""
    return draw(st.integers(0, 99)) >= 100 - percent


def value(draw: Draw, scope: Scope, type_: Type, depth: int = 2) -> Expr:
    """An expression of a type, or of one that widens to it."""
    leaves = scope.of_type(type_)
    # The outermost is most often more than a column.
    ways: list[Make] = [lambda draw, scope, depth: choose(draw, leaves)] * (4 if depth > 1 else 8) if leaves else []
    ways += [lambda draw, scope, depth: constant(draw, type_)] * 2
    if depth > 0:
        ways += [lambda draw, scope, depth: _choice(draw, scope, type_, depth)]
        ways += [maker.make for maker in _MAKERS.get(type_, ()) if maker.fits(scope)]
        ways += [maker.make for maker in _USER_MAKERS.get(type_, ()) if maker.fits(scope)] * 3
    return choose(draw, ways)(draw, scope, depth - 1)


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
    if type_ in (TIMESTAMP, DATE) and chance(draw, 15):
        time = choose(draw, POOLS[type_.kind])
        assert isinstance(time, int)
        return TimeText(time, type_)
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
    makers += [maker.make for maker in _USER_MAKERS[BOOLEAN] if maker.fits(scope)]
    makers += [_logic, _logic, _negation, _is_truth] if depth > 0 else []
    return choose(draw, makers)(draw, scope, max(depth - 1, 0))


def equality(draw: Draw, left: Sequence[Expr], right: Sequence[Expr]) -> Expr | None:
    """A comparison, most often `=`, of something on the left with something of the same type on the right."""
    pairs = [(a, b) for a in left for b in right if a.type == b.type and a.type != BOOLEAN]
    if not pairs:
        return None
    namesakes = [(a, b) for a, b in pairs if isinstance(a, Ref) and isinstance(b, Ref) and a.name == b.name]
    a, b = choose(draw, namesakes * 3 + pairs)
    return Compare(choose(draw, ("=", "=", "=", "=", "<=", ">", "<=>")), a, b)


def leaf_type(draw: Draw, scope: Scope) -> Type:
    """The type of something in scope."""
    return choose(draw, scope.leaves).type if scope.leaves else BIGINT


def _comparison(draw: Draw, scope: Scope, depth: int) -> Expr:
    type_ = leaf_type(draw, scope)
    left = value(draw, scope, type_, depth)
    right: Expr = BareNull(type_) if chance(draw, 3) else comparable(draw, scope.without(left), left.type, depth)
    return Compare(choose(draw, COMPARATORS), left, right)


def _is_null(draw: Draw, scope: Scope, depth: int) -> Expr:
    return IsNull(value(draw, scope, leaf_type(draw, scope), depth), draw(st.booleans()))


def _in_list(draw: Draw, scope: Scope, depth: int) -> Expr:
    type_ = leaf_type(draw, scope)
    options: list[Expr] = [constant(draw, type_) for _ in range(draw(st.integers(1, 3)))]
    options += [BareNull(type_)] if chance(draw, 15) else []
    return InList(value(draw, scope, type_, depth), tuple(options), draw(st.booleans()))


def _between(draw: Draw, scope: Scope, depth: int) -> Expr:
    arg = value(draw, scope, leaf_type(draw, scope), depth)
    low, high = (comparable(draw, scope.without(arg), arg.type, 0) for _ in range(2))
    return Between(arg, low, high, draw(st.booleans()))


def _like(draw: Draw, scope: Scope, depth: int) -> Expr:
    pieces = draw(st.lists(st.sampled_from(["%", "a", "_", "b", "é", "日", "!%", "!_", "!!"]), max_size=3))
    escape = "!" if any(piece[0] == "!" for piece in pieces) else None
    arg = value(draw, scope, STRING, depth)
    return Like(arg, "".join(pieces), escape, draw(st.booleans()), chance(draw, 25))


def _gap(draw: Draw, scope: Scope, depth: int) -> Expr:
    left, right = (value(draw, scope, TIMESTAMP, 0) for _ in range(2))
    factor = value(draw, scope, BIGINT, 0) if chance(draw, 20) else None
    return Gap(choose(draw, ("<=", "<", "=", ">")), left, right, draw(st.integers(0, 5)), factor)


def _boolean_leaf(draw: Draw, scope: Scope, depth: int) -> Expr:
    return choose(draw, scope.of_type(BOOLEAN))


def _logic(draw: Draw, scope: Scope, depth: int) -> Expr:
    args = tuple(predicate(draw, scope, depth) for _ in range(draw(st.integers(2, 3))))
    return Logic(choose(draw, ("OR", "AND")), args)


def _negation(draw: Draw, scope: Scope, depth: int) -> Expr:
    return Not(predicate(draw, scope, depth))


def _is_truth(draw: Draw, scope: Scope, depth: int) -> Expr:
    return IsTruth(predicate(draw, scope, depth), draw(st.booleans()), draw(st.booleans()))


def _choice(draw: Draw, scope: Scope, type_: Type, depth: int) -> Expr:
    """CASE, IF, COALESCE, NULLIF, GREATEST or LEAST: they work for every type."""
    what = choose(draw, ("CASE", "SIMPLE CASE", "COALESCE", "GREATEST", "LEAST", "IF", "NULLIF"))
    if what == "IF":
        yes, no = (value(draw, scope, type_, depth) for _ in range(2))
        return Call(what, (predicate(draw, scope, depth), yes, no), common((yes, no)))
    if what == "NULLIF":
        arg = value(draw, scope, type_, depth)
        return Call(what, (arg, comparable(draw, scope, arg.type, 0)), arg.type)
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


Make = Callable[[Draw, Scope, int], Expr]


@dataclass(frozen=True, slots=True)
class Maker:
    """A way to make an expression, which is gone only where it can be made of columns of these types."""

    make: Make
    needs: tuple[Type, ...] = ()
    feature: Callable[[Features], bool] = lambda features: True

    def fits(self, scope: Scope) -> bool:
        return self.feature(scope.features) and all(scope.of_type(type_) for type_ in self.needs)


def _integers(type_: Type) -> Maker:
    def make(draw: Draw, scope: Scope, depth: int) -> Expr:
        left = value(draw, scope, type_, depth)
        right = value(draw, scope, INT if type_ == INT else choose(draw, (BIGINT, INT)), depth)
        left, right = (left, right) if draw(st.booleans()) else (right, left)
        return Binary(choose(draw, "+-*/%"), left, right, common((left, right)))

    return Maker(make, (type_,))


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


def _pipes(draw: Draw, scope: Scope, depth: int) -> Expr:
    left, right = (value(draw, scope, STRING, depth) for _ in range(2))
    return Binary("||", left, right, STRING)


def _minus(type_: Type) -> Maker:
    return Maker(lambda draw, scope, depth: Minus(value(draw, scope, type_, depth)), (type_,))


def _casts(target: Type, *sources: Type, as_duckdb: bool = True) -> tuple[Maker, ...]:
    """A maker for each type that can be cast to `target`."""

    def cast(source: Type) -> Maker:
        def make(draw: Draw, scope: Scope, depth: int) -> Expr:
            # Of a constant string the binder would want to know whether it can be cast.
            arg = value(draw, scope, source, depth) if as_duckdb else choose(draw, scope.of_type(source))
            return Cast(arg, target)

        return Maker(make, (source,), lambda features: features.casts and (as_duckdb or not features.as_duckdb))

    return tuple(cast(source) for source in sources)


def _call(function: str, result: Type, *parameters: Type | Sequence[Expr], as_duckdb: bool = True) -> Maker:
    """A call with an argument of each type, or one of the expressions given in the place of a type."""

    def make(draw: Draw, scope: Scope, depth: int) -> Expr:
        args = tuple(
            value(draw, scope, parameter, depth) if isinstance(parameter, Type) else choose(draw, parameter)
            for parameter in parameters
        )
        return Call(function, args, common(args) if result == BIGINT == parameters[0] else result)

    needs = tuple(parameter for parameter in parameters if isinstance(parameter, Type))
    return Maker(make, needs, lambda features: features.functions and (as_duckdb or not features.as_duckdb))


def _shift(draw: Draw, scope: Scope, depth: int) -> Expr:
    return Shift(choose(draw, "+-"), value(draw, scope, TIMESTAMP, depth), draw(st.integers(0, 5)))


def _from_number(draw: Draw, scope: Scope, depth: int) -> Expr:
    some = value(draw, scope, BIGINT, depth)
    unit = choose(draw, ("TIMESTAMP_MICROS", "TIMESTAMP_SECONDS"))
    return Call(unit, (Binary("%", some, Const(1000, INT), some.type),), TIMESTAMP)


def _user_call(function: UserFunction) -> Maker:
    def make(draw: Draw, scope: Scope, depth: int) -> Expr:
        args = tuple(value(draw, scope, type_, depth) for type_ in function.arguments)
        call = Call(function.name, args, function.returns)
        if function.name != "strict_negation":
            return call
        # It fails on NULL.
        other = value(draw, scope, function.returns, 0)
        return Call("IF", (IsNull(args[0], True), call, other), common((call, other)))

    return Maker(make, function.arguments, lambda features: features.user_functions)


_USER_MAKERS: dict[Type, list[Maker]] = {}
for _function in USER_FUNCTIONS.values():
    _USER_MAKERS.setdefault(_function.returns, []).append(_user_call(_function))

_SMALL = [Const(n, INT) for n in (1, 2, 3)]
_UNITS = [
    Const(unit, STRING)
    for unit in ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
]

_PATTERNS = [Const(pattern, STRING) for pattern in ("(a)", "^a(b|é)?$", "([^a-c])", "(a*)b", "(日|b)+", "a|(b)")]
_GROUPS = [Const(0, INT), Const(1, INT)]
_FORMATS = [Const(form, STRING) for form in ("yyyy-MM-dd HH:mm:ss", "d.M.yy", "HHmm", "ss.SSSSSS")]

_MAKERS: dict[Type, tuple[Maker, ...]] = {
    BIGINT: (
        *(_integers(BIGINT),) * 4,
        _minus(BIGINT),
        *_casts(BIGINT, STRING, DOUBLE, PRICE, INT, BOOLEAN),
        _call("ABS", BIGINT, BIGINT),
        _call("FLOOR", BIGINT, DOUBLE),
        _call("CEIL", BIGINT, DOUBLE),
        *(_call(f"UNIX_{unit}", BIGINT, TIMESTAMP) for unit in ("MICROS", "MILLIS", "SECONDS")),
    ),
    INT: (
        *(_integers(INT),) * 3,
        _minus(INT),
        *_casts(INT, BIGINT, STRING, DOUBLE, PRICE, BOOLEAN),
        _call("LENGTH", INT, STRING),
        _call("LENGTH", INT, BINARY),
        _call("INSTR", INT, STRING, STRING),
        *(_call(part, INT, TIMESTAMP) for part in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")),
        *(_call(part, INT, DATE) for part in ("YEAR", "MONTH", "DAY")),
    ),
    DOUBLE: (
        *(Maker(_doubles, (DOUBLE,)),) * 3,
        _minus(DOUBLE),
        *_casts(DOUBLE, BIGINT, INT, PRICE),
        *_casts(DOUBLE, STRING, as_duckdb=False),
        _call("ABS", DOUBLE, DOUBLE),
        _call("SQRT", DOUBLE, DOUBLE),
        _call("ROUND", DOUBLE, DOUBLE),
        _call("ROUND", DOUBLE, DOUBLE, _SMALL, as_duckdb=False),
        _call("EXP", DOUBLE, DOUBLE, as_duckdb=False),
        _call("LN", DOUBLE, DOUBLE, as_duckdb=False),
        _call("POWER", DOUBLE, DOUBLE, DOUBLE, as_duckdb=False),
    ),
    PRICE: (
        *(Maker(_prices, (PRICE,)),) * 2,
        _minus(PRICE),
        *_casts(PRICE, INT, BIGINT),
        *_casts(PRICE, STRING, DOUBLE, as_duckdb=False),
        _call("ABS", PRICE, PRICE),
    ),
    STRING: (
        _call("CONCAT", STRING, STRING, STRING),
        Maker(_pipes, (STRING,)),
        _call("UPPER", STRING, STRING),
        _call("LOWER", STRING, STRING),
        _call("TRIM", STRING, STRING),
        _call("LTRIM", STRING, STRING),
        _call("RTRIM", STRING, STRING),
        _call("REVERSE", STRING, STRING),
        _call("SUBSTRING", STRING, STRING, _SMALL),
        _call("SUBSTRING", STRING, STRING, _SMALL, _SMALL),
        _call("SUBSTRING", STRING, STRING, INT, INT, as_duckdb=False),
        _call("REPLACE", STRING, STRING, STRING, STRING),
        _call("REGEXP_EXTRACT", STRING, STRING, _PATTERNS, _GROUPS),
        _call("DATE_FORMAT", STRING, TIMESTAMP, _FORMATS, as_duckdb=False),
        *_casts(STRING, BIGINT, INT, BOOLEAN, PRICE, TIMESTAMP, DATE, BINARY),
    ),
    BOOLEAN: (
        *(Maker(predicate),) * 3,
        *_casts(BOOLEAN, BIGINT, INT, STRING),
        _call("STARTSWITH", BOOLEAN, STRING, STRING),
        _call("ENDSWITH", BOOLEAN, STRING, STRING),
        _call("CONTAINS", BOOLEAN, STRING, STRING),
        _call("RLIKE", BOOLEAN, STRING, _PATTERNS),
    ),
    TIMESTAMP: (
        Maker(_shift, (TIMESTAMP,)),
        Maker(_from_number, (BIGINT,), lambda features: features.functions),
        *_casts(TIMESTAMP, DATE),
        *_casts(TIMESTAMP, STRING, as_duckdb=False),
        _call("DATE_TRUNC", TIMESTAMP, _UNITS, TIMESTAMP),
        _call("TO_TIMESTAMP", TIMESTAMP, STRING, _FORMATS, as_duckdb=False),
    ),
    DATE: (*_casts(DATE, TIMESTAMP), *_casts(DATE, STRING, as_duckdb=False)),
    BINARY: _casts(BINARY, STRING),
}
