"""Exact eliminations: joins that cannot change the result are not run.

Each rule is a function of a node in normal form, and keeps what the relation holds at every instant, given the
declarations that it names. Assertions are promises that no run checks, so no rule leans on one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.algebra.relations import Query, Relation, Table, ToStream, Window, rewrite_relation, walk_relations
from penstock.algebra.rewrites import normal_form, normalise
from penstock.catalog import Catalog
from penstock.effort import answering, nesting
from penstock.elimination.occurrences import Elimination
from penstock.elimination.rules.anti_joins import anti_joins
from penstock.elimination.rules.self_joins import self_joins
from penstock.elimination.rules.semi_joins import semi_joins

RULES: tuple[Callable[[Relation, Catalog], tuple[Relation, Elimination] | None], ...] = (
    self_joins,
    semi_joins,
    anti_joins,
)


def without_joins(relation: Relation, catalog: Catalog) -> tuple[Relation, tuple[Elimination, ...]]:
    """The relation in normal form without joins that change nothing, and what was left out."""
    eliminations: list[Elimination] = []

    def applied(node: Relation) -> Relation:
        for rule in RULES:
            found = rule(node, catalog)
            if found is not None:
                eliminations.append(found[1])
                return found[0]
        return node

    before: Relation | None = None
    while relation is not before and _reads_twice(relation):
        before = relation
        rewritten = rewrite_relation(relation, applied)
        relation = relation if rewritten is relation else normal_form(rewritten)
    return relation, tuple(eliminations)


@nesting
def eliminated(query: Query, catalog: Catalog) -> tuple[Query, tuple[Elimination, ...]]:
    """The query in normal form without joins that change nothing; as it is, where there are none."""
    if not _reads_twice(query.relation):
        return query, ()
    with answering():
        relation, eliminations = without_joins(normalise(query).relation, catalog)
    if not eliminations:
        return query, ()
    root = replace(query.root, input=relation) if isinstance(query.root, ToStream) else relation
    return replace(query, root=root), eliminations


def _reads_twice(relation: Relation) -> bool:
    """Whether a stream or table has two occurrences: all rules are about those."""
    leaves = [node for node in walk_relations(relation) if isinstance(node, (Window, Table))]
    names = {leaf.stream.name if isinstance(leaf, Window) else leaf.name for leaf in leaves}
    return len(names) < len(leaves)
