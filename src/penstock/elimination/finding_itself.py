"""Semi- and anti-joins of a stream or table with itself in which each row matches itself.

Where each row of the left input is also a row of the right one that passes its filters, and all predicates compare a
column with the same column of the other side by `=`, `<=`, `>=` or `<=>`, a row matches itself, unless one of the
columns is NULL; and then it matches no row at all.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, IsNull
from penstock.algebra.relations import AntiJoin, SemiJoin
from penstock.catalog import Catalog
from penstock.elimination.occurrences import (
    Elimination,
    Occurrence,
    column_of,
    itself,
    occurrence,
    occurrences,
    passes,
)

_REFLEXIVE = (Comparator.EQ, Comparator.LE, Comparator.GE)


def finds_itself(node: SemiJoin | AntiJoin, catalog: Catalog) -> tuple[tuple[Expr, ...], Elimination] | None:
    """Tests for NULL of all that is compared, if each row without NULL matches itself."""
    other = occurrence(node.right)
    if other is None:
        return None
    for one in occurrences(node.left):
        columns = itself(one, other)
        if columns is not None and passes(one, other, columns):
            compared = [_compared(predicate, one, columns) for predicate in node.on]
            if all(each is not None for each in compared):
                named = dict.fromkeys(column for each in compared if each is not None for column in each)
                nullable = tuple(IsNull(column) for column in named if not one.is_not_null(column, catalog))
                return nullable, Elimination(other.name, f"the row of {one.name} itself matches")
    return None


def _compared(predicate: Expr, one: Occurrence, columns: Mapping[Column, Column]) -> tuple[Column, ...] | None:
    """The column that a predicate compares with itself, if it does; none where NULL matches NULL."""
    if not isinstance(predicate, Compare):
        return None
    sides = column_of(predicate.left), column_of(predicate.right)
    for mine, other in (sides, sides[::-1]):
        if mine is not None and mine in one.leaf.schema and other is not None and columns.get(other) == mine:
            if predicate.op is Comparator.SAME:
                return ()
            return (mine,) if predicate.op in _REFLEXIVE else None
    return None
