"""Expressions that never fall as a column grows, so that each of their values is passed: roundings of times and counts.

Any composition of functions that never fall is one: sums, products and quotients with constants, `x - x % 10`, parts of
times. One value stands for a *bucket* of the column's values. Once a watermark has passed the bucket's end, the value
comes no more. What might overflow is none of them, for then it would be NULL.

    ts                0 ........ 1999 | 2000 ........ 3999 | 4000 ...      ts / 2000 * 2000
    the expression    0               | 2000               | 4000          a bucket covers 2000 values
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from penstock.algebra.expressions import Arithmetic, Call, Cast, Column, Expr, Literal, Operator
from penstock.algebra.zones import zone_of
from penstock.types import BIGINT_RANGE, INT_RANGE, Kind, Type


def closable(exprs: Iterable[Expr]) -> tuple[frozenset[Column], dict[Column, int]]:
    """The columns among expressions, and the columns of whose values they are buckets, with their widths."""
    plain: set[Column] = set()
    buckets: dict[Column, int] = {}
    for expr in exprs:
        if isinstance(expr, Column):
            plain.add(expr)
        if (bucket := _bucket(expr)) is not None:
            column, width = bucket
            buckets[column] = min(width, buckets.get(column, width))
    return frozenset(plain), buckets


def never_falls(expr: Expr) -> bool:
    """Whether an expression of one column never falls as the column grows, so that each of its values is passed."""
    return _rounded(expr) is not None


_UNITS = {"UNIX_MICROS": 1, "UNIX_MILLIS": 1_000, "UNIX_SECONDS": 1_000_000}
_COUNTED = {"TIMESTAMP_MICROS": 1, "TIMESTAMP_MILLIS": 1_000, "TIMESTAMP_SECONDS": 1_000_000}
_DAY = 86_400_000_000
_TRUNCATED = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": _DAY,
    "WEEK": 7 * _DAY,
    "MONTH": 31 * _DAY,
    "QUARTER": 92 * _DAY,
    "YEAR": 366 * _DAY,
}


#: Columns are taken for so large at most: instants are not later (`engines/lateness.py`), nor before 1970.
_LARGEST = (1 << 62) - 1


@dataclass(frozen=True, slots=True)
class _Rounded:
    """A whole-numbered column, rounded: results that differ by one are `step` apart, one stands for `cover` values."""

    column: Column
    #: The least and the greatest result.
    least: int
    most: int
    step: Fraction = Fraction(1)
    cover: int = 1

    def coarser(self, width: int) -> _Rounded:
        """Rounded further, to whole multiples of so many results."""
        values = ceil(width * self.step)
        return replace(self, cover=values if values % self.cover == 0 else self.cover + values)

    def scaled(self, by: Fraction) -> _Rounded:
        """Results that are so many times as large."""
        ends = (int(self.least * by), int(self.most * by))
        return replace(self, step=self.step / by, least=ends[0], most=ends[1])

    def moved(self, by: int) -> _Rounded:
        return replace(self, least=self.least + by, most=self.most + by)

    def fitting(self, type_: Type) -> _Rounded | None:
        """Itself, if all results fit a type."""
        low, high = INT_RANGE if type_.kind is Kind.INT else BIGINT_RANGE
        return self if low <= self.least and self.most <= high else None


def _bucket(expr: Expr) -> tuple[Column, int] | None:
    """The column that an expression rounds, and how far apart values with one result may be."""
    found = _rounded(expr)
    return None if found is None else (found.column, found.cover if found.cover > 1 else 0)


def _rounded(expr: Expr) -> _Rounded | None:
    """Such an expression never falls as the column grows, so that each of its values is passed for good."""
    match expr:
        case Column():
            return _whole(expr)
        case Call() | Cast() if not zone_of(expr.zone).rounds(_shown_unit(expr)):
            return None  # clocks that are put back show smaller values again
        case Call() | Cast():
            return _of_time(expr)
        case Arithmetic(Operator.SUBTRACT, arg, Arithmetic(Operator.MODULO, same, Literal(int(by)))) if arg == same:
            inner = _rounded(arg) if by > 0 and expr.type.is_integer else None
            return inner and inner.coarser(by)
        case Arithmetic(Operator.SUBTRACT, arg, Arithmetic(Operator.MODULO, rest, Literal(int(by)))) if (
            rest
            == Arithmetic(Operator.ADD, Arithmetic(Operator.MODULO, arg, Literal(by, arg.type)), Literal(by, arg.type))
        ):
            # What window(ts, '10 minutes') computes: a remainder that is not negative, whatever the sign.
            inner = _rounded(arg) if by > 0 and expr.type.is_integer else None
            return inner and inner.coarser(by)
        case Arithmetic(op, arg, Literal(int(by))):
            inner = _rounded(arg)
            return inner and _with_constant(inner, op, by, expr.type)
        case Arithmetic(Operator.ADD | Operator.MULTIPLY as op, Literal(int(by)), arg):
            inner = _rounded(arg)
            return inner and _with_constant(inner, op, by, expr.type)
        case Arithmetic(Operator.ADD, left, right):
            return _sum(_rounded(left), _rounded(right), expr.type)
    return None


def _whole(column: Column) -> _Rounded | None:
    match column.type.kind:
        case Kind.TIMESTAMP:
            return _Rounded(column, 0, _LARGEST)
        case Kind.BIGINT:
            return _Rounded(column, -_LARGEST, _LARGEST)
        case Kind.DATE:
            return _Rounded(column, 0, 1 << 40)
        case Kind.INT:
            return _Rounded(column, -(1 << 30), 1 << 30)
    return None


def _of_time(expr: Call | Cast) -> _Rounded | None:
    """What functions of times and casts make of what is rounded already."""
    match expr:
        case Call("DATE_TRUNC", (Literal(str(unit)), arg)) if unit in _TRUNCATED and (inner := _rounded(arg)):
            return inner.coarser(_TRUNCATED[unit] + _repeated(expr))
        case Call(function, (arg,)) if function in _UNITS and (inner := _rounded(arg)):
            return inner.coarser(_UNITS[function]).scaled(Fraction(1, _UNITS[function]))
        case Call(function, (arg,)) if function in _COUNTED and (inner := _rounded(arg)):
            # A number that is no time is not one of a stream's.
            found = inner.scaled(Fraction(_COUNTED[function]))
            return replace(found, least=max(found.least, -_LARGEST), most=min(found.most, _LARGEST))
        case Call("YEAR", (arg,)) if arg.type.kind is Kind.TIMESTAMP and (inner := _rounded(arg)) is not None:
            return inner.coarser(366 * _DAY + _repeated(expr)).scaled(Fraction(1, 366 * _DAY))
        case Cast(arg, type_) if type_.kind is Kind.DATE and arg.type.kind is Kind.TIMESTAMP:
            inner = _rounded(arg)
            return inner and inner.coarser(_DAY + _repeated(expr)).scaled(Fraction(1, _DAY))
        case Cast(arg, type_, "UTC") if type_.kind is Kind.TIMESTAMP and arg.type.kind is Kind.DATE:
            inner = _rounded(arg)
            return inner and inner.scaled(Fraction(_DAY))
        case Cast(arg, type_) if type_.kind is Kind.BIGINT and arg.type.kind is Kind.INT:
            return _rounded(arg)
    return None


def _with_constant(inner: _Rounded, op: Operator, by: int, type_: Type) -> _Rounded | None:
    match op:
        case Operator.ADD:
            return inner.moved(by).fitting(type_)
        case Operator.SUBTRACT:
            return inner.moved(-by).fitting(type_)
        case Operator.MULTIPLY if by > 0 and type_.is_integer:
            return inner.scaled(Fraction(by)).fitting(type_)
        case Operator.DIVIDE if by > 0 and type_.is_integer:
            return inner.coarser(by).scaled(Fraction(1, by))
    return None


def _sum(left: _Rounded | None, right: _Rounded | None, type_: Type) -> _Rounded | None:
    """It grows at least as fast as the finer one of both."""
    if left is None or right is None or left.column != right.column or not type_.is_integer:
        return None
    finer = min(left, right, key=lambda each: (each.cover, each.step))
    return replace(finer, least=left.least + right.least, most=left.most + right.most).fitting(type_)


def _shown_unit(expr: Call | Cast) -> str:
    """The unit of what an expression shows of a clock."""
    match expr:
        case Call("DATE_TRUNC", (Literal(str(unit)), _)):
            return unit
        case Call("HOUR" | "MINUTE" | "SECOND" as unit):
            return unit
    return "DAY"


def _repeated(expr: Call | Cast) -> int:
    """By how much a unit is longer at most than it is in UTC."""
    return zone_of(expr.zone).longest_overlap * 1_000_000
