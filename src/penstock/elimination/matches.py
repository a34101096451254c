"""Semi- and anti-joins in which each row has a match: itself, or a partner that declarations promise.

Where each row of the left input is also a row of the right one that passes its filters, and all predicates compare a
column with the same column of the other side by `=`, `<=`, `>=` or `<=>`, a row matches itself, unless one of the
columns is NULL; and then it matches no row at all. Rows of another stream exist where assertions say so.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, IsNull, columns
from penstock.algebra.relations import AntiJoin, SemiJoin
from penstock.catalog import Catalog
from penstock.elimination.occurrences import (
    Elimination,
    Occurrence,
    Partnership,
    column_of,
    itself,
    occurrence,
    occurrences,
    passes,
)
from penstock.elimination.partners import partner

_REFLEXIVE = (Comparator.EQ, Comparator.LE, Comparator.GE)


def always_matches(node: SemiJoin | AntiJoin, catalog: Catalog) -> tuple[tuple[Expr, ...], Elimination] | None:
    """Tests for NULL of what is compared, if each row without NULL there has a match, and why."""
    other = occurrence(node.right)
    if other is None:
        return None
    for one in occurrences(node.left):
        promised = _promised(one, other, node, catalog)
        if promised is not None:
            return (), promised
        renaming = itself(one, other)
        if renaming is not None and passes(one, other, renaming):
            compared = [_compared(predicate, one, renaming) for predicate in node.on]
            if all(each is not None for each in compared):
                named = dict.fromkeys(column for each in compared if each is not None for column in each)
                nullable = tuple(IsNull(column) for column in named if not one.is_not_null(column, catalog))
                return nullable, Elimination(other.name, f"the row of {one.name} itself matches")
    return None


def _promised(one: Occurrence, other: Occurrence, node: SemiJoin | AntiJoin, catalog: Catalog) -> Elimination | None:
    schema = {*one.leaf.schema, *other.leaf.schema}
    if not all(columns(predicate) <= schema for predicate in node.on):
        return None
    leans_on = partner(one, other, node.on, catalog)
    if leans_on is None:
        return None
    promised = Partnership(one, other, node.on, leans_on)
    return Elimination(other.name, f"each row of {one.name} always has a partner there", leans_on, promised)


def _compared(predicate: Expr, one: Occurrence, renaming: Mapping[Column, Column]) -> tuple[Column, ...] | None:
    """The column that a predicate compares with itself, if it does; none where NULL matches NULL."""
    if not isinstance(predicate, Compare):
        return None
    sides = column_of(predicate.left), column_of(predicate.right)
    for mine, other in (sides, sides[::-1]):
        if mine is not None and mine in one.leaf.schema and other is not None and renaming.get(other) == mine:
            if predicate.op is Comparator.SAME:
                return ()
            return (mine,) if predicate.op in _REFLEXIVE else None
    return None
