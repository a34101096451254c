"""Semi-joins and anti-joins do not ask whether a column is NULL that never is.

Assumes nothing; finds more once `push_selections` has put filters at their streams. Leaves, in what is `NOT IN` without
NULLs on either side, the plain comparison of `NOT EXISTS`: a test that is never true adds nothing to an OR.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.algebra.expressions import FALSE, Cast, Column, Comparator, Compare, Expr, In, IsNull, Not, Or, conjuncts
from penstock.algebra.relations import (
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
from penstock.types import BIGINT


def drop_null_tests(relation: Relation) -> Relation:
    """The relation without tests for NULL that are never true, in the conditions of semi-joins and anti-joins.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.sql import bind_text
    >>> query = bind_text('''
    ...     CREATE STREAM a (x BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE STREAM b (y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     SELECT x FROM a WHERE x > 5 AND x NOT IN (SELECT y FROM b WHERE y IS NOT NULL)
    ... ''').queries[0]
    >>> print(plan_text(drop_null_tests(query.relation)))
    Project a.x
    └─ AntiJoin on a.x = b.y
       ├─ Select a.x > 5
       │  └─ a [UNBOUNDED]
       └─ Project b.y
          └─ Select NOT b.y IS NULL
             └─ b [UNBOUNDED]
    """
    return rewrite_relation(relation, _node)


def _node(node: Relation) -> Relation:
    match node:
        case SemiJoin(left, right, on) | AntiJoin(left, right, on):
            there = frozenset((*_never_null(left), *_never_null(right)))
            return type(node)(left, right, tuple(_without(predicate, there) for predicate in on))
    return node


def _without(predicate: Expr, there: frozenset[Column]) -> Expr:
    if not isinstance(predicate, Or):
        return predicate
    rest = tuple(arg for arg in predicate.args if not (isinstance(arg, IsNull) and _plain(arg.arg) in there))
    if len(rest) < 2:
        return rest[0] if rest else FALSE
    return Or(rest)


def _never_null(relation: Relation) -> Iterator[Column]:
    """Columns in which no row of a relation has a NULL."""
    match relation:
        case Window(stream):
            yield stream.timestamp
        case Select(below, predicates):
            yield from _never_null(below)
            yield from _told_by(predicates)
        case Join(operands, on):
            for operand in operands:
                yield from _never_null(operand)
            yield from _told_by(on)
        case Project(below, outputs):
            there = frozenset(_never_null(below))
            yield from (output.column for output in outputs if _plain(output.expr) in there)
        case SemiJoin(left=below) | AntiJoin(left=below) | Distinct(below):
            yield from _never_null(below)


def _told_by(predicates: tuple[Expr, ...]) -> Iterator[Column]:
    """The columns that have no NULL where all of these are true."""
    for predicate in (part for whole in predicates for part in conjuncts(whole)):
        match predicate:
            case Not(IsNull(arg)) | In(arg):
                parts: tuple[Expr, ...] = (arg,)
            case Compare(op, left, right) if op is not Comparator.SAME:
                parts = (left, right)
            case _:
                continue
        yield from (column for part in parts if isinstance(column := _plain(part), Column))


def _plain(expr: Expr) -> Expr:
    """What a whole number was before it was widened, which loses none."""
    return _plain(expr.arg) if isinstance(expr, Cast) and expr.arg.type.is_integer and expr.type == BIGINT else expr
