"""Predicates in one shape: conjuncts of comparisons, each the one way round.

Assumes nothing. Leaves, in every Select, Join, SemiJoin and AntiJoin, conjuncts without AND at their top, NOT only
before what has no negation, no TRUE, constants on the right, and differences of timestamps as `a.ts - b.ts <= c`.

Only the truth of a predicate counts in these nodes, so NULL may stand for FALSE there, and below AND and OR. No
expression fails but a user function, which is called on the rows that no other conjunct drops, whatever their order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from penstock.algebra.expressions import (
    FALSE,
    TRUE,
    And,
    Arithmetic,
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    Literal,
    Negate,
    Not,
    Operator,
    Or,
    columns,
    conjuncts,
)
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.predicates import ColumnDifference, ColumnEquality, classify
from penstock.algebra.relations import (
    Aggregate,
    AntiJoin,
    Join,
    Output,
    Project,
    Relation,
    Schema,
    Select,
    SemiJoin,
    SetOp,
    Table,
    Window,
    rewrite_relation,
)
from penstock.effort import once
from penstock.types import BIGINT_RANGE, DAY, INTERVAL, TIMESTAMP

#: No declared timestamp is further from 1970 than the end of the year 9999.
FURTHEST = 2_932_897 * DAY


def normalise_predicates(relation: Relation) -> Relation:
    """The relation with its predicates in normal form.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.sql import bind_text
    >>> query = bind_text('''
    ...     CREATE STREAM a (x BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE STREAM b (y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     SELECT x FROM a, b WHERE b.y = a.x AND NOT (x < 5 OR 9 < x) AND a.ts <= b.ts + INTERVAL 5 SECONDS
    ... ''').queries[0]
    >>> print(plan_text(normalise_predicates(query.relation)))
    Project a.x
    └─ Select a.x = b.y AND a.x >= 5 AND a.x <= 9 AND a.ts - b.ts <= INTERVAL 5 SECONDS
       └─ Join
          ├─ a [UNBOUNDED]
          └─ b [UNBOUNDED]
    """
    return rewrite_relation(relation, _node)


def _node(node: Relation) -> Relation:
    match node:
        case Select(below, predicates):
            kept = _normal(predicates, below.schema, declared_times(below))
            return Select(below, kept) if kept else below
        case Join(operands, on):
            return Join(operands, _normal(on, node.schema, declared_times(node)))
        case SemiJoin(left, right, on) | AntiJoin(left, right, on):
            times = declared_times(left) | declared_times(right)
            return type(node)(left, right, _normal(on, left.schema + right.schema, times))
    return node


def _normal(predicates: tuple[Expr, ...], schema: Schema, times: frozenset[Column]) -> tuple[Expr, ...]:
    shape = _Shape({column: place for place, column in enumerate(schema)}, times)
    shaped = conjuncts(_all(shape.of(predicate, negated=False) for predicate in predicates))
    return tuple(dict.fromkeys(shape.met(conjunct, shaped) for conjunct in shaped))


@dataclass(frozen=True, slots=True)
class _Shape:
    """The normal form of expressions over one schema: where a column stands in it, and which hold declared times."""

    places: Mapping[Column, int]
    times: frozenset[Column]

    def of(self, expr: Expr, negated: bool) -> Expr:
        """An expression that is true just where `expr`, or NOT `expr`, is. De Morgan's laws hold for NULL too."""
        match expr:
            case Not(arg):
                return self.of(arg, not negated)
            case And(args) | Or(args):
                parts = [self.of(arg, negated) for arg in args]
                return _all(parts) if isinstance(expr, And) != negated else _any(parts)
            case Literal(value):
                return TRUE if value is not None and value != negated else FALSE
            case Compare(op, left, right) if negated and op.negated is not None:
                # Values are in one total order, NaN last: `<` fails just where `>=` holds, or both are NULL.
                return self.comparison(Compare(op.negated, left, right))
            case Compare() if not negated:
                return self.comparison(expr)
            case Compare():
                return Not(self.comparison(expr))
        return Not(expr) if negated else expr

    def comparison(self, compare: Compare) -> Compare:
        if not columns(compare.left) and columns(compare.right):
            compare = _mirrored(compare)
        compare = self.time_difference(_equality(compare))
        symmetric = compare.op in (Comparator.EQ, Comparator.NE, Comparator.SAME)
        left, right = self.place(compare.left), self.place(compare.right)
        misplaced = symmetric and left is not None and right is not None and right < left
        return _mirrored(compare) if misplaced else compare

    def met(self, conjunct: Expr, others: Collection[Expr]) -> Expr:
        """`x = y` in place of `x <= y` among whose neighbours is `x >= y`; any other conjunct as it is."""
        match conjunct:
            case Compare(Comparator.LE | Comparator.GE as op, left, right):
                opposite = Compare(Comparator.GE if op is Comparator.LE else Comparator.LE, left, right)
                if opposite in others or _mirrored(opposite) in others:
                    return self.comparison(Compare(Comparator.EQ, left, right))
        return conjunct

    def place(self, expr: Expr) -> int | None:
        """The place in the schema of a column, also of one that is cast."""
        column = expr.arg if isinstance(expr, Cast) else expr
        return self.places[column] if isinstance(column, Column) else None

    def time_difference(self, compare: Compare) -> Compare:
        """`a <= b + c` and its like as `a - b <= c` with a positive c, or as `a <= b`.

        Exact because nothing overflows: declared timestamps lie in the years 1 to 9999 and constants are small enough.
        For integers it would not be: `y + c` may overflow where `x - y` does not. A third column that cancels out
        still matters, because it may be NULL.
        """
        view = classify(compare)
        if not isinstance(view, ColumnDifference | ColumnEquality) or not columns(compare) <= self.times:
            return compare
        if columns(compare) != {view.left, view.right} or compare.op is Comparator.SAME:
            return compare
        op, constant = (view.op, view.constant) if isinstance(view, ColumnDifference) else (Comparator.EQ, 0)
        if max(map(_magnitude, (*compare.parts, Literal(constant, INTERVAL)))) > BIGINT_RANGE[1]:
            return compare
        if constant == 0:
            return Compare(op, view.left, view.right)
        if constant > 0:
            difference = Arithmetic(Operator.SUBTRACT, view.left, view.right)
            return Compare(op, difference, Literal(constant, INTERVAL))
        difference = Arithmetic(Operator.SUBTRACT, view.right, view.left)
        return Compare(op.mirrored, difference, Literal(-constant, INTERVAL))


