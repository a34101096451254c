"""Nested joins become one n-way join, which holds the predicates of the selections over it.

Assumes nothing; finds more once `lift_projections` has cleared the way. Leaves no Join below a Join and no Select over
one. Joins of bags are associative: the multiplicities of a combination's rows are multiplied, in whatever grouping.
"""

from __future__ import annotations

from penstock.algebra.expressions import Expr
from penstock.algebra.relations import Join, Relation, Select, rewrite_relation


def merge_joins(relation: Relation) -> Relation:
    """The relation with every group of neighbouring joins and selections over them as one join.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.sql import bind_text
    >>> query = bind_text('''
    ...     CREATE STREAM a (x BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE STREAM b (y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     SELECT x FROM a, b WHERE x = y
    ... ''').queries[0]
    >>> print(plan_text(merge_joins(query.relation)))
    Project a.x
    └─ Join on a.x = b.y
       ├─ a [UNBOUNDED]
       └─ b [UNBOUNDED]
    """
    return rewrite_relation(relation, _node)


def _node(node: Relation) -> Relation:
    match node:
        case Select(Join(operands, on), predicates):
            return Join(operands, on + predicates)
        case Select(Select(below, first), second):
            return _node(Select(below, first + second))
        case Join():
            return _flat(node)
    return node


def _flat(node: Join) -> Join:
    operands: list[Relation] = []
    on: list[Expr] = []
    for operand in node.operands:
        operands += operand.operands if isinstance(operand, Join) else (operand,)
        on += operand.on if isinstance(operand, Join) else ()
    return Join(tuple(operands), (*on, *node.on))
