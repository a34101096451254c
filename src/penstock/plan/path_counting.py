"""Counting along probe paths: inputs of which an aggregate over a join reads nothing are counted, and not listed.

    SELECT a.g, COUNT(*) FROM a [...], b [...], c [...] WHERE a.k = b.k AND b.m = c.m GROUP BY a.g

    a: b by k ──▶ c by m, counted      a row of a gives one result for each row of b that it joins
    b: a by k ──▶ c by m, counted
    c: b by m ──▶ a by k               b binds the k by which a is probed

A combination stands for all that differ only in rows of counted inputs (eager aggregation: Yan and Larson 1995), and
counts as often as the product of their numbers (`kernels/path_counting.py`). A stage is counted if its input is, and no
later stage of the path takes a value from it. Where predicates remain that are tested on combinations, all are listed.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, columns
from penstock.algebra.relations import Aggregate, Relation, rewrite_relation
from penstock.closing.join_variables import join_variables
from penstock.closing.physical_join import JoinKind, PhysicalJoin


def with_path_counting(relation: Relation) -> Relation:
    """The relation in which joins below aggregates count what these do not read."""

    def counting(node: Relation) -> Relation:
        if isinstance(node, Aggregate) and isinstance(join := node.input, PhysicalJoin) and _lists_all(join):
            return node.with_inputs((replace(join, counted=_counted(node, join)),))
        return node

    return rewrite_relation(relation, counting)


def _lists_all(join: PhysicalJoin) -> bool:
    """Whether it is a join of rows that are kept as long as their windows hold them."""
    return join.kind is JoinKind.JOIN and not join.reduced


def _counted(aggregate: Aggregate, join: PhysicalJoin) -> tuple[int, ...]:
    variables = join_variables(join)
    if not all(is_indexed(expr, variables) for expr in join.on):
        return ()
    arguments = (a.argument for a in aggregate.aggregations if a.argument is not None)
    read = frozenset(c for expr in (*(key.expr for key in aggregate.keys), *arguments) for c in columns(expr))
    return tuple(n for n, operand in enumerate(join.operands) if not read & frozenset(operand.schema))


def is_indexed(expr: Expr, variables: list[tuple[Column | None, ...]]) -> bool:
    """Whether an equality is between the columns by which two inputs are joined, so that the indexes see to it."""
    if not isinstance(expr, Compare) or expr.op is not Comparator.EQ:
        return False
    return any(expr.left in variable and expr.right in variable for variable in variables)
