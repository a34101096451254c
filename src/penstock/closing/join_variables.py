"""What is known of joins and of relations below them: variables, and whether rows only ever come."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.algebra.bucket_counts import BucketCounts, CertifiedGroups, FallBack, FallenBack
from penstock.algebra.expressions import Column, Comparator, Compare
from penstock.algebra.link_monitor import LinkMonitor
from penstock.algebra.physical import Keep, Received, Scan
from penstock.algebra.pipelined_filters import PipelinedFilters
from penstock.algebra.relations import (
    Distinct,
    Join,
    Project,
    Relation,
    Repeat,
    Select,
    SetOp,
    SetOperator,
    Table,
    Unbounded,
    walk_relations,
)
from penstock.closing.group_closers import GroupEnding
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.effort import once, spend


def join_variables(join: Join | PhysicalJoin) -> list[tuple[Column | None, ...]]:
    """The classes of columns that a join's equalities make equal: of each input one column, or None.

    An input with two columns in one class keeps the first; their equality stays a predicate.
    """
    return list(_join_variables(join))


@once
def _join_variables(join: Join | PhysicalJoin) -> tuple[tuple[Column | None, ...], ...]:
    owner = {column: number for number, operand in enumerate(join.operands) for column in operand.schema}
    places = {column: place for place, column in enumerate(owner)}
    found = []
    for same in _join_classes(join):
        spend(len(join.operands))
        own: dict[int, Column] = {}
        for column in sorted(same, key=lambda column: places[column]):
            own.setdefault(owner[column], column)
        found.append(tuple(map(own.get, range(len(join.operands)))))
    return tuple(found)


def join_classes(join: Join | PhysicalJoin) -> list[set[Column]]:
    """The classes of columns that a join's equalities make equal, in the order of their first columns."""
    return [set(same) for same in _join_classes(join)]


@once
def _join_classes(join: Join | PhysicalJoin) -> tuple[frozenset[Column], ...]:
    of: dict[Column, set[Column]] = {}
    for expr in join.on:
        if isinstance(expr, Compare) and expr.op is Comparator.EQ:
            left, right = expr.left, expr.right
            if isinstance(left, Column) and isinstance(right, Column):
                one, other = of.setdefault(left, {left}), of.setdefault(right, {right})
                if one is not other:
                    fewer, more = sorted((one, other), key=len)
                    more |= fewer
                    of.update(dict.fromkeys(fewer, more))
    operands = (column for operand in join.operands for column in operand.schema)
    places = {column: place for place, column in enumerate(operands)}
    first = {id(same): min(map(places.__getitem__, same)) for same in of.values()}
    classes = {id(same): same for same in of.values()}
    return tuple(frozenset(classes[each]) for each in sorted(classes, key=first.__getitem__))


def inputs_with_variables(join: Join | PhysicalJoin) -> list[set[int]]:
    """Of each variable the inputs that have it."""
    return [{n for n, column in enumerate(columns) if column is not None} for columns in join_variables(join)]


def columns_of(join: PhysicalJoin, number: int, variables: Iterable[int]) -> tuple[Column, ...]:
    """The columns of an input that hold variables of a join."""
    found = join_variables(join)
    return tuple(column for v in variables if (column := found[v][number]) is not None)


def is_monotone(relation: Relation) -> bool:
    """Whether rows are only ever inserted: then none is deleted at the instant at which its equal is inserted."""
    if is_table(relation):
        return True
    match relation:
        case Scan(spec=Unbounded()):
            return True
        case Received():
            return relation.is_monotone
        case PhysicalJoin(kind, operands):
            return kind is not JoinKind.ANTI and all(map(is_monotone, operands))
        case PipelinedFilters(left, window=window):
            return window is None and is_monotone(left)
        case GroupEnding(emits=True) | BucketCounts(emits=True) | CertifiedGroups(emits=True) | LinkMonitor():
            return True
        case FallBack(emits_after=after) | FallenBack(FallBack(emits_after=after)):
            return after is not None
        case Select() | Project() | Keep() | Repeat() | Distinct() | GroupEnding():
            return all(map(is_monotone, relation.inputs))
        case SetOp(op=SetOperator.UNION | SetOperator.INTERSECT):
            return all(map(is_monotone, relation.inputs))
    return False


def is_table(relation: Relation) -> bool:
    """Whether all its rows are there at instant 0, in whatever cell reads it: it is a table, or computed of tables."""
    leaves = [node for node in walk_relations(relation) if not node.inputs]
    return all(isinstance(leaf, Table) for leaf in leaves)
