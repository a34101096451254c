"""Selections move down, to the rows that they are about.

Assumes nothing; finds more once `merge_joins` has put predicates into joins. Leaves in a Join's `on` only conjuncts
over two inputs or more, and no Select over a Select, SemiJoin, AntiJoin, Distinct or SetOp that it could pass. No
selection passes a window, which must see all rows of its stream. A conjunct without columns stays where it is, and one
that calls a user function passes no aggregate, EXCEPT or INTERSECT: it is called on rows of their results only.
"""

from __future__ import annotations

from penstock.algebra.expressions import Call, Column, Expr, Literal, columns, substitute, walk
from penstock.algebra.relations import (
    Aggregate,
    AntiJoin,
    Distinct,
    Join,
    OuterJoin,
    Relation,
    Schema,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    rewrite_relation,
)
from penstock.algebra.rewrites.drop_empty_cases import outcomes
from penstock.algebra.user_functions import calls_user

Predicates = tuple[Expr, ...]


def push_selections(relation: Relation) -> Relation:
    """The relation with every selection as low as it can be.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.sql import bind_text
    >>> query = bind_text('''
    ...     CREATE STREAM s (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     SELECT a, COUNT(*) AS n FROM s GROUP BY a HAVING a > 5 AND COUNT(*) > 2
    ... ''').queries[0]
    >>> print(plan_text(push_selections(query.relation)))
    Project agg.a, agg.count AS n
    └─ Select agg.count > 2
       └─ Aggregate by s.a AS agg.a: COUNT(*) AS agg.count
          └─ Select s.a > 5
             └─ s [UNBOUNDED]
    """
    return rewrite_relation(relation, _node)


def _node(node: Relation) -> Relation:
    match node:
        case Select(below, predicates):
            return _selected(below, predicates)
        case Join():
            return _join(node)
        case SemiJoin() | AntiJoin():
            return _semi_or_anti_join(node)
    return node


def _selected(relation: Relation, predicates: Predicates) -> Relation:
    """The selection of a relation whose own selections are as low as they can be."""
    if not predicates:
        return relation
    match relation:
        case Select(below, first):
            return _selected(below, first + predicates)
        case Join(operands):
            pushed, kept = _into_operands(operands, predicates)
            return _select(Join(pushed, relation.on), kept)
        case SemiJoin(left, right, on) | AntiJoin(left, right, on):
            # A row of theirs is a row of `left`, as often as there.
            moving, kept = _split(predicates, left.schema)
            return _select(type(relation)(_selected(left, moving), right, on), kept)
        case OuterJoin():
            return _outer_join(relation, predicates)
        case Distinct(below):
            # Rows that are alike satisfy a predicate alike.
            moving, kept = _split(predicates, below.schema, of_alike=True)
            return _select(Distinct(_selected(below, moving)), kept)
        case Aggregate(below, keys):
            # A group has rows, and all of them satisfy a predicate of its keys or none does.
            moving, kept = _split(predicates, tuple(key.column for key in keys), of_alike=True, calling=False)
            values = {key.column: key.expr for key in keys}
            lowered = _selected(below, _substituted(moving, values))
            return _select(Aggregate(lowered, keys, relation.aggregations), kept)
        case SetOp():
            return _set_operation(relation, predicates)
    return _select(relation, predicates)


def _outer_join(node: OuterJoin, predicates: Predicates) -> Relation:
    """A side need not be kept if no row of it alone, with NULLs beside it, satisfies the predicates. Those of a side
    move into it if the other side is not kept: rows without a partner have their values.
    """
    keeps = [
        own and not any(_fails_without(missing, predicate) for predicate in predicates)
        for own, missing in ((node.keeps_left, node.right), (node.keeps_right, node.left))
    ]
    if not any(keeps):
        return _selected(_join(Join(node.inputs, node.on)), predicates)
    of_left, rest = _split(predicates, node.left.schema) if not keeps[1] else ((), predicates)
    of_right, rest = _split(rest, node.right.schema) if not keeps[0] else ((), rest)
    left, right = _selected(node.left, of_left), _selected(node.right, of_right)
    return _select(OuterJoin(left, right, node.on, *keeps), rest)


