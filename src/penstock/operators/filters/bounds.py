"""Bounds: what is known of a column of many rows without reading them, and which clauses no such row can pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.operators.filters.clauses import Clauses, Equal, Less, Missing, OneOf, SomeText, Test, Within
from penstock.synopsis.dictionary import Interned


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest value of a column, as codes, or as strings; None where that is not known."""

    low: Interned | None = None
    high: Interned | None = None
    #: Whether some row may be NULL, and whether some row may be not.
    has_nulls: bool = True
    has_values: bool = True


UNKNOWN = Bounds()


def may_pass(clauses: Clauses, bounds: Mapping[int, Bounds]) -> bool:
    """Returns whether a row may pass whose columns are within bounds, by position.

    >>> may_pass(((Within(0, 5, 9),),), {0: Bounds(10, 20)}), may_pass(((Within(0, 5, 9),),), {0: Bounds(7, 20)})
    (False, True)
    """
    return all(any(_may_hold(test, bounds) for test in clause) for clause in clauses)


def _may_hold(test: Test, bounds: Mapping[int, Bounds]) -> bool:
    own = bounds.get(test.column, UNKNOWN)
    if isinstance(test, Missing):
        return own.has_values if test.negated else own.has_nulls
    if not own.has_values:
        return False
    match test:
        case Within(_, low, high, negated):
            outside = not (_is_below(own.high, low) or _is_below(high, own.low))
            return _reaches_out_of(own, low, high) if negated else outside
        case OneOf(_, options, negated):
            return _is_not_just(own, options) if negated else any(_holds(own, option) for option in options)
        case SomeText(_, values, negated):
            return _is_not_just(own, values) if negated else any(_holds(own, value) for value in values)
        case Less(_, other, negated):
            right = bounds.get(other, UNKNOWN)
            may_be = not _is_below(own.high, right.low) if negated else not _reaches(own.low, right.high)
            return right.has_values and may_be
        case Equal(_, other, negated):
            right = bounds.get(other, UNKNOWN)
            apart = _is_below(own.high, right.low) or _is_below(right.high, own.low)
            same = own.low is not None and own.low == own.high == right.low == right.high
            return right.has_values and not (same if negated else apart)
    raise AssertionError(f"no test: {test!r}")


def _is_below(one: Interned | None, other: Interned | None) -> bool:
    """Returns whether a value is known to be less than another."""
    return one is not None and other is not None and one < other  # type: ignore[operator]


def _reaches(one: Interned | None, other: Interned | None) -> bool:
    """Returns whether a value is known to be at least another."""
    return one is not None and other is not None and one >= other  # type: ignore[operator]


def _holds(own: Bounds, value: Interned) -> bool:
    return not (_is_below(value, own.low) or _is_below(own.high, value))


def _reaches_out_of(own: Bounds, low: int, high: int) -> bool:
    return own.low is None or own.high is None or _is_below(own.low, low) or _is_below(high, own.high)


def _is_not_just(own: Bounds, values: tuple[Interned, ...]) -> bool:
    """Returns whether there may be a value besides these."""
    return own.low is None or own.low != own.high or own.low not in values
