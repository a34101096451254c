"""Exact eliminations: joins that cannot change the result are not run.

Each rule is a function of a node in normal form, and keeps what the relation holds at every instant, given the
declarations that it names. `UNIQUE` and assertions are trusted: where data breaks them, results differ from those of
the join. Assertions that promise a partner are watched on a sample of keys (`watching.py`); `UNIQUE` is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.algebra.relations import (
    Query,
    Range,
    Relation,
    StreamKind,
    Table,
    ToStream,
    Window,
    rewrite_relation,
    walk_relations,
)
from penstock.algebra.rewrites import normal_form, normalise
from penstock.catalog import AssertionDef, Catalog
from penstock.effort import OutOfEffort, answering, nesting
from penstock.elimination.occurrences import Elimination
from penstock.elimination.rules.anti_joins import anti_joins
from penstock.elimination.rules.parents import parents
from penstock.elimination.rules.self_joins import self_joins
from penstock.elimination.rules.semi_joins import semi_joins

RULES: tuple[Callable[[Relation, Catalog], tuple[Relation, Elimination] | None], ...] = (
    self_joins,
    parents,
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
    while relation is not before and _may_apply(relation, catalog):
        before = relation
        rewritten = rewrite_relation(relation, applied)
        relation = relation if rewritten is relation else normal_form(rewritten)
    return relation, tuple(eliminations)


@nesting
def eliminated(query: Query, catalog: Catalog) -> tuple[Query, tuple[Elimination, ...]]:
    """The query in normal form without joins that change nothing; as it is, where none are found within the effort."""
    if not _may_apply(query.relation, catalog):
        return query, ()
    trusted = catalog if _may_read_fewer_streams(query) else _without_assertions(catalog)
    try:
        with answering():
            relation, eliminations = without_joins(normalise(query).relation, trusted)
    except OutOfEffort:
        return query, ()
    if not eliminations:
        return query, ()
    root = replace(query.root, input=relation) if isinstance(query.root, ToStream) else relation
    return replace(query, root=root), eliminations


def _may_apply(relation: Relation, catalog: Catalog) -> bool:
    """Whether a stream or table has two occurrences, or an assertion may say that a partner exists."""
    leaves = [node for node in walk_relations(relation) if isinstance(node, (Window, Table))]
    names = {leaf.stream.name if isinstance(leaf, Window) else leaf.name for leaf in leaves}
    if len(names) < len(leaves):
        return True
    return len(leaves) > 1 and any(isinstance(each, AssertionDef) for each in catalog.definitions.values())


def _may_read_fewer_streams(query: Query) -> bool:
    """Whether the result does not depend on when rows of a stream arrive that say nothing else.

    RSTREAM shows all at each arrival, groups close as all streams pass, and until the last arrival rows leave windows.
    """
    kind = query.root.kind if isinstance(query.root, ToStream) else None
    ranges = (
        node for node in walk_relations(query.relation) if isinstance(node, Window) and isinstance(node.spec, Range)
    )
    return kind not in (StreamKind.RSTREAM, StreamKind.ON_CLOSE) and next(ranges, None) is None


def _without_assertions(catalog: Catalog) -> Catalog:
    for definition in tuple(catalog.definitions.values()):
        if isinstance(definition, AssertionDef):
            catalog = catalog.without(definition.name)
    return catalog