def _equality(compare: Compare) -> Compare:
    """`x - y = 0` as `x = y`: a difference that overflows is NULL, and is one of values that are not equal."""
    match compare:
        case Compare(Comparator.EQ, Arithmetic(Operator.SUBTRACT, left, right), Literal(0)) if left.type == right.type:
            return Compare(Comparator.EQ, left, right) if left.type.is_integer else compare
    return compare


def _mirrored(compare: Compare) -> Compare:
    return Compare(compare.op.mirrored, compare.right, compare.left)


def _all(parts: Iterable[Expr]) -> Expr:
    """AND of parts of which only the truth counts, each once."""
    distinct = dict.fromkeys(arg for part in parts for arg in conjuncts(part))
    if FALSE in distinct:
        return FALSE
    args = tuple(distinct)
    return And(args) if len(args) > 1 else args[0] if args else TRUE


def _any(parts: Iterable[Expr]) -> Expr:
    """OR of parts of which only the truth counts, each once."""
    distinct = dict.fromkeys(arg for part in parts for arg in (part.args if isinstance(part, Or) else (part,)))
    if TRUE in distinct:
        return TRUE
    args = tuple(arg for arg in distinct if arg != FALSE)
    return Or(args) if len(args) > 1 else args[0] if args else FALSE


def _magnitude(expr: Expr) -> int:
    """What no value of a sum of timestamps and intervals, nor of a part of it, exceeds."""
    match expr:
        case Literal(int(value)):
            return abs(value)
        case Negate(arg) | Cast(arg):
            return _magnitude(arg)
        case Arithmetic(Operator.MULTIPLY, left, right):
            a, b = _magnitude(left), _magnitude(right)
            return max(a, b, a * b)
        case Arithmetic(_, left, right):
            return _magnitude(left) + _magnitude(right)
    return FURTHEST


@once
def declared_times(relation: Relation) -> frozenset[Column]:
    """The columns that hold timestamps of rows, not computed ones, which need not lie in the years 1 to 9999."""
    match relation:
        case Window() | Table():
            return frozenset(column for column in relation.schema if column.type == TIMESTAMP)
        case Project(below, outputs):
            return _passed_on(outputs, declared_times(below))
        case Aggregate(below, keys, aggregations):
            times = declared_times(below)
            extremes = (AggregateFunction.MIN, AggregateFunction.MAX)
            passed = (a.column for a in aggregations if a.function in extremes and a.argument in times)
            return _passed_on(keys, times).union(passed)
        case SetOp(_, _, left, right, own):
            of_left, of_right = declared_times(left), declared_times(right)
            places = zip(own, left.schema, right.schema, strict=True)
            return frozenset(column for column, a, b in places if a in of_left and b in of_right)
    below_all = (declared_times(below) for below in relation.inputs)
    return frozenset[Column]().union(*below_all)


def _passed_on(outputs: tuple[Output, ...], times: frozenset[Column]) -> frozenset[Column]:
    return frozenset(output.column for output in outputs if output.expr in times)
