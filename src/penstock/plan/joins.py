"""What is known of joins and of relations below them: variables, and whether rows only ever come."""

from __future__ import annotations

from penstock.algebra.expressions import Column, Comparator, Compare
from penstock.algebra.relations import (
    Distinct,
    Join,
    Project,
    Relation,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    Table,
    Unbounded,
)
from penstock.plan.ends import Ending
from penstock.plan.physical import Keep, Received, Scan


def join_variables(join: Join) -> list[tuple[Column | None, ...]]:
    """The classes of columns that a join's equalities make equal: of each input one column, or None.

    An input with two columns in one class keeps the first; their equality stays a predicate.
    """
    return [
        tuple(next((column for column in operand.schema if column in c), None) for operand in join.operands)
        for c in join_classes(join)
    ]


def join_classes(join: Join) -> list[set[Column]]:
    """The classes of columns that a join's equalities make equal, in the order of their first columns."""
    classes: list[set[Column]] = []
    for expr in join.on:
        if isinstance(expr, Compare) and expr.op is Comparator.EQ:
            left, right = expr.left, expr.right
            if isinstance(left, Column) and isinstance(right, Column):
                touching = [c for c in classes if left in c or right in c]
                classes = [c for c in classes if c not in touching]
                classes.append({left, right}.union(*touching))
    return sorted(classes, key=lambda c: min(join.schema.index(column) for column in c))


def holders_of(join: Join) -> list[set[int]]:
    """Of each variable the inputs that have it."""
    return [{n for n, column in enumerate(columns) if column is not None} for columns in join_variables(join)]


def is_monotone(relation: Relation) -> bool:
    """Whether rows only ever come: then nothing can go at the instant at which its equal comes."""
    match relation:
        case Scan(spec=Unbounded()) | Table():
            return True
        case Received():
            return relation.is_monotone
        case Join(operands):
            return all(map(is_monotone, operands))
        case Ending(emits=True):
            return True
        case Select() | Project() | Keep() | SemiJoin() | Distinct() | Ending():
            return all(map(is_monotone, relation.inputs))
        case SetOp(op=SetOperator.UNION | SetOperator.INTERSECT):
            return all(map(is_monotone, relation.inputs))
    return False
