"""Projections move up and melt, so that a view or a derived table becomes part of the query around it.

Assumes nothing. Leaves projections only where somebody counts the columns: at the root, below a Distinct, below a
SetOp. A projection's expressions are put in place of its columns; they have no effect but their value, so computing
one later, or twice, is the same. Bags keep their duplicates, since a projection keeps every row.
"""

from __future__ import annotations

from penstock.algebra.expressions import Column, Expr, substitute
from penstock.algebra.relations import (
    Aggregate,
    Aggregation,
    AntiJoin,
    Join,
    Output,
    Project,
    Relation,
    Schema,
    Select,
    SemiJoin,
    Shared,
    rewrite_relation,
)

ComputedColumns = dict[Column, Expr]


def lift_projections(relation: Relation) -> Relation:
    """The relation with each projection merged into the one above it, or into the aggregate.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.sql import bind_text
    >>> query = bind_text('''
    ...     CREATE STREAM s (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     SELECT v.twice + 1 AS more FROM (SELECT a + a AS twice FROM s) v WHERE v.twice > 10
    ... ''').queries[0]
    >>> print(plan_text(lift_projections(query.relation)))
    Project s.a + s.a + 1 AS more
    └─ Select s.a + s.a > 10
       └─ s [UNBOUNDED]
    """
    return rewrite_relation(relation, _node)


def _node(node: Relation) -> Relation:
    match node:
        case Shared() | Project(Shared()) | Select(Shared()) | Aggregate(Shared()):
            return node
        case Project(Project(below, inner), outputs):
            return Project(below, _computed(outputs, _values(inner)))
        case Select(Project(below, inner), predicates):
            return Project(Select(below, _substituted(predicates, _values(inner))), inner)
        case Aggregate(Project(below, inner), keys, aggregations):
            values = _values(inner)
            return Aggregate(below, _computed(keys, values), _aggregated(aggregations, values))
        case Join():
            return _join(node)
        case SemiJoin() | AntiJoin():
            return _semi_or_anti_join(node)
    return node


def _join(node: Join) -> Relation:
    """All operands' projections become one above the join, with the columns in their order."""
    if not any(map(_is_lifted, node.operands)):
        return node
    outputs = tuple(output for operand in node.operands for output in _outputs(operand))
    join = Join(tuple(map(_without_projection, node.operands)), _substituted(node.on, _values(outputs)))
    return Project(join, outputs)


def _semi_or_anti_join(node: SemiJoin | AntiJoin) -> Relation:
    """The left projection moves up; the right one goes, because only the predicates see its columns."""
    values = _values(_outputs(node.left) + _outputs(node.right))
    left, right = _without_projection(node.left), _without_projection(node.right)
    join = type(node)(left, right, _substituted(node.on, values))
    return Project(join, _outputs(node.left)) if _is_lifted(node.left) else join


def _outputs(relation: Relation) -> tuple[Output, ...]:
    return relation.outputs if isinstance(relation, Project) and _is_lifted(relation) else _identity(relation.schema)


def _is_lifted(relation: Relation) -> bool:
    return isinstance(relation, Project) and not isinstance(relation, Shared)


def _identity(schema: Schema) -> tuple[Output, ...]:
    return tuple(Output(column, column) for column in schema)


def _without_projection(relation: Relation) -> Relation:
    return relation.input if isinstance(relation, Project) and _is_lifted(relation) else relation


def _values(outputs: tuple[Output, ...]) -> ComputedColumns:
    return {output.column: output.expr for output in outputs}


def _substituted(predicates: tuple[Expr, ...], values: ComputedColumns) -> tuple[Expr, ...]:
    return tuple(substitute(predicate, values) for predicate in predicates)


def _computed(outputs: tuple[Output, ...], values: ComputedColumns) -> tuple[Output, ...]:
    return tuple(Output(output.column, substitute(output.expr, values)) for output in outputs)


def _aggregated(aggregations: tuple[Aggregation, ...], values: ComputedColumns) -> tuple[Aggregation, ...]:
    return tuple(
        Aggregation(a.column, a.function, a.argument and substitute(a.argument, values), a.distinct)
        for a in aggregations
    )
