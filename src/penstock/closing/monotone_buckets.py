"""Expressions that never fall as a column grows, so that each of their values is passed: roundings of times and counts.

One value of such an expression stands for a stretch of the column's values. Once a watermark has passed the stretch's
end, the value comes no more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.algebra.expressions import Arithmetic, Call, Cast, Column, Expr, Literal, Operator
from penstock.algebra.zones import zone_of
from penstock.types import Kind


def closable(exprs: Iterable[Expr]) -> tuple[frozenset[Column], dict[Column, int]]:
    """The columns among expressions, and the columns of which they tell a stretch of values, with its length."""
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


@dataclass(frozen=True, slots=True)
class _Rounded:
    """A whole-numbered column, rounded: results that differ by one are `step` apart, one stands for `cover` values."""

    column: Column
    step: int = 1
    cover: int = 1
    #: So many results are one value of the column apart, where a count of times became a TIMESTAMP.
    finer: int = 1

    def coarser(self, step: int, unit: int) -> _Rounded:
        """Rounded further, to whole steps of results that count in `unit`."""
        step, unit = max(1, step // self.finer), max(1, unit // self.finer)
        cover = step if step % self.cover == 0 else self.cover + step
        return _Rounded(self.column, unit, cover)


def _bucket(expr: Expr) -> tuple[Column, int] | None:
    """The column that an expression rounds, and how far apart values with one result may be."""
    found = _rounded(expr)
    return None if found is None else (found.column, found.cover if found.cover > 1 else 0)


def _rounded(expr: Expr) -> _Rounded | None:
    """Such an expression never falls as the column grows, so that each of its values is passed for good."""
    match expr:
        case Column():
            return _Rounded(expr) if expr.type.kind in (Kind.TIMESTAMP, Kind.BIGINT, Kind.INT) else None
        case Call() | Cast() if not zone_of(expr.zone).rounds(_shown_unit(expr)):
            return None  # clocks that are put back show smaller values again
        case Call("DATE_TRUNC", (Literal(str(unit)), arg)) if unit in _TRUNCATED and (inner := _rounded(arg)):
            return inner.coarser(_TRUNCATED[unit] + _repeated(expr), inner.step)
        case Call(function, (arg,)) if function in _UNITS and (inner := _rounded(arg)):
            return inner.coarser(_UNITS[function], _UNITS[function])
        case Call(function, (Column() as column,)) if function in _COUNTED:
            return _Rounded(column, finer=_COUNTED[function])
        case Call("YEAR", (arg,)) if (inner := _rounded(arg)) is not None:
            return inner.coarser(366 * _DAY + _repeated(expr), 366 * _DAY)
        case Cast(arg, type_) if type_.kind is Kind.DATE and arg.type.kind is Kind.TIMESTAMP:
            inner = _rounded(arg)
            return inner and inner.coarser(_DAY + _repeated(expr), _DAY)
        case Cast(arg, type_) if type_.kind is Kind.BIGINT and arg.type.kind is Kind.INT:
            return _rounded(arg)
        case Arithmetic(Operator.ADD | Operator.SUBTRACT, arg, Literal(int())):
            return _rounded(arg)
        case Arithmetic(Operator.ADD, Literal(int()), arg):
            return _rounded(arg)
        case Arithmetic(Operator.DIVIDE, arg, Literal(int(divisor))) if divisor > 0 and expr.type.is_integer:
            inner = _rounded(arg)  # times are not below 0, where division would round the other way
            return inner and inner.coarser(inner.step * divisor, inner.step * divisor)
    return None


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
