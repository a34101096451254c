"""The normal form of queries, which the theories of the register, join elimination and the planner read.

Each rule is a file with one public function, and keeps what a relation holds at every instant, whatever the data.
In normal form

- a Join has all its inputs flat, and each is a Select or no Select of something that is neither Join nor Project;
- a Join's `on` holds only conjuncts over two inputs or more, or none at all (FALSE, say);
- predicates have the shape that `normalise_predicates` describes;
- a Project stands only at the root, below a Distinct and below a SetOp, unless it is Shared;
- there is no OuterJoin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.algebra.relations import Query, Relation, ToStream
from penstock.algebra.rewrites.drop_empty_cases import drop_empty_cases
from penstock.algebra.rewrites.drop_null_tests import drop_null_tests
from penstock.algebra.rewrites.expand_outer_joins import expand_outer_joins
from penstock.algebra.rewrites.lift_projections import lift_projections
from penstock.algebra.rewrites.merge_joins import merge_joins
from penstock.algebra.rewrites.normalise_predicates import normalise_predicates
from penstock.algebra.rewrites.push_selections import push_selections
from penstock.effort import answering, nesting

RULES: tuple[Callable[[Relation], Relation], ...] = (
    lift_projections,
    merge_joins,
    normalise_predicates,
    push_selections,
    drop_null_tests,
    drop_empty_cases,
)

#: What is done once, when nothing else is left to do: conditions are where they belong by then.
EXPANSIONS: tuple[Callable[[Relation], Relation], ...] = (expand_outer_joins,)


@nesting
def normalise(query: Query, *, for_readers: bool = False) -> Query:
    """The query in normal form; for readers outer joins stay what they are.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.sql import bind_text
    >>> query = bind_text('''
    ...     CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE STREAM item (id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE VIEW sale AS SELECT id, price FROM bid, item WHERE auction = id;
    ...     CREATE QUERY dear AS SELECT s.id FROM sale s WHERE NOT s.price < 100;
    ... ''').queries[0]
    >>> print(plan_text(normalise(query)))
    dear
    └─ Project item.id
       └─ Join on bid.auction = item.id
          ├─ Select bid.price >= 100
          │  └─ bid [UNBOUNDED]
          └─ item [UNBOUNDED]
    """
    with answering():
        relation = _fixpoint(query.relation) if for_readers else normal_form(query.relation)
    root = replace(query.root, input=relation) if isinstance(query.root, ToStream) else relation
    return replace(query, root=root)


def normal_form(relation: Relation) -> Relation:
    """The relation in normal form."""
    relation = before = _fixpoint(relation)
    for expand in EXPANSIONS:
        relation = expand(relation)
    return relation if relation is before else _fixpoint(relation)


def _fixpoint(relation: Relation) -> Relation:
    """The fixpoint of the rules.

    There is one: projections only move up and melt, joins only merge, selections only move down, tests for NULL only
    go, and a predicate that has been put in shape stays in shape until an expression is put in place of one of its
    columns, which happens once per projection, aggregate and set operation that it meets.
    """
    before = None
    while relation is not before:  # a rule that changes nothing gives back what it was given
        before = relation
        for rule in RULES:
            relation = rule(relation)
    return relation
