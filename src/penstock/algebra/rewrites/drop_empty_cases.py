"""Sides of UNION ALL that can never have a row go, with all that they would keep, if the other reads the same streams.

Finds them once `push_selections` has moved a condition down to where a column is a constant: of rows that are marked by
whether they have a partner, those with the other mark. Leaves nothing behind that reads streams for no result.
"""

from __future__ import annotations

from penstock.algebra.expressions import (
    And,
    Arithmetic,
    Call,
    Cast,
    Comparator,
    Compare,
    Expr,
    In,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
)
from penstock.algebra.functions import ALL_FUNCTIONS
from penstock.algebra.relations import (
    AntiJoin,
    Join,
    Output,
    Project,
    Relation,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    rewrite_relation,
    streams,
)

Truth = bool | None

_ANY: frozenset[Truth] = frozenset((True, False, None))


def drop_empty_cases(relation: Relation) -> Relation:
    """The relation without cases that cannot be.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.algebra.rewrites import normal_form
    >>> from penstock.sql import bind_text
    >>> query = bind_text('''
    ...     CREATE STREAM a (id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     SELECT q.id FROM (SELECT id, 1 AS x FROM a UNION ALL SELECT id, NULL AS x FROM a [NOW]) q WHERE q.x > 0
    ... ''').queries[0]
    >>> print(plan_text(normal_form(query.relation)))
    Project a.id
    └─ Select 1 > 0
       └─ a [UNBOUNDED]
    """
    return rewrite_relation(relation, _node)


def _node(node: Relation) -> Relation:
    if not isinstance(node, SetOp) or node.op is not SetOperator.UNION or not node.all:
        return node
    for kept, other in ((node.left, node.right), (node.right, node.left)):
        if _is_empty(other) and _read(other) <= _read(kept):
            return Project(kept, tuple(Output(new, old) for new, old in zip(node.schema, kept.schema, strict=True)))
    return node


def _read(relation: Relation) -> set[str]:
    """The streams that a relation reads. Their rows are instants of RSTREAM, and the last of them is the horizon."""
    return {stream.name.lower() for stream in streams(relation)}


def _is_empty(relation: Relation) -> bool:
    match relation:
        case Select(below, predicates):
            return any(True not in outcomes(predicate) for predicate in predicates) or _is_empty(below)
        case Join(operands, on):
            return any(True not in outcomes(predicate) for predicate in on) or any(map(_is_empty, operands))
        case SemiJoin(left, right, on):
            return any(True not in outcomes(predicate) for predicate in on) or _is_empty(left) or _is_empty(right)
        case Project(below) | AntiJoin(below):
            return _is_empty(below)
        case SetOp(SetOperator.UNION, _, left, right):
            return _is_empty(left) and _is_empty(right)
    return False


def outcomes(predicate: Expr) -> frozenset[Truth]:
    """The truth values that a predicate may have, as far as constants tell. None is unknown."""
    match predicate:
        case Literal(value):
            return frozenset((bool(value) if value is not None else None,))
        case Compare(Comparator.SAME):
            return _ANY - {None}
        case Compare() | Like() if any(map(_is_null, predicate.parts)):
            return frozenset((None,))
        case In(arg) if _is_null(arg):
            return frozenset((None,))
        case IsNull(Literal(value)):
            return frozenset((value is None,))
        case IsNull():
            return _ANY - {None}
        case Not(arg):
            return frozenset(None if truth is None else not truth for truth in outcomes(arg))
        case And(args):
            return _combined(args, False)
        case Or(args):
            return _combined(args, True)
    return _ANY


def _combined(args: tuple[Expr, ...], decides: bool) -> frozenset[Truth]:
    """Of OR true decides, of AND false; else one that is unknown does."""
    found: frozenset[Truth] = frozenset((not decides,))
    for own in map(outcomes, args):
        found = frozenset(
            decides if decides in (a, b) else None if None in (a, b) else not decides for a in found for b in own
        )
    return found


def _is_null(expr: Expr) -> bool:
    """Whether an expression is NULL whatever the row."""
    match expr:
        case Literal(value):
            return value is None
        case Arithmetic() | Negate() | Cast() | Like():
            return any(map(_is_null, expr.parts))
        case Call(function):
            return not ALL_FUNCTIONS[function].handles_null and any(map(_is_null, expr.args))
    return False
