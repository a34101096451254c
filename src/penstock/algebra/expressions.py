"""Scalar expressions: small immutable values that check their own types when they are built.

A `Column` is known by its scope (the occurrence of a stream or table, or the subquery, that it comes from) and its
name; in one plan that pair stands for one column. Operands already have the types that an operator asks for: the
binder puts the casts in. NULL propagates and logic is three-valued as in SQL, and arithmetic never fails: a result that
does not exist or does not fit its type is NULL.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Self

from penstock.algebra.functions import ALL_FUNCTIONS
from penstock.algebra.zones import DEFAULT, ZONED_FUNCTIONS
from penstock.effort import once, spend
from penstock.errors import PenstockError
from penstock.types import (
    BOOLEAN,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
    bounded_decimal,
)

Value = bool | int | float | Decimal | str | bytes | None


class AlgebraError(Exception):
    """A tree that makes no sense was about to be built: a fault of ours, never of the user's."""


def require(condition: bool, what: str) -> None:
    if not condition:
        raise AlgebraError(what)


class Expr:
    """What all scalar expressions share: a type, parts, and a copy of themselves over other parts."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def type(self) -> Type: ...

    @property
    def parts(self) -> tuple[Expr, ...]:
        return ()

    def with_parts(self, parts: tuple[Expr, ...]) -> Expr:
        require(not parts, f"{self} has no parts")
        return self


@dataclass(frozen=True, slots=True)
class Column(Expr):
    scope: str
    name: str
    type: Type

    # Columns are looked up all the time, and hardly any two differ in their types alone.
    def __hash__(self) -> int:
        return hash((self.scope, self.name))

    def __str__(self) -> str:
        return f"{self.scope}.{self.name}" if self.scope else self.name


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    value: Value
    type: Type

    def __post_init__(self) -> None:
        if self.value is not None:
            require(isinstance(self.value, _PYTHON_TYPES[self.type.kind]), f"{self.value!r} is no {self.type}")
            require(isinstance(self.value, bool) == (self.type == BOOLEAN), f"{self.value!r} is no {self.type}")

    # As numbers 0.0 is -0.0 and NaN is not NaN; as literals it is the other way round.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Type, str]:
        return self.type, repr(self.value)


_PYTHON_TYPES: dict[Kind, type | tuple[type, ...]] = {
    Kind.BOOLEAN: bool,
    Kind.INT: int,
    Kind.BIGINT: int,
    Kind.DECIMAL: Decimal,
    Kind.DOUBLE: float,
    Kind.STRING: str,
    Kind.BINARY: bytes,
    Kind.TIMESTAMP: int,
    Kind.DATE: int,
    Kind.INTERVAL: int,
    Kind.NULL: (),
}


class Comparator(Enum):
    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    #: Equality in which NULL equals NULL: `<=>`, and IS NOT DISTINCT FROM.
    SAME = "<=>"

    @property
    def mirrored(self) -> Comparator:
        """The comparator with its operands exchanged."""
        return _MIRRORED.get(self, self)

    @property
    def negated(self) -> Comparator | None:
        """The comparator that is true where this one is false; `<=>` has none."""
        return _NEGATED.get(self)


_MIRRORED = {
    Comparator.LT: Comparator.GT,
    Comparator.GT: Comparator.LT,
    Comparator.LE: Comparator.GE,
    Comparator.GE: Comparator.LE,
}
_NEGATED = {
    Comparator.EQ: Comparator.NE,
    Comparator.NE: Comparator.EQ,
    Comparator.LT: Comparator.GE,
    Comparator.GE: Comparator.LT,
    Comparator.GT: Comparator.LE,
    Comparator.LE: Comparator.GT,
}


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    op: Comparator
    left: Expr
    right: Expr

    def __post_init__(self) -> None:
        same = self.left.type == self.right.type
        require(same, f"cannot compare {self.left.type} with {self.right.type}")

    @property
    def type(self) -> Type:
        return BOOLEAN

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.left, self.right

    def with_parts(self, parts: tuple[Expr, ...]) -> Compare:
        left, right = parts
        return Compare(self.op, left, right)


@dataclass(frozen=True, slots=True)
class _Connective(Expr):
    """What AND and OR share."""

    args: tuple[Expr, ...]

    def __post_init__(self) -> None:
        require(
            len(self.args) > 1 and all(arg.type == BOOLEAN for arg in self.args),
            f"{type(self).__name__.upper()} takes booleans",
        )

    @property
    def type(self) -> Type:
        return BOOLEAN

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.args

    def with_parts(self, parts: tuple[Expr, ...]) -> Self:
        return type(self)(parts)


@dataclass(frozen=True, slots=True)
class And(_Connective):
    pass


@dataclass(frozen=True, slots=True)
class Or(_Connective):
    pass


@dataclass(frozen=True, slots=True)
class Not(Expr):
    arg: Expr

    def __post_init__(self) -> None:
        require(self.arg.type == BOOLEAN, "NOT takes a boolean")

    @property
    def type(self) -> Type:
        return BOOLEAN

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.arg,)

    def with_parts(self, parts: tuple[Expr, ...]) -> Not:
        return Not(*parts)


@dataclass(frozen=True, slots=True)
class IsNull(Expr):
    arg: Expr

    @property
    def type(self) -> Type:
        return BOOLEAN

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.arg,)

    def with_parts(self, parts: tuple[Expr, ...]) -> IsNull:
        return IsNull(*parts)


@dataclass(frozen=True, slots=True)
class In(Expr):
    """`arg IN (options)`, all of one type."""

    arg: Expr
    options: tuple[Expr, ...]

    def __post_init__(self) -> None:
        require(bool(self.options), "IN needs an option")
        require(all(option.type == self.arg.type for option in self.options), "IN takes options of one type")

    @property
    def type(self) -> Type:
        return BOOLEAN

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.arg, *self.options)

    def with_parts(self, parts: tuple[Expr, ...]) -> In:
        return In(parts[0], parts[1:])


@dataclass(frozen=True, slots=True)
class Like(Expr):
    """`%` stands for any characters, `_` for one, and the escape character takes the next one literally."""

    arg: Expr
    pattern: str
    escape: str = "\\"

    def __post_init__(self) -> None:
        require(self.arg.type == STRING, "LIKE takes a string")
        require(len(self.escape) == 1, "an escape is one character")

    @property
    def type(self) -> Type:
        return BOOLEAN

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.arg,)

    def with_parts(self, parts: tuple[Expr, ...]) -> Like:
        return Like(parts[0], self.pattern, self.escape)


class Operator(Enum):
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULO = "%"


@dataclass(frozen=True, slots=True)
class Arithmetic(Expr):
    """Numbers of one kind, or times: see `arithmetic_type`. Integer division truncates, `%` has the dividend's sign."""

    op: Operator
    left: Expr
    right: Expr
    type: Type = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        typed = arithmetic_type(self.op, self.left.type, self.right.type)
        require(typed is not None, f"no {self.left.type} {self.op.value} {self.right.type}")
        object.__setattr__(self, "type", typed)

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.left, self.right

    def with_parts(self, parts: tuple[Expr, ...]) -> Arithmetic:
        left, right = parts
        return Arithmetic(self.op, left, right)


