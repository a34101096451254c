"""Tests for NULL go where the answer is known: what is compared in another conjunct, or below, has a value.

Assumes nothing; finds more once `push_selections` has moved comparisons down. `a NOT IN (SELECT b ...)` is bound as an
anti-join on `a = b OR a IS NULL OR b IS NULL`; of columns that have values only `a = b` is left, which joins. Leaves no
`x IS NULL` as a conjunct or below its OR, and no conjunct `x IS NOT NULL`, of a column x that cannot be NULL there.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.algebra.expressions import FALSE, And, Column, Expr, In, IsNull, Like, Not, Or, conjuncts
from penstock.algebra.predicates import ColumnBound, ColumnDifference, ColumnEquality, classify, unwidened
from penstock.algebra.relations import (
    Aggregate,
    AntiJoin,
    Distinct,
    Join,
    Project,
    Relation,
    Select,
    SemiJoin,
    Window,
    rewrite_relation,
)
from penstock.effort import once, spend

Columns = frozenset[Column]


def drop_null_tests(relation: Relation) -> Relation:
    """The relation without tests for NULL that tell nothing.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.algebra.rewrites.push_selections import push_selections
    >>> from penstock.sql import bind_text
    >>> query = bind_text('''
    ...     CREATE STREAM s (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE STREAM t (b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     SELECT a FROM s WHERE a > 0 AND a NOT IN (SELECT b FROM t WHERE b < 9)
    ... ''').queries[0]
    >>> print(plan_text(drop_null_tests(push_selections(query.relation))))
    Project s.a
    └─ AntiJoin on s.a = t.b
       ├─ Select s.a > 0
       │  └─ s [UNBOUNDED]
       └─ Select t.b < 9
          └─ t [UNBOUNDED]
    """
    return rewrite_relation(relation, _node)


def _node(node: Relation) -> Relation:
    match node:
        case Select(below, predicates):
            kept = _tested(predicates, _with_values(below))
            return Select(below, kept) if kept else below
        case Join(operands, on):
            return Join(operands, _tested(on, _union(map(_with_values, operands))))
        case SemiJoin(left, right, on) | AntiJoin(left, right, on):
            return type(node)(left, right, _tested(on, _with_values(left) | _with_values(right)))
    return node


def _tested(predicates: tuple[Expr, ...], known: Columns) -> tuple[Expr, ...]:
    """Conjuncts that are true just where these are, over rows in which some columns have values."""
    kept = list(predicates)
    for predicate in filter(_may_test, predicates):
        spend(len(kept))
        others = [other for other in kept if other is not predicate]
        there = known | _union(map(valued, others))
        place = kept.index(predicate)
        match predicate:
            case Not(IsNull(Column() as column)) if column in there:
                del kept[place]
            case Or(args) if any(_is_null_test(arg, there) for arg in args):
                left = tuple(arg for arg in args if not _is_null_test(arg, there))
                kept[place] = Or(left) if len(left) > 1 else left[0] if left else FALSE
            case IsNull() if _is_null_test(predicate, there):
                kept[place] = FALSE
    return tuple(dict.fromkeys(part for predicate in kept for part in conjuncts(predicate)))


def _may_test(predicate: Expr) -> bool:
    match predicate:
        case Not(IsNull()) | IsNull():
            return True
        case Or(args):
            return any(isinstance(arg, IsNull) for arg in args)
    return False


def _is_null_test(expr: Expr, there: Columns) -> bool:
    return isinstance(expr, IsNull) and unwidened(expr.arg) in there


@once
def _with_values(relation: Relation) -> Columns:
    """The columns that are never NULL in the rows of a relation."""
    match relation:
        case Window(stream):
            return frozenset((stream.timestamp,))
        case Select(below, predicates):
            return _with_values(below) | _union(map(valued, predicates))
        case Join(operands, on):
            return _union(map(_with_values, operands)) | _union(map(valued, on))
        case SemiJoin(left, _, on):
            return _with_values(left) | (_union(map(valued, on)) & frozenset(left.schema))
        case AntiJoin(left=below) | Distinct(below):
            return _with_values(below)
        case Project(below, outputs) | Aggregate(below, outputs):
            known = _with_values(below)
            return frozenset(output.column for output in outputs if unwidened(output.expr) in known)
    return frozenset()


@once
def valued(predicate: Expr) -> Columns:
    """Columns that have values where a predicate is true."""
    match predicate:
        case And(args):
            return _union(map(valued, args))
        case Or(args):
            first, *others = map(valued, args)
            return first.intersection(*others)
        case (
            In(Column() as column) | Like(Column() as column) | Not(In(Column() as column) | IsNull(Column() as column))
        ):
            return frozenset((column,))
    match classify(predicate):
        case ColumnBound(column):
            return frozenset((column,))
        case ColumnEquality(left, right) | ColumnDifference(left, right):
            return frozenset((left, right))
    return frozenset()


def _union(sets: Iterable[Columns]) -> Columns:
    return frozenset[Column]().union(*sets)
