"""Clauses: cheap conjuncts as tests of single columns, in conjunctive normal form.

A row passes a predicate where it is true, be it false or NULL elsewhere. With NOT pushed down to the comparisons, AND
and OR are true by what is true in them alone, so three-valued logic ends here: a test holds or does not, and none but
IS NULL holds for a NULL. A comparison with a constant is a range of codes: of numbers, times and truth values, and of
DOUBLEs by the integers that are in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from penstock.algebra.expressions import (
    And,
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
)
from penstock.algebra.relations import Schema
from penstock.operators.scalars.logic import double_order
from penstock.synopsis.codes import double_codes, is_interned
from penstock.synopsis.dictionary import Interned
from penstock.types import BIGINT_RANGE, Kind, Type

LOWEST, HIGHEST = BIGINT_RANGE

#: Options of an IN, and clauses of a conjunct, up to which they are cheap.
MOST_OPTIONS = 16
MOST_CLAUSES = 16


@dataclass(frozen=True, slots=True)
class Within:
    """A column's code is in a range, both ends in; or outside of it."""

    column: int
    low: int
    high: int
    negated: bool = False


@dataclass(frozen=True, slots=True)
class OneOf:
    """A column's code is one of these, which differ; or none of them."""

    column: int
    options: tuple[int, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Less:
    """A column is less than another; or not."""

    column: int
    other: int
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Equal:
    """A column is equal to another; or not."""

    column: int
    other: int
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """A column is NULL; or not."""

    column: int
    negated: bool = False


@dataclass(frozen=True, slots=True)
class SomeText:
    """A column of strings has one of these values; or none of them."""

    column: int
    values: tuple[Interned, ...]
    negated: bool = False


Test = Within | OneOf | Less | Equal | Missing | SomeText
#: Tests of which one has to hold. Of none of them none holds.
Clause = tuple[Test, ...]
Clauses = tuple[Clause, ...]

#: What no row passes, and what every row does.
NEVER: Clauses = ((),)
ALWAYS: Clauses = ()


def split(exprs: Sequence[Expr], schema: Schema) -> tuple[Clauses, tuple[Expr, ...]]:
    """Returns the clauses of the conjuncts that are cheap, and the other conjuncts.

    >>> from penstock.types import BIGINT
    >>> x = Column("s", "x", BIGINT)
    >>> split([Compare(Comparator.GE, x, Literal(3, BIGINT)), Compare(Comparator.LT, x, Literal(9, BIGINT))], (x,))
    (((Within(column=0, low=3, high=8, negated=False),),), ())
    """
    clauses: list[Clause] = []
    others = []
    for expr in exprs:
        found = clauses_of(expr, schema)
        clauses += found or ()
        others += [expr] if found is None else []
    return _merged(clauses), tuple(others)


def clauses_of(expr: Expr, schema: Schema) -> Clauses | None:
    """Returns the clauses of a conjunct, or None if it is not cheap."""
    try:
        return _clauses(expr, schema, wanted=True)
    except _NotCheapError:
        return None


def tested_columns(clauses: Clauses) -> set[int]:
    """Returns the columns that some test reads."""
    tests = [test for clause in clauses for test in clause]
    return {test.column for test in tests} | {test.other for test in tests if isinstance(test, Less | Equal)}


def _merged(clauses: Sequence[Clause]) -> Clauses:
    """Makes one range of all ranges that one column has to be in."""
    ranges: dict[int, Within] = {}
    others: list[Clause] = []
    for clause in clauses:
        match clause:
            case (Within(column, low, high, False),):
                known = ranges.get(column, Within(column, LOWEST, HIGHEST))
                ranges[column] = _within(column, max(known.low, low), min(known.high, high))
            case _:
                others.append(clause)
    return (*((test,) for test in ranges.values()), *others)


class _NotCheapError(Exception):
    """A part of a conjunct is no test of columns."""


def _clauses(expr: Expr, schema: Schema, wanted: bool) -> Clauses:
    """Returns when an expression is true or, unless that is wanted, when it is false."""
    match expr:
        case And(args) | Or(args):
            parts = [_clauses(arg, schema, wanted) for arg in args]
            return sum(parts, ()) if isinstance(expr, And) == wanted else _any_of(parts)
        case Not(arg):
            return _clauses(arg, schema, not wanted)
        case IsNull(arg):
            return ((Missing(_nullable(arg, schema), not wanted),),)
        case Compare():
            return _comparison(expr, schema, wanted)
        case In():
            return _membership(expr, schema, wanted)
        case Column():
            return ((Within(schema.index(expr), int(wanted), int(wanted)),),)
        case Literal(value):
            return ALWAYS if value is wanted else NEVER
    raise _NotCheapError


def _any_of(parts: Sequence[Clauses]) -> Clauses:
    """OR, by the distributive law."""
    found: Clauses = NEVER
    for part in parts:
        if len(found) * len(part) > MOST_CLAUSES:
            raise _NotCheapError
        found = tuple(one + other for one, other in product(found, part))
    return found


def _comparison(expr: Compare, schema: Schema, wanted: bool) -> Clauses:
    op, left, right = expr.op, expr.left, expr.right
    if isinstance(left, Literal):
        op, left, right = op.mirrored, right, left
    if not isinstance(right, Literal):
        return _pair(op, left, right, schema, wanted)
    if op is Comparator.SAME:
        column = _nullable(left, schema)
        if right.value is None:
            return ((Missing(column, not wanted),),)
        (clause,) = _comparison(Compare(Comparator.EQ, left, right), schema, wanted)
        return (clause,) if wanted else ((Missing(column), *clause),)
    if right.value is None:
        return NEVER
    negated = op.negated
    assert negated is not None
    op = op if wanted else negated
    if right.type.kind in (Kind.STRING, Kind.BINARY):
        return _text(op, left, right, schema)
    column, factor = _operand(left, schema)
    low, high = _range(op, _code(right))
    return ((_within(column, low, high, factor, negated=op is Comparator.NE),),)


#: Beyond all codes, of long DECIMALs too.
_BELOW_ALL, _ABOVE_ALL = -(10**60), 10**60


def _range(op: Comparator, constant: int) -> tuple[int, int]:
    """Returns the range that a comparison with a constant asks for; `<>` asks for what is outside of it."""
    match op:
        case Comparator.LT:
            return _BELOW_ALL, constant - 1
        case Comparator.LE:
            return _BELOW_ALL, constant
        case Comparator.GT:
            return constant + 1, _ABOVE_ALL
        case Comparator.GE:
            return constant, _ABOVE_ALL
    return constant, constant


def _within(column: int, low: int, high: int, factor: int = 1, *, negated: bool = False) -> Within:
    """Returns the range of a column that, times the factor, has to be in a range."""
    low, high = max(-(-low // factor), LOWEST), min(high // factor, HIGHEST)
    return Within(column, low, high, negated) if low <= high else Within(column, HIGHEST, LOWEST, negated)


def _text(op: Comparator, left: Expr, right: Literal, schema: Schema) -> Clauses:
    if not isinstance(left, Column) or op not in (Comparator.EQ, Comparator.NE):
        raise _NotCheapError
    assert isinstance(right.value, str | bytes)
    return ((SomeText(schema.index(left), (right.value,), op is Comparator.NE),),)


def _pair(op: Comparator, left: Expr, right: Expr, schema: Schema, wanted: bool) -> Clauses:
    (one, one_factor), (other, other_factor) = _operand(left, schema), _operand(right, schema)
    if one_factor != other_factor:
        raise _NotCheapError
    match op:
        case Comparator.EQ | Comparator.NE:
            return ((Equal(one, other, (op is Comparator.EQ) != wanted),),)
        case Comparator.LT | Comparator.GE:
            return ((Less(one, other, (op is Comparator.LT) != wanted),),)
        case Comparator.GT | Comparator.LE:
            return ((Less(other, one, (op is Comparator.GT) != wanted),),)
    if not wanted:
        raise _NotCheapError
    return (Equal(one, other), Missing(one)), (Equal(one, other), Missing(other))


def _membership(expr: In, schema: Schema, wanted: bool) -> Clauses:
    options = [option for option in expr.options if isinstance(option, Literal)]
    known = [option for option in options if option.value is not None]
    if len(options) < len(expr.options) or len(options) > MOST_OPTIONS:
        raise _NotCheapError
    if not known or (not wanted and len(known) < len(options)):
        return NEVER
    if expr.arg.type.kind in (Kind.STRING, Kind.BINARY):
        if not isinstance(expr.arg, Column):
            raise _NotCheapError
        values = tuple(option.value for option in known if isinstance(option.value, str | bytes))
        return ((SomeText(schema.index(expr.arg), values, not wanted),),)
    column, factor = _operand(expr.arg, schema)
    codes = {quotient for option in known for quotient, rest in [divmod(_code(option), factor)] if rest == 0}
    fitting = sorted(code for code in codes if LOWEST <= code <= HIGHEST)
    if not fitting:
        return NEVER if wanted else ((Missing(column, True),),)
    return ((OneOf(column, tuple(fitting), not wanted),),)


def _nullable(expr: Expr, schema: Schema) -> int:
    """Returns the column that is NULL where an expression is."""
    return schema.index(expr) if isinstance(expr, Column) else _operand(expr, schema)[0]


def _operand(expr: Expr, schema: Schema) -> tuple[int, int]:
    """Returns a column and a factor: the code of the expression is that of the column times the factor."""
    match expr:
        case Column() if not is_interned(expr.type):
            return schema.index(expr), 1
        case Cast(Column() as column) if not is_interned(column.type) and _only_scales(column.type, expr.type):
            return schema.index(column), 10 ** ((expr.type.scale or 0) - (column.type.scale or 0))
    raise _NotCheapError


def _only_scales(source: Type, target: Type) -> bool:
    """Whether a cast keeps every number: it adds digits at its ends, if any."""
    if source.kind is Kind.INT and target.kind is Kind.BIGINT:
        return True
    if target.kind is not Kind.DECIMAL or not (source.kind in _DIGITS or source.kind is Kind.DECIMAL):
        return False
    assert target.precision is not None and target.scale is not None
    whole = _DIGITS.get(source.kind) or (source.precision or 0) - (source.scale or 0)
    return target.scale >= (source.scale or 0) and target.precision - target.scale >= whole


_DIGITS = {Kind.INT: 10, Kind.BIGINT: 19}


def _code(literal: Literal) -> int:
    """Returns the code of a constant, however long, or what is in its place in the order of DOUBLEs."""
    value = literal.value
    assert value is not None and not isinstance(value, str | bytes)
    if literal.type.kind is Kind.DOUBLE:
        return int(double_order(double_codes(np.array([value], np.float64)))[0])
    return int(Fraction(value) * 10 ** (literal.type.scale or 0))