def arithmetic_type(op: Operator, left: Type, right: Type) -> Type | None:
    """The type of `left op right`, or None where there is no such operation.

    >>> from penstock.types import BIGINT, INTERVAL, TIMESTAMP, decimal
    >>> str(arithmetic_type(Operator.SUBTRACT, TIMESTAMP, TIMESTAMP))
    'INTERVAL'
    >>> str(arithmetic_type(Operator.MULTIPLY, decimal(4, 2), decimal(3, 1)))
    'DECIMAL(8, 3)'
    """
    if left.kind is Kind.DECIMAL and right.kind is Kind.DECIMAL:
        return _decimal_type(op, left, right)
    if left == right and left.is_numeric:
        return left
    return _TIME_ARITHMETIC.get((op, left.kind, right.kind))


_TIME_ARITHMETIC = {
    (Operator.SUBTRACT, Kind.TIMESTAMP, Kind.TIMESTAMP): INTERVAL,
    (Operator.ADD, Kind.TIMESTAMP, Kind.INTERVAL): TIMESTAMP,
    (Operator.SUBTRACT, Kind.TIMESTAMP, Kind.INTERVAL): TIMESTAMP,
    (Operator.ADD, Kind.INTERVAL, Kind.INTERVAL): INTERVAL,
    (Operator.SUBTRACT, Kind.INTERVAL, Kind.INTERVAL): INTERVAL,
    (Operator.MULTIPLY, Kind.INTERVAL, Kind.BIGINT): INTERVAL,
}


