"""Rows of streams from the numbers that the theories give: of the columns' types, inside their bounds, and checked.

The theories see whole numbers, differences and classes of equal columns. A class of doubles or decimals between two
constants gets values between these; a class of any other type gets a value of its own for each number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, IsNull, Or, Value
from penstock.algebra.predicates import ColumnBound, ColumnDifference, ColumnEquality, PredicateView, classify
from penstock.algebra.relations import Stream
from penstock.closing.finite import intervals
from penstock.types import Kind, Type


@dataclass(frozen=True, slots=True)
class WitnessRow:
    """A row of a stream, in the order of its attributes: of an item, or of what follows when all items are there."""

    stream: str
    item: int | None
    ts: int
    values: tuple[Value, ...]


#: The rows of some occurrences, by their columns as the theories name them.
Combination = Mapping[str, Mapping[str, Hashable]]


class RowMaker:
    """Makes rows of streams that satisfy the predicates that the theories see."""

    def __init__(self, streams: Mapping[str, Stream], predicates: Iterable[Expr]) -> None:
        self.streams = streams
        self._views = [view for view in map(classify, predicates) if view is not None]
        self._whole = intervals(predicates)
        self._dense = _dense_intervals(self._views)

    def rows(self, combination: Combination, number: int, item: int | None, later: int = 0) -> list[WitnessRow]:
        """Rows of these occurrences, so much later than their times say."""
        made = {name: self.given(name, values, number) for name, values in combination.items() if name in self.streams}
        times = {name: _time(given[self.streams[name].timestamp]) + later for name, given in made.items()}
        return [self._row(name, given, times[name], item) for name, given in made.items()]

    def rows_at(self, combination: Combination, number: int, item: int | None, at: int) -> list[WitnessRow]:
        """The same at one instant; as their times say where predicates speak of times."""
        if self._is_timed:
            return self.rows(combination, number, item)
        made = {name: self.given(name, values, number) for name, values in combination.items() if name in self.streams}
        return [self._row(name, given, at, item) for name, given in made.items()]

    @property
    def _is_timed(self) -> bool:
        compared = {c for view in self._views for c in _columns(view)}
        return any(stream.timestamp in compared for stream in self.streams.values())

    def _row(self, name: str, given: Mapping[Column, Hashable], at: int, item: int | None) -> WitnessRow:
        stream = self.streams[name]
        values = {**given, stream.timestamp: at}
        return WitnessRow(stream.name, item, at, tuple(values[c] for c in stream.schema))  # type: ignore[misc]

    def holds(self, combination: Combination, number: int) -> bool:
        """Whether rows of these occurrences that come together satisfy all predicates between them."""
        made: dict[Column, Hashable] = {}
        for name, values in combination.items():
            if name in self.streams:
                made |= self.given(name, values, number)
        return all(_is_true(view, made) for view in self._views)

    def given(self, name: str, values: Mapping[str, Hashable], number: int) -> dict[Column, Hashable]:
        return {c: self._fitted(c, values.get(str(c), 0), number) for c in self.streams[name].schema}

    def _fitted(self, column: Column, value: Hashable, number: int) -> Hashable:
        """Away from the constant that ties a column down on one side, or between two, so that values differ."""
        if column in self._dense and isinstance(value, int):
            return _between(self._dense[column], value, column.type)
        low, high = self._whole.get(column, (None, None))
        if not isinstance(value, int) or (low is None) == (high is None):
            return typed(value, column.type)
        return value + number if high is None else value - number


def typed(value: Hashable, type_: Type) -> Hashable:
    """A value of a type for a number, different for different numbers."""
    match type_.kind:
        case Kind.STRING if not isinstance(value, str):
            return f"v{value}"
        case Kind.BINARY if not isinstance(value, bytes):
            return str(value).encode()
        case Kind.DOUBLE if isinstance(value, int | Fraction):
            return float(value)
        case Kind.DECIMAL if isinstance(value, int):
            return Decimal(value)
        case Kind.BOOLEAN:
            return bool(value)
    return value


def plain(predicate: Expr) -> Expr:
    """A predicate as it is where nothing is NULL: `<=>` is `=`, and NOT IN compares with `=`, or with NULL."""
    match predicate:
        case Compare(Comparator.SAME, left, right):
            return Compare(Comparator.EQ, left, right)
        case Or(args):
            compared = [arg for arg in args if not isinstance(arg, IsNull)]
            if len(compared) == 1 and isinstance(compared[0], Compare):
                return compared[0]
    return predicate


def is_seen(predicate: Expr) -> bool:
    """Whether rows can be made that satisfy a predicate."""
    match classify(predicate):
        case ColumnBound(column, op, value):
            number = isinstance(value, int | float | Decimal)
            return op is Comparator.EQ or (number and column.type.kind not in (Kind.STRING, Kind.BINARY))
        case ColumnDifference(op=op):
            return op is not Comparator.NE
        case ColumnEquality():
            return True
    return False


def _columns(view: PredicateView) -> tuple[Column, ...]:
    return (view.column,) if isinstance(view, ColumnBound) else (view.left, view.right)


def _time(value: Hashable) -> int:
    return value if isinstance(value, int) else 0


def _dense_intervals(views: Iterable[PredicateView]) -> dict[Column, tuple[Fraction | None, Fraction | None]]:
    """The bounds of doubles and decimals, which equalities share; a class that is equal to a constant has none."""
    views = list(views)
    low: dict[Column, Fraction] = {}
    high: dict[Column, Fraction] = {}
    for view in views:
        match view:
            case ColumnBound(column, op, float() | Decimal() | int() as value) if column.type.kind in _DENSE:
                if op in (Comparator.GT, Comparator.GE, Comparator.EQ):
                    low[column] = max(low.get(column, Fraction(value)), Fraction(value))
                if op in (Comparator.LT, Comparator.LE, Comparator.EQ):
                    high[column] = min(high.get(column, Fraction(value)), Fraction(value))
    pairs = [view for view in views if isinstance(view, ColumnEquality)]
    for _ in pairs:
        for pair in pairs:
            for one, other in ((pair.left, pair.right), (pair.right, pair.left)):
                if one in low:
                    low[other] = max(low.get(other, low[one]), low[one])
                if one in high:
                    high[other] = min(high.get(other, high[one]), high[one])
    return {column: (low.get(column), high.get(column)) for column in {**low, **high}}


_DENSE = (Kind.DOUBLE, Kind.DECIMAL)


def _between(bounds: tuple[Fraction | None, Fraction | None], number: int, type_: Type) -> Hashable:
    """Another value for each number that is not negative, inside the bounds."""
    low, high = bounds
    if low is not None and high is not None:
        value = low + (high - low) * Fraction(number + 1, number + 2)
    elif low is not None:
        value = low + number + 1
    else:
        assert high is not None
        value = high - number - 1
    if type_.kind is Kind.DOUBLE:
        return float(value)
    unit = Decimal(1).scaleb(-(type_.scale or 0))
    return (Decimal(value.numerator) / Decimal(value.denominator)).quantize(unit)


def _is_true(view: PredicateView, values: Mapping[Column, Hashable]) -> bool:
    """Whether a view holds of values; of columns that are not there, it may."""
    match view:
        case ColumnBound(column, op, value):
            return column not in values or _compared(values[column], op, value)
        case ColumnEquality(left, right):
            return not {left, right} <= values.keys() or values[left] == values[right]
        case ColumnDifference(left, right, op, constant):
            if not {left, right} <= values.keys():
                return True
            one, other = values[left], values[right]
            return isinstance(one, int) and isinstance(other, int) and _compared(one - other, op, constant)


_COMPARED: Mapping[Comparator, Callable[[Any, Any], bool]] = {
    Comparator.EQ: operator.eq,
    Comparator.NE: operator.ne,
    Comparator.LT: operator.lt,
    Comparator.LE: operator.le,
    Comparator.GT: operator.gt,
    Comparator.GE: operator.ge,
}


def _compared(left: Hashable, op: Comparator, right: Hashable) -> bool:
    return op in _COMPARED and _COMPARED[op](left, right)


def from_zero(rows: Iterable[WitnessRow]) -> tuple[WitnessRow, ...]:
    """The rows in the order of their arrival; none if a time is before 0, or what follows comes too early."""
    found = sorted(rows, key=lambda row: (row.item is None, row.ts))
    times = [row.ts for row in found]
    return tuple(found) if times == sorted(times) and all(time >= 0 for time in times) else ()
