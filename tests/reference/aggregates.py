"""COUNT, SUM, AVG, MIN and MAX of a bag of values. NULLs are passed over; of nothing COUNT is 0, the others NULL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from penstock.algebra.functions import AggregateFunction
from penstock.types import Kind, Type
from tests.reference.numbers import fit_decimal, fit_integer, nearest_double
from tests.reference.values import Value, canonical, less
from tests.reference.values import distinct as distinct_rows


def aggregate(function: AggregateFunction, values: Sequence[Value], distinct: bool, result: Type) -> Value:
    kept = [value for value in values if value is not None]
    if distinct:
        kept = [value for (value,) in distinct_rows((value,) for value in kept) if value is not None]
    if function is AggregateFunction.COUNT:
        return len(kept)
    if not kept:
        return None
    match function:
        case AggregateFunction.MIN:
            return _best(kept, smallest=True)
        case AggregateFunction.MAX:
            return _best(kept, smallest=False)
        case AggregateFunction.SUM:
            return _total(kept, 1, result)
        case AggregateFunction.AVG:
            return _total(kept, len(kept), result)


def _best(values: Sequence[Value], smallest: bool) -> Value:
    best = values[0]
    for value in values[1:]:
        if less(value, best) if smallest else less(best, value):
            best = value
    return canonical(best)


def _total(values: Sequence[Value], divisor: int, result: Type) -> Value:
    """The exact sum through `divisor`, rounded once; an infinity or a NaN among the values decides by itself."""
    special = [value for value in values if isinstance(value, float) and not math.isfinite(value)]
    if special:
        return sum(special)
    exact = sum((Fraction(value) for value in values), Fraction(0)) / divisor  # type: ignore[arg-type]  # numbers
    if result.kind is Kind.DECIMAL:
        return fit_decimal(exact, result)
    if result.kind is Kind.DOUBLE:
        return nearest_double(exact)
    return fit_integer(exact.numerator, result)