def _decimal_type(op: Operator, left: Type, right: Type) -> Type:
    """Spark's rules. Results are rounded half away from zero to the scale, and NULL if they do not fit."""
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    assert p1 is not None and s1 is not None and p2 is not None and s2 is not None
    match op:
        case Operator.ADD | Operator.SUBTRACT:
            return bounded_decimal(max(p1 - s1, p2 - s2) + max(s1, s2) + 1, max(s1, s2))
        case Operator.MULTIPLY:
            return bounded_decimal(p1 + p2 + 1, s1 + s2)
        case Operator.DIVIDE:
            scale = max(6, s1 + p2 + 1)
            return bounded_decimal(p1 - s1 + s2 + scale, scale)
        case Operator.MODULO:
            return bounded_decimal(max(1, min(p1 - s1, p2 - s2) + max(s1, s2)), max(s1, s2))


@dataclass(frozen=True, slots=True)
class Negate(Expr):
    arg: Expr
    type: Type = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(self.arg.type.is_numeric or self.arg.type == INTERVAL, f"no -{self.arg.type}")
        object.__setattr__(self, "type", self.arg.type)

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.arg,)

    def with_parts(self, parts: tuple[Expr, ...]) -> Negate:
        return Negate(*parts)


@dataclass(frozen=True, slots=True)
class Case(Expr):
    """The value of the first branch whose condition is true, else `otherwise`."""

    conditions: tuple[Expr, ...]
    values: tuple[Expr, ...]
    otherwise: Expr
    type: Type = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(0 < len(self.conditions) == len(self.values), "CASE needs a value for each condition")
        require(all(condition.type == BOOLEAN for condition in self.conditions), "WHEN takes a boolean")
        require(all(value.type == self.otherwise.type for value in self.values), "CASE gives one type")
        object.__setattr__(self, "type", self.otherwise.type)

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (*self.conditions, *self.values, self.otherwise)

    def with_parts(self, parts: tuple[Expr, ...]) -> Case:
        n = len(self.conditions)
        return Case(parts[:n], parts[n:-1], parts[-1])


@dataclass(frozen=True, slots=True)
class Cast(Expr):
    """A value of another type, or NULL where there is no such value.

    Between a TIMESTAMP and a DATE or STRING it is what the clocks of `zone` show.
    """

    arg: Expr
    type: Type
    zone: str = DEFAULT

    def __post_init__(self) -> None:
        require(can_cast(self.arg.type, self.type), f"no cast from {self.arg.type} to {self.type}")

    @property
    def parts(self) -> tuple[Expr, ...]:
        return (self.arg,)

    def with_parts(self, parts: tuple[Expr, ...]) -> Cast:
        return Cast(parts[0], self.type, self.zone)


_CASTS: dict[Kind, frozenset[Kind]] = {
    Kind.BOOLEAN: frozenset({Kind.INT, Kind.BIGINT, Kind.STRING}),
    Kind.INT: frozenset({Kind.BOOLEAN, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE, Kind.STRING}),
    Kind.BIGINT: frozenset({Kind.BOOLEAN, Kind.INT, Kind.DECIMAL, Kind.DOUBLE, Kind.STRING}),
    Kind.DECIMAL: frozenset({Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE, Kind.STRING}),
    Kind.DOUBLE: frozenset({Kind.INT, Kind.BIGINT, Kind.DECIMAL}),
    Kind.STRING: frozenset(Kind) - {Kind.INTERVAL, Kind.NULL},
    Kind.BINARY: frozenset({Kind.STRING}),
    Kind.TIMESTAMP: frozenset({Kind.DATE, Kind.STRING}),
    Kind.DATE: frozenset({Kind.TIMESTAMP, Kind.STRING}),
    Kind.INTERVAL: frozenset(),
    Kind.NULL: frozenset(Kind),
}


