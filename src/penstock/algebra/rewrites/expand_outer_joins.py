"""Outer joins become unions of disjoint cases: combinations, and rows of each side that is kept which are in none.

    a LEFT JOIN b ON c      the combinations for which c is true
                            UNION ALL the rows of a without such a b, and NULLs for b's columns

Assumes nothing, and leaves no OuterJoin. Each case reads the sides under names of its own; the union has the columns of
the join, so that expressions over those stay as they are. A side that is an outer join, too, is not copied: that would
double with each of n joins in a row. It is Shared, and n joins have n anti-joins.
"""

from __future__ import annotations

from penstock.algebra.copies import CopyNames, Renaming, copied, numbered, renamed, union_all
from penstock.algebra.expressions import Column, Literal
from penstock.algebra.relations import (
    AntiJoin,
    Join,
    OuterJoin,
    Output,
    Project,
    Relation,
    SetOp,
    Shared,
    rewrite_relation,
    walk_relations,
)


def expand_outer_joins(relation: Relation) -> Relation:
    """The relation with a union of cases in place of each outer join.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.sql import bind_text
    >>> query = bind_text('''
    ...     CREATE STREAM a (id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE TABLE b (id BIGINT);
    ...     SELECT a.id, b.id AS other FROM a LEFT JOIN b ON a.id = b.id
    ... ''').queries[0]
    >>> print(plan_text(expand_outer_joins(query.relation)))
    Project a.id, b.id AS other
    └─ UNION ALL AS a.id, a.ts, b.id
       ├─ Join on a.id = b.id
       │  ├─ a [UNBOUNDED]
       │  └─ b
       └─ Project a.id AS unmatched.id_1, a.ts AS unmatched.ts, NULL AS unmatched.id_3
          └─ AntiJoin on a.id = b.id
             ├─ a [UNBOUNDED]
             └─ b
    """
    if not any(isinstance(node, OuterJoin) for node in walk_relations(relation)):
        return relation
    names = CopyNames.beside(relation)
    return rewrite_relation(relation, lambda node: _cases(node, names) if isinstance(node, OuterJoin) else node)


def _read(side: Relation, names: CopyNames) -> tuple[Relation, Renaming]:
    """A side once more, under other names."""
    if not any(isinstance(node, SetOp) for node in walk_relations(side)):
        return copied(side, names.fresh)
    scopes = {scope: names.fresh(scope) for scope in dict.fromkeys(column.scope for column in side.schema)}
    renaming = {column: Column(scopes[column.scope], column.name, column.type) for column in side.schema}
    return Shared(side, tuple(Output(new, old) for old, new in renaming.items())), renaming


def _cases(node: OuterJoin, names: CopyNames) -> Relation:
    (left, left_names), (right, right_names) = (_read(side, names) for side in node.inputs)
    cases: list[Relation] = [Join((left, right), renamed(node.on, left_names | right_names))]
    cases += [
        _unmatched(node, kept, missing, names)
        for keeps, kept, missing in (
            (node.keeps_left, node.left, node.right),
            (node.keeps_right, node.right, node.left),
        )
        if keeps
    ]
    return union_all(cases, node.schema, names)


def _unmatched(node: OuterJoin, kept: Relation, missing: Relation, names: CopyNames) -> Relation:
    """The rows of one side without a partner on the other, whose columns are NULL."""
    (own, own_names), (other, other_names) = _read(kept, names), _read(missing, names)
    alone = AntiJoin(own, other, renamed(node.on, own_names | other_names))
    padded = numbered(node.schema, names.fresh("unmatched"))
    values = [own_names.get(column, Literal(None, column.type)) for column in node.schema]
    return Project(alone, tuple(map(Output, padded, values)))