def _fails_without(missing: Relation, predicate: Expr) -> bool:
    """Whether a predicate is true of no row in which the columns of a relation are NULL."""
    nulls: dict[Column, Expr] = {column: Literal(None, column.type) for column in missing.schema}
    return True not in outcomes(substitute(predicate, nulls))


def _set_operation(node: SetOp, predicates: Predicates) -> Relation:
    """All six operators give a row a multiplicity that depends only on its multiplicities left and right, and is 0 if
    both are: a row that fails the predicate is in no side and in no result, and one that satisfies it is as before.
    """
    calling = node.op is SetOperator.UNION
    moving, kept = _split(predicates, node.columns, of_alike=True, calling=calling)
    left = _selected(node.left, _substituted(moving, _renamed(node.columns, node.left.schema)))
    right = _selected(node.right, _substituted(moving, _renamed(node.columns, node.right.schema)))
    return _select(SetOp(node.op, node.all, left, right, node.columns), kept)


def _join(node: Join) -> Join:
    operands, on = _into_operands(node.operands, node.on)
    return Join(operands, on)


def _into_operands(operands: tuple[Relation, ...], predicates: Predicates) -> tuple[tuple[Relation, ...], Predicates]:
    """The operands with the predicates that read only one of them, and those that are left."""
    owner = {column: place for place, operand in enumerate(operands) for column in operand.schema}
    moving: list[list[Expr]] = [[] for _ in operands]
    kept: list[Expr] = []
    for predicate in predicates:
        owners = {owner[column] for column in columns(predicate)}
        (moving[owners.pop()] if len(owners) == 1 else kept).append(predicate)
    lowered = (_selected(operand, tuple(own)) for operand, own in zip(operands, moving, strict=True))
    return tuple(lowered), tuple(kept)


def _semi_or_anti_join(node: SemiJoin | AntiJoin) -> Relation:
    """A predicate of `right` says which rows of it count. One of `left` decides the row itself: for a SemiJoin, a row
    that fails it is out; for an AntiJoin it would be in, so there the predicate stays.
    """
    of_right, on = _split(node.on, node.right.schema)
    right = _selected(node.right, of_right)
    if isinstance(node, AntiJoin):
        return AntiJoin(node.left, right, on)
    of_left, on = _split(on, node.left.schema)
    return SemiJoin(_selected(node.left, of_left), right, on)


def _select(relation: Relation, predicates: Predicates) -> Relation:
    return Select(relation, predicates) if predicates else relation


def _split(
    predicates: Predicates, schema: Schema, *, of_alike: bool = False, calling: bool = True
) -> tuple[Predicates, Predicates]:
    """The predicates that read columns of the schema and no others, and the rest.

    With `of_alike` the first are the same for rows that are alike. All are but for POWER, the one function that tells
    the equal values -0.0 and 0.0 apart, by the sign of infinity. (A user function sees no -0.0.) Unless `calling`, the
    first call no user function.
    """
    known = frozenset(schema)
    moving: list[Expr] = []
    kept: list[Expr] = []
    for predicate in predicates:
        read = columns(predicate)
        stays = (of_alike and _tells_zeros_apart(predicate)) or (not calling and calls_user(predicate))
        (moving if read and read <= known and not stays else kept).append(predicate)
    return tuple(moving), tuple(kept)


def _tells_zeros_apart(expr: Expr) -> bool:
    return any(isinstance(part, Call) and part.function == "POWER" for part in walk(expr))


def _renamed(names: Schema, schema: Schema) -> dict[Column, Expr]:
    return dict(zip(names, schema, strict=True))


def _substituted(predicates: Predicates, values: dict[Column, Expr]) -> Predicates:
    return tuple(substitute(predicate, values) for predicate in predicates)