def cast_in(arg: Expr, target: Type, zone: str) -> Cast:
    """A cast, in a time zone if that makes a difference."""
    kinds = {arg.type.kind, target.kind}
    is_zoned = Kind.TIMESTAMP in kinds and bool(kinds & {Kind.DATE, Kind.STRING})
    return Cast(arg, target, zone if is_zoned else DEFAULT)


def call_in(function: str, args: tuple[Expr, ...], zone: str) -> Call:
    """A call, in a time zone if that makes a difference."""
    reads_time = function == "TO_TIMESTAMP" or any(arg.type.kind is Kind.TIMESTAMP for arg in args)
    is_zoned = function in ZONED_FUNCTIONS and reads_time
    return Call(function, args, zone if is_zoned else DEFAULT)


def can_cast(source: Type, target: Type) -> bool:
    return source == target or target.kind in _CASTS[source.kind]


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A call of one of `ALL_FUNCTIONS`. Those of a TIMESTAMP's parts are of what the clocks of `zone` show."""

    function: str
    args: tuple[Expr, ...]
    zone: str = DEFAULT
    type: Type = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(self.function in ALL_FUNCTIONS, f"no function {self.function}")
        given = tuple(arg.type for arg in self.args)
        fit = ALL_FUNCTIONS[self.function].rule(given)
        if fit is None or fit[0] != given:
            raise AlgebraError(f"{self.function} does not take {given}")
        object.__setattr__(self, "type", fit[1])

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.args

    def with_parts(self, parts: tuple[Expr, ...]) -> Call:
        return Call(self.function, parts, self.zone)


TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)
UNKNOWN = Literal(None, BOOLEAN)
UNTYPED_NULL = Literal(None, NULL)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all its parts, outermost first."""
    pending = [expr]
    while pending:
        part = pending.pop()
        spend()
        yield part
        pending += reversed(part.parts)


def rewrite(expr: Expr, rule: Callable[[Expr], Expr]) -> Expr:
    """The expression with `rule` applied to each part, innermost first."""
    spend()
    parts = tuple([rewrite(part, rule) for part in expr.parts])
    return rule(expr if all(map(operator.is_, parts, expr.parts)) else expr.with_parts(parts))


def size(expr: Expr) -> int:
    """How many parts an expression has, itself one of them."""
    return sum(1 for _ in walk(expr))


@once
def columns(expr: Expr) -> frozenset[Column]:
    """The columns that an expression reads."""
    return frozenset(part for part in walk(expr) if isinstance(part, Column))


#: Far more than anybody writes, and still quick to walk through.
MOST_PARTS = 10_000


def substitute(expr: Expr, values: Mapping[Column, Expr]) -> Expr:
    """The expression with columns replaced by what computes them.

    Views that use each other's columns twice double an expression each time: one that grows out of hand is refused.
    """
    parts = sum(size(values.get(part, part)) if isinstance(part, Column) else 1 for part in walk(expr))
    if parts > MOST_PARTS:
        message = f"with its views and subqueries written out, an expression of this query has {parts} parts"
        raise PenstockError(message, f"{MOST_PARTS} are the most; use a computed column fewer times")
    return rewrite(expr, lambda part: values.get(part, part) if isinstance(part, Column) else part)


def conjunction(args: tuple[Expr, ...]) -> Expr:
    """One expression for `args` joined by AND."""
    if not args:
        return TRUE
    return args[0] if len(args) == 1 else And(args)


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """The arguments of nested ANDs; none for TRUE."""
    if isinstance(expr, And):
        return tuple(part for arg in expr.args for part in conjuncts(arg))
    return () if expr == TRUE else (expr,)
