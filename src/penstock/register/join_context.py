"""What reads the rows of a join: the columns, the sums, and whether duplicates count. Bounded memory depends on it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.algebra.expressions import Column, Expr, columns, substitute
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.relations import (
    Aggregate,
    Aggregation,
    AntiJoin,
    Distinct,
    Join,
    Project,
    Relation,
    Select,
    SemiJoin,
    SetOp,
    Shared,
    ToStream,
)
from penstock.closing.blocks import block_of
from penstock.closing.contents import appends_only
from penstock.register.constant_synopses import ConstantSynopses, Needs


@dataclass(frozen=True, slots=True)
class JoinContext:
    """What reads the rows of a join: which of its columns, and whether duplicates count.

    `summed` are expressions that only a SUM, COUNT, AVG, MIN or MAX reads: sums of parts can stand for their values.
    """

    columns: frozenset[Column] = frozenset()
    summed: tuple[Expr, ...] = ()
    distinct: bool = False

    @staticmethod
    def of(root: Relation | ToStream) -> JoinContext:
        return JoinContext(frozenset(root.schema))

    def through(self, node: Relation) -> JoinContext:
        """What reads the rows of a node's inputs."""
        match node:
            case Shared(_, outputs):
                return JoinContext(frozenset(column for output in outputs for column in columns(output.expr)))
            case Project(_, outputs):
                read = frozenset(c for o in outputs if o.column in self.columns for c in columns(o.expr))
                inside = {output.column: output.expr for output in outputs}
                return replace(self, columns=read, summed=tuple(substitute(e, inside) for e in self.summed))
            case Aggregate(_, keys, aggregations):
                grouped = frozenset(column for key in keys for column in columns(key.expr))
                summed = [a.argument for a in aggregations if a.argument and _is_summed(a, node.input)]
                whole = [a.argument for a in aggregations if a.argument and not _is_summed(a, node.input)]
                read = frozenset(column for argument in whole for column in columns(argument))
                return JoinContext(grouped | read, tuple(summed))
            case Distinct(below):
                return JoinContext(frozenset(below.schema), (), distinct=True)
            case SetOp(left=left, right=right):
                return JoinContext(frozenset(left.schema) | frozenset(right.schema))
            case Select(predicates=on) | Join(on=on) | SemiJoin(on=on) | AntiJoin(on=on):
                return JoinContext(self.columns | frozenset(c for e in (*on, *self.summed) for c in columns(e)))
        return self


def _is_summed(aggregation: Aggregation, below: Relation) -> bool:
    """Whether partial results of an aggregate can be kept in place of values; a minimum of rows that leave cannot."""
    if aggregation.function in (AggregateFunction.MIN, AggregateFunction.MAX):
        return appends_only(below)
    return not aggregation.distinct


def constant_synopses(relation: Join | SemiJoin | AntiJoin, above: JoinContext) -> ConstantSynopses:
    """What the theory of bounded memory says of a join.

    Rows that leave take their results with them, so that DISTINCT has to count.
    """
    distinct = above.distinct and isinstance(relation, Join) and appends_only(relation)
    return ConstantSynopses(relation, block_of(relation), Needs(above.columns, above.summed, distinct))
