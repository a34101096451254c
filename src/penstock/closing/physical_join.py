"""The physical join: one node for joins, semi-joins and anti-joins, with what it keeps of its inputs as fields.

In a plan every join is such a node. By itself it keeps all rows that its inputs' windows hold. At most one of four
fields makes it keep less: a *retention* says until when it keeps a row, *endings* say it where inputs are computed,
*buckets* stand for rows that are alike (002), and of a *stateless* input it keeps nothing, because all its other inputs
are tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice

from penstock.algebra.buckets import Buckets
from penstock.algebra.expressions import Column, Expr, columns, require
from penstock.algebra.partial_aggregates import partial_columns, times_column
from penstock.algebra.physical import Scan
from penstock.algebra.relations import (
    Aggregation,
    AntiJoin,
    Join,
    Project,
    Relation,
    Schema,
    SemiJoin,
    rewrite_relation,
)
from penstock.closing.group_closers import AfterJoin, Closers
from penstock.closing.monitors import Monitor
from penstock.closing.rules import ByPunctuation, JoinRetention, Rule

#: So many combinations of a join are there at once: its results leave it in blocks.
COMBINATIONS = 1 << 16


class JoinKind(Enum):
    """What a join gives: combinations, left rows that have a match, or left rows that have none."""

    JOIN = "join"
    SEMI = "semijoin"
    ANTI = "antijoin"


@dataclass(frozen=True, slots=True)
class PhysicalJoin(Relation):
    """A join that is ready to run. A semi-join or an anti-join has two operands and gives rows of the first."""

    kind: JoinKind
    operands: tuple[Relation, ...]
    on: tuple[Expr, ...]
    retention: JoinRetention | None = None
    #: Of each operand the buckets that the join keeps in place of its rows, or None; empty where no operand has any.
    buckets: tuple[Buckets | None, ...] = ()
    #: Of each operand what closes its rows, or None where they are all kept; empty where all operands' are.
    endings: tuple[Closers | None, ...] = ()
    #: The operand of which the join keeps nothing.
    stateless: int | None = None
    #: The operands whose rows are counted, because nothing above reads them one by one, and the columns that results
    #: then have; of counted operands those that all rows have in common.
    counted: tuple[int, ...] = ()
    shown: Schema = ()
    #: Aggregates right above of single columns of counted operands: results have partial ones of them.
    summed: tuple[Aggregation, ...] = ()
    #: Aggregates right above that take each value of a counted operand once.
    once: tuple[Aggregation, ...] = ()

    def __post_init__(self) -> None:
        require(self.kind is JoinKind.JOIN or len(self.operands) == 2, "a semi-join has two inputs")
        require(len(self.buckets) in (0, len(self.operands)), "a join has buckets, or none, of each input")
        require(len(self.endings) in (0, len(self.operands)), "rows of each input end, or do not")
        fields = (self.retention is not None, bool(self.endings), bool(self.buckets), self.stateless is not None)
        require(sum(fields) <= 1, "a join keeps less for one reason only")
        self.logical()

    def _schema(self) -> Schema:
        own = self.operands if self.kind is JoinKind.JOIN else self.operands[:1]
        if not self.counted:
            return tuple(column for operand in own for column in operand.schema)
        partials = (column for aggregation in self.summed for column in partial_columns(aggregation))
        return (*self.shown, *self.left_out, *partials, *map(times_column, self.once))

    @property
    def left_out(self) -> Schema:
        """The columns of which results have only partial aggregates. They stand for these, and are NULL."""
        added_up = (a.argument for a in self.summed)
        return tuple(dict.fromkeys(c for c in added_up if isinstance(c, Column) and c not in self.shown))

    def owner(self, aggregation: Aggregation) -> int:
        """The counted operand of which an aggregate reads more than join variables."""
        assert aggregation.argument is not None
        read = columns(aggregation.argument)
        reads = [n for n in self.counted if read & frozenset(self.operands[n].schema)]
        return reads[0]

    @property
    def inputs(self) -> tuple[Relation, ...]:
        """The operands, and behind them the evidence that its rules or endings read."""
        return self.operands + self.evidence

    def with_inputs(self, inputs: tuple[Relation, ...]) -> PhysicalJoin:
        operands, evidence = inputs[: len(self.operands)], inputs[len(self.operands) :]
        retention = self.retention and replace(self.retention, evidence=evidence)
        endings, scans = [], iter(scan for scan in evidence if isinstance(scan, Scan))
        for each in self.endings:
            own = None if each is None else replace(each, evidence=tuple(islice(scans, len(each.evidence))))
            endings.append(own)
        return replace(self, operands=operands, retention=retention, endings=tuple(endings))

    @property
    def rules(self) -> tuple[Rule, ...]:
        return () if self.retention is None else self.retention.rules

    @property
    def evidence(self) -> tuple[Relation, ...]:
        if self.retention is not None:
            return self.retention.evidence
        return tuple(scan for each in self.endings if each is not None for scan in each.evidence)

    @property
    def forgets(self) -> tuple[int, ...]:
        """The operands whose rows are dropped before they leave their windows."""
        return () if self.retention is None else self.retention.forgets

    @property
    def monitors(self) -> tuple[Monitor, ...]:
        return () if self.retention is None else self.retention.monitors

    @property
    def probable(self) -> tuple[Rule, ...]:
        """The rules that lean on a k, if rows that are dropped by them alone are spilled."""
        return () if self.retention is None else self.retention.probable

    @property
    def reduced(self) -> tuple[int, ...]:
        """The operands of which the join does not keep all rows that their windows hold."""
        bucketed = (number for number, kept in enumerate(self.buckets) if kept is not None)
        ended = (number for number, closers in enumerate(self.endings) if closers is not None)
        return (*self.forgets, *ended, *bucketed, *(() if self.stateless is None else (self.stateless,)))

    @property
    def purges(self) -> bool:
        """Whether it drops rows that arrived, or counts them in buckets."""
        return self.retention is not None or bool(self.endings or self.buckets)

    @property
    def has_totals(self) -> bool:
        """Whether partial aggregates come out of it: the aggregate above must run in the same cell."""
        return any(kept is not None and kept.totals for kept in self.buckets)

    def logical(self) -> Join | SemiJoin | AntiJoin:
        """The join of the algebra that this one computes."""
        match self.kind:
            case JoinKind.JOIN:
                return Join(self.operands, self.on)
            case JoinKind.SEMI:
                return SemiJoin(self.operands[0], self.operands[1], self.on)
            case JoinKind.ANTI:
                return AntiJoin(self.operands[0], self.operands[1], self.on)


def with_physical_joins(relation: Relation) -> Relation:
    """The relation with a physical join, which keeps all rows, in place of each join of the algebra.

    >>> from penstock.algebra.expressions import Column
    >>> from penstock.algebra.relations import Table
    >>> from penstock.types import BIGINT
    >>> tables = (Table(name, name, (Column(name, "a", BIGINT),)) for name in ("k", "m"))
    >>> with_physical_joins(SemiJoin(*tables, ())).kind
    <JoinKind.SEMI: 'semijoin'>
    """
    return rewrite_relation(relation, _physical_join)


def _physical_join(node: Relation) -> Relation:
    match node:
        case Join(operands, on):
            return PhysicalJoin(JoinKind.JOIN, operands, on)
        case SemiJoin(left, right, on):
            return PhysicalJoin(JoinKind.SEMI, (left, right), on)
        case AntiJoin(left, right, on):
            return PhysicalJoin(JoinKind.ANTI, (left, right), on)
    return node


def join_below(node: Relation) -> PhysicalJoin | None:
    """The join whose results an operator with one input groups, in whatever columns."""
    below = node.inputs[0] if len(node.inputs) == 1 else None
    below = below.input if isinstance(below, Project) else below
    return below if isinstance(below, PhysicalJoin) else None


def punctuations_of(node: Relation, said: AfterJoin) -> Relation | None:
    """The punctuations by which the join below an operator says that values are done with."""
    join = join_below(node)
    rule = None if join is None else join.rules[said.rule]
    return join.evidence[rule.evidence] if join is not None and isinstance(rule, ByPunctuation) else None
