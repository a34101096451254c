"""Counting along probe paths: inputs of which an aggregate over a join reads at most sums are counted, and not listed.

    SELECT a.g, COUNT(*), SUM(c.x) FROM a [...], b [...], c [...] WHERE a.k = b.k AND b.m = c.m GROUP BY a.g

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
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.relations import Aggregate, Aggregation, Relation, rewrite_relation
from penstock.closing.join_variables import join_variables
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.types import BIGINT, INT


def with_path_counting(relation: Relation, *, sums: bool) -> Relation:
    """The relation in which joins below aggregates count what these do not read.

    With `sums`, so are inputs of which they read sums; these are then added up in the cells of the join.
    """

    def counting(node: Relation) -> Relation:
        if isinstance(node, Aggregate) and isinstance(join := node.input, PhysicalJoin) and _lists_all(join):
            return node.with_inputs((_counting(node, join, sums=sums),))
        return node

    return rewrite_relation(relation, counting)


def _lists_all(join: PhysicalJoin) -> bool:
    """Whether it is a join of rows that are kept as long as their windows hold them."""
    return join.kind is JoinKind.JOIN and not join.reduced


def _counting(aggregate: Aggregate, join: PhysicalJoin, *, sums: bool) -> PhysicalJoin:
    variables = join_variables(join)
    if not all(is_indexed(expr, variables) for expr in join.on):
        return join
    summed = tuple(dict.fromkeys(a for a in aggregate.aggregations if sums and _is_sum(a)))
    arguments = (a.argument for a in aggregate.aggregations if a.argument is not None and a not in summed)
    read = frozenset(c for expr in (*(key.expr for key in aggregate.keys), *arguments) for c in columns(expr))
    counted = tuple(n for n, operand in enumerate(join.operands) if not read & frozenset(operand.schema))
    owned = frozenset(column for number in counted for column in join.operands[number].schema)
    return replace(join, counted=counted, summed=tuple(a for a in summed if a.argument in owned))


def _is_sum(aggregation: Aggregation) -> bool:
    """Whether it adds up whole numbers of a column, or counts its values."""
    argument = aggregation.argument
    if not isinstance(argument, Column) or aggregation.distinct:
        return False
    if aggregation.function is AggregateFunction.COUNT:
        return True
    return aggregation.function in (AggregateFunction.SUM, AggregateFunction.AVG) and argument.type in (BIGINT, INT)


def is_indexed(expr: Expr, variables: list[tuple[Column | None, ...]]) -> bool:
    """Whether an equality is between the columns by which two inputs are joined, so that the indexes see to it."""
    if not isinstance(expr, Compare) or expr.op is not Comparator.EQ:
        return False
    return any(expr.left in variable and expr.right in variable for variable in variables)
