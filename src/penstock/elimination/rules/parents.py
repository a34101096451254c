"""Joins with a parent that always exists: each row has just one partner, of which nothing is read.

Assumes the normal form. Removes an occurrence y of a stream that is joined on a declared key with another one, x, if
declarations imply that each row of x has its partner in y whenever it is there (`partners.py`), and no column of y
is read above. With the key there is at most one partner, so each row of x is in the result just as often as before.
"""

from __future__ import annotations

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, columns
from penstock.algebra.relations import Aggregate, Join, Project, Relation, Select
from penstock.catalog import Catalog
from penstock.elimination.occurrences import Elimination, Occurrence, Partnership, column_of, occurrence
from penstock.elimination.partners import partner


def parents(node: Relation, catalog: Catalog) -> tuple[Relation, Elimination] | None:
    """The node without a join with a parent of which nothing is read, and why.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.algebra.rewrites import normalise
    >>> from penstock.elimination.rules import without_joins
    >>> from penstock.sql import bind_text
    >>> script = bind_text('''
    ...     CREATE STREAM item (id BIGINT, ts TIMESTAMP, UNIQUE (id)) TIMESTAMP BY ts;
    ...     CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE ASSERTION offered FOR bid b THEN EXISTS item i WHERE i.id = b.auction AND i.ts <= b.ts;
    ...     SELECT b.price FROM bid [ROWS 5] b, item i WHERE i.id = b.auction
    ... ''')
    >>> relation, eliminations = without_joins(normalise(script.queries[0]).relation, script.catalog)
    >>> print(plan_text(relation))
    Project b.price
    └─ bid [ROWS 5] AS b
    >>> print(*eliminations)
    i is not joined: each row of b always has one partner there [offered; item: UNIQUE (id)]
    """
    match node:
        case Project(Join() as join, outputs):
            read = frozenset(column for output in outputs for column in columns(output.expr))
        case Aggregate(Join() as join, keys, aggregations):
            exprs = [key.expr for key in keys] + [a.argument for a in aggregations if a.argument is not None]
            read = frozenset(column for expr in exprs for column in columns(expr))
        case _:
            return None
    found = _without_parent(join, read, catalog)
    return None if found is None else (node.with_inputs((found[0],)), found[1])


def _without_parent(join: Join, read: frozenset[Column], catalog: Catalog) -> tuple[Relation, Elimination] | None:
    for child, parent_operand, parent, on in _candidates(join, read):
        equal = _equal_columns(on, parent)
        key = next((text for names, text in parent.keys(catalog) if names <= equal), None)
        leans_on = None if key is None else partner(child, parent, on, catalog)
        if key is not None and leans_on is not None:
            kept = tuple(operand for operand in join.operands if operand is not parent_operand)
            rest = tuple(predicate for predicate in join.on if predicate not in on)
            reason = f"each row of {child.name} always has one partner there"
            promised = Partnership(child, parent, on, leans_on, key)
            all_ = tuple(dict.fromkeys((*leans_on, key)))
            return _joined(kept, rest), Elimination(parent.name, reason, all_, promised)
    return None


def _candidates(join: Join, read: frozenset[Column]) -> list[tuple[Occurrence, Relation, Occurrence, tuple[Expr, ...]]]:
    """Pairs of a child and a parent of which nothing is read, and which is joined with no other occurrence."""
    found = [(operand, each) for operand in join.operands if (each := occurrence(operand)) is not None]
    places = {each.name: place for place, (_, each) in enumerate(found)}
    by_scope: dict[str, list[Expr]] = {}
    for predicate in join.on:
        for scope in {column.scope for column in columns(predicate)}:
            by_scope.setdefault(scope, []).append(predicate)
    candidates = []
    for place, (operand, parent) in enumerate(found):
        on = tuple(by_scope.get(parent.name, ()))
        others = {column.scope for predicate in on for column in columns(predicate)} - {parent.name}
        child = places.get(next(iter(others))) if len(others) == 1 else None
        if child is not None and not read & set(parent.leaf.schema):
            candidates.append((child, place, (found[child][1], operand, parent, on)))
    return [candidate for *_, candidate in sorted(candidates, key=lambda each: each[:2])]


def _equal_columns(on: tuple[Expr, ...], parent: Occurrence) -> frozenset[str]:
    """The columns of the parent that are equal to one of the child, in lower case."""
    own = set(parent.leaf.schema)
    equal: set[str] = set()
    for predicate in on:
        if isinstance(predicate, Compare) and predicate.op is Comparator.EQ:
            sides = column_of(predicate.left), column_of(predicate.right)
            for one, other in (sides, sides[::-1]):
                if one is not None and one in own and other not in own:
                    equal.add(one.name.lower())
    return frozenset(equal)


def _joined(kept: tuple[Relation, ...], on: tuple[Expr, ...]) -> Relation:
    if len(kept) > 1:
        return Join(kept, on)
    return Select(kept[0], on) if on else kept[0]
