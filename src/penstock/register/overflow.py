"""Sums that never overflow, by what is known of their columns: then a comparison is just what the theories take it for.

A sum of whole numbers that does not fit its type is NULL in SQL, and a comparison with it is not true. A sum over one
input can be examined when a row arrives; one over several has to be known to fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from penstock.algebra.expressions import Arithmetic, Cast, Column, Expr, Literal, Negate, Operator
from penstock.algebra.relations import Relation
from penstock.algebra.rewrites.normalise_predicates import FURTHEST, declared_times
from penstock.closing.finite import intervals
from penstock.types import BIGINT, BIGINT_RANGE, INT, INT_RANGE, Kind

#: The least and the greatest value.
Ends = tuple[int, int]

_RANGES = {
    Kind.INT: INT_RANGE,
    Kind.BIGINT: BIGINT_RANGE,
    Kind.TIMESTAMP: BIGINT_RANGE,
    Kind.INTERVAL: BIGINT_RANGE,
}


class KnownEnds:
    """Where the columns of a relation lie, as far as predicates, types and declared times say it."""

    def __init__(self, relation: Relation, predicates: Iterable[Expr]) -> None:
        self._times = declared_times(relation)
        self._within: Mapping[Column, tuple[int | None, int | None]] = intervals(predicates)

    def fits(self, expr: Expr) -> bool:
        """Whether an expression has a value wherever its columns have, and the predicates are true.

        >>> from penstock.algebra.expressions import Comparator, Compare
        >>> from penstock.algebra.relations import Table
        >>> a, b = Column("s", "a", BIGINT), Column("s", "b", BIGINT)
        >>> positive = [Compare(Comparator.GE, column, Literal(0, BIGINT)) for column in (a, b)]
        >>> known = KnownEnds(Table("s", "s", (a, b)), positive)
        >>> known.fits(Arithmetic(Operator.SUBTRACT, a, b)), known.fits(Arithmetic(Operator.ADD, a, b))
        (True, False)
        """
        return isinstance(expr, Column | Literal) or self._ends(expr) is not None

    def _ends(self, expr: Expr) -> Ends | None:
        """Where a sum lies, if it always fits its type."""
        match expr:
            case Column() if expr.type.kind in _RANGES:
                return self._of_column(expr)
            case Literal(int(value)) if expr.type.kind in _RANGES:
                return value, value
            case Cast(arg, type_) if (arg.type, type_) == (INT, BIGINT):
                return self._ends(arg)
            case Negate(arg):
                zero = Literal(0, arg.type)
                return self._fitting(expr, self._ends(zero), Operator.SUBTRACT, self._ends(arg))
            case Arithmetic(op, left, right):
                return self._fitting(expr, self._ends(left), op, self._ends(right))
        return None

    def _of_column(self, column: Column) -> Ends:
        least, most = _RANGES[column.type.kind]
        if column in self._times:
            least, most = -FURTHEST, FURTHEST
        low, high = self._within.get(column, (None, None))
        return max(least, low if low is not None else least), min(most, high if high is not None else most)

    def _fitting(self, expr: Expr, left: Ends | None, op: Operator, right: Ends | None) -> Ends | None:
        if left is None or right is None or op not in _OPERATIONS or expr.type.kind not in _RANGES:
            return None
        corners = [_OPERATIONS[op](a, b) for a, b in product(left, right)]
        least, most = _RANGES[expr.type.kind]
        return (min(corners), max(corners)) if least <= min(corners) and max(corners) <= most else None


_OPERATIONS = {
    Operator.ADD: int.__add__,
    Operator.SUBTRACT: int.__sub__,
    Operator.MULTIPLY: int.__mul__,
}
