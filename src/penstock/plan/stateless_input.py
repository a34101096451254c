"""Rows that pass: a join with tables keeps nothing of the one input that changes.

A table is there from instant 0 on and never changes, so a row that comes has met all that it will ever join. If it goes
again, as rows of something computed may, it meets the same rows once more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.algebra.physical import Keep, Scan
from penstock.algebra.relations import (
    AntiJoin,
    Distinct,
    Join,
    Project,
    Relation,
    Select,
    SemiJoin,
    Table,
    Unbounded,
    rewrite_relation,
    walk_relations,
)


@dataclass(frozen=True, slots=True)
class PassingJoin(Join):
    """A join of which all inputs but one are tables."""

    passing: int

    def with_inputs(self, inputs: tuple[Relation, ...]) -> PassingJoin:
        return replace(self, operands=inputs)


@dataclass(frozen=True, slots=True)
class PassingSemiJoin(SemiJoin):
    """A semi-join with a table, on either side; its right side may have duplicates."""

    passing: int

    def with_inputs(self, inputs: tuple[Relation, ...]) -> PassingSemiJoin:
        left, right = inputs
        return replace(self, left=left, right=right)


@dataclass(frozen=True, slots=True)
class PassingAntiJoin(AntiJoin):
    """The same of an anti-join."""

    passing: int

    def with_inputs(self, inputs: tuple[Relation, ...]) -> PassingAntiJoin:
        left, right = inputs
        return replace(self, left=left, right=right)


#: All of whose inputs one passes.
Passing = PassingJoin | PassingSemiJoin | PassingAntiJoin


def with_passing(relation: Relation) -> Relation:
    """The physical relation whose joins with tables keep nothing of the other input.

    >>> from penstock.algebra.expressions import Column
    >>> from penstock.algebra.relations import Output, Stream
    >>> from penstock.types import BIGINT
    >>> ts, f = Column("s", "ts", BIGINT), Column("k", "f", BIGINT)
    >>> scan = Scan(Stream("s", "s", (ts,), ts), Unbounded(), (), (Output(ts, ts),))
    >>> with_passing(Join((Table("k", "k", (f,)), scan), ())).passing
    1
    """
    return rewrite_relation(relation, _passing)


def _passing(node: Relation) -> Relation:
    if type(node) not in (Join, SemiJoin, AntiJoin):
        return node
    inputs = [_without_duplicates(node, number, below) for number, below in enumerate(node.inputs)]
    changing = [number for number, below in enumerate(inputs) if not _is_table(below)]
    if len(changing) != 1 or _is_window(inputs[changing[0]]):
        return node
    match node:
        case Join(_, on):
            return PassingJoin(tuple(inputs), on, changing[0])
        case SemiJoin(_, _, on):
            return PassingSemiJoin(inputs[0], inputs[1], on, changing[0])
        case AntiJoin(_, _, on):
            return PassingAntiJoin(inputs[0], inputs[1], on, changing[0])
    return node


def _without_duplicates(node: Relation, number: int, below: Relation) -> Relation:
    """An input; of the right side of a semi-join duplicates are nothing to care for."""
    is_right = number == 1 and not isinstance(node, Join)
    return below.input if is_right and isinstance(below, Distinct) else below


def _is_table(relation: Relation) -> bool:
    """Whether all its rows are there at instant 0, in whatever cell reads it: it is a table, or computed of tables."""
    leaves = [node for node in walk_relations(relation) if not node.inputs]
    return all(isinstance(leaf, Table) for leaf in leaves)


def _is_window(relation: Relation) -> bool:
    """Whether its rows are stored as long as its window has them."""
    while isinstance(relation, Select | Project | Keep):
        relation = relation.input
    return isinstance(relation, Scan) and not isinstance(relation.spec, Unbounded)
