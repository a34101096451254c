"""Rows that a set operation need not see: those of one side that the other side can never have.

A row on the right of EXCEPT takes nothing away unless it is on the left, too, and INTERSECT shows what both sides have.
So what is true of every row of one side is asked of the rows of the other (register/windows.py counts no others).
"""

from __future__ import annotations

from penstock.algebra.relations import Relation, Select, SetOp, SetOperator, rewrite_relation, walk_relations
from penstock.algebra.rewrites import normal_form
from penstock.algebra.user_functions import calls_user
from penstock.closing.finite import finite, renamed, truths


def narrowed(relation: Relation) -> Relation:
    """The relation in normal form whose set operations see only rows that may matter to them.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.algebra.rewrites import normalise
    >>> from penstock.sql import bind_text
    >>> query = bind_text('''
    ...     CREATE STREAM s (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE STREAM t (b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     SELECT a FROM s WHERE a < 5 EXCEPT SELECT b FROM t
    ... ''').queries[0]
    >>> print(plan_text(narrowed(normalise(query).relation)))
    EXCEPT AS a
    ├─ Project s.a AS left.a
    │  └─ Select s.a < 5
    │     └─ s [UNBOUNDED]
    └─ Project t.b AS right.b
       └─ Select t.b < 5
          └─ t [UNBOUNDED]
    """
    if not any(isinstance(node, SetOp) for node in walk_relations(relation)):
        return relation
    return normal_form(rewrite_relation(relation, _node))


def is_narrow(operation: SetOp) -> bool:
    """Whether the values of both sides are finitely many."""
    return all(frozenset(side.schema) <= finite(side).keys() for side in operation.inputs)


def _node(node: Relation) -> Relation:
    match node:
        case SetOp(SetOperator.EXCEPT, _, left, right):
            return node.with_inputs((left, _seen(right, left)))
        case SetOp(SetOperator.INTERSECT, _, left, right):
            return node.with_inputs((_seen(left, right), _seen(right, left)))
    return node


def _seen(side: Relation, other: Relation) -> Relation:
    """The rows of one side that the other side may have."""
    # No user function is called on rows of a side that does not call it.
    truths_of_other = tuple(truth for truth in truths(other) if not calls_user(truth))
    known = tuple(renamed(truths_of_other, zip(other.schema, side.schema, strict=True)))
    return Select(side, known) if known else side
