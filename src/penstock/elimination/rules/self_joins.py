"""Self-joins on a key: a row joins no other row of its stream than itself, so the second occurrence is not read.

Assumes the normal form. Removes an occurrence y of a stream or table with `UNIQUE (k)` that is joined on all of k with
another one, x, each of whose rows is a row of y too. What y's filters and the other predicates say of y they then say
of x, and a key that is NULL joins nothing. `UNIQUE` is trusted, as everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, IsNull, Not, substitute
from penstock.algebra.relations import Join, Output, Project, Relation, Select
from penstock.catalog import Catalog
from penstock.elimination.occurrences import Elimination, Occurrence, column_of, itself, occurrence


def self_joins(node: Relation, catalog: Catalog) -> tuple[Relation, Elimination] | None:
    """The node without an occurrence that is the row of another, and why.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.algebra.rewrites import normalise
    >>> from penstock.elimination.rules import without_joins
    >>> from penstock.sql import bind_text
    >>> script = bind_text('''
    ...     CREATE STREAM s (id BIGINT, a BIGINT, b BIGINT, ts TIMESTAMP, UNIQUE (id)) TIMESTAMP BY ts;
    ...     SELECT x.a, y.b FROM s x, s y WHERE x.id = y.id AND y.b > 5
    ... ''')
    >>> relation, eliminations = without_joins(normalise(script.queries[0]).relation, script.catalog)
    >>> print(plan_text(relation))
    Project x.a, x.b
    └─ Select x.id IS NOT NULL AND x.b > 5
       └─ s [UNBOUNDED] AS x
    >>> print(*eliminations)
    y is not read: it is the row of x [s: UNIQUE (id)]
    """
    if not isinstance(node, Join):
        return None
    found = [(operand, each) for operand in node.operands if (each := occurrence(operand)) is not None]
    equalities = _equalities(node.on)
    for (_, kept), (dropped_operand, dropped) in permutations(found, 2):
        joined = equalities.get((kept.name, dropped.name))
        columns = None if joined is None else itself(kept, dropped)
        if joined is None or columns is None:
            continue
        equal = {other.name.lower() for one, other in joined if columns.get(other) == one}
        key = next((text for names, text in dropped.keys(catalog) if names <= equal), None)
        if key is not None:
            reason = Elimination(dropped.name, f"it is the row of {kept.name}", (key,))
            return _without(node, dropped_operand, dropped, columns), reason
    return None


def _equalities(on: tuple[Expr, ...]) -> dict[tuple[str, str], list[tuple[Column, Column]]]:
    """The columns that predicates make equal, by the occurrences that they are of, in either order."""
    found: dict[tuple[str, str], list[tuple[Column, Column]]] = {}
    for predicate in on:
        if isinstance(predicate, Compare) and predicate.op is Comparator.EQ:
            left, right = column_of(predicate.left), column_of(predicate.right)
            if left is not None and right is not None:
                found.setdefault((left.scope, right.scope), []).append((left, right))
                found.setdefault((right.scope, left.scope), []).append((right, left))
    return found


def _without(node: Join, operand: Relation, dropped: Occurrence, columns: Mapping[Column, Column]) -> Relation:
    kept = tuple(each for each in node.operands if each is not operand)
    predicates = tuple(_said(substitute(each, columns)) for each in (*node.on, *dropped.predicates))
    joined: Relation = Join(kept, predicates) if len(kept) > 1 else Select(kept[0], predicates)
    return Project(joined, tuple(Output(column, columns.get(column, column)) for column in node.schema))


def _said(predicate: Expr) -> Expr:
    """What an equality of a column with itself says: that it has a value."""
    if isinstance(predicate, Compare) and predicate.op is Comparator.EQ and predicate.left == predicate.right:
        return Not(IsNull(predicate.left))
    return predicate
