"""Stateless inputs: a join with tables keeps nothing of the one input that changes.

A table is there from instant 0 on and never changes, so a row that arrives has met all that it will ever join. If it is
retracted, as rows of something computed may be, it meets the same rows once more.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.algebra.physical import Keep, Scan
from penstock.algebra.relations import (
    Distinct,
    Project,
    Relation,
    Select,
    Unbounded,
    rewrite_relation,
)
from penstock.closing.join_variables import is_table
from penstock.closing.physical_join import JoinKind, PhysicalJoin


def with_stateless_inputs(relation: Relation) -> Relation:
    """The physical relation whose joins with tables keep nothing of the other input.

    >>> from penstock.algebra.expressions import Column
    >>> from penstock.algebra.relations import Output, Stream, Table
    >>> from penstock.types import BIGINT
    >>> ts, f = Column("s", "ts", BIGINT), Column("k", "f", BIGINT)
    >>> scan = Scan(Stream("s", "s", (ts,), ts), Unbounded(), (), (Output(ts, ts),))
    >>> with_stateless_inputs(PhysicalJoin(JoinKind.JOIN, (Table("k", "k", (f,)), scan), ())).stateless
    1
    """
    return rewrite_relation(relation, _with_stateless_input)


def _with_stateless_input(node: Relation) -> Relation:
    if not isinstance(node, PhysicalJoin) or node.retention is not None or node.buckets:
        return node
    operands = tuple(_without_duplicates(node, number, below) for number, below in enumerate(node.operands))
    changing = [number for number, below in enumerate(operands) if not is_table(below)]
    if len(changing) != 1 or _is_window(operands[changing[0]]):
        return node
    return replace(node, operands=operands, stateless=changing[0])


def _without_duplicates(node: PhysicalJoin, number: int, below: Relation) -> Relation:
    """An operand. Duplicates of a semi-join's right side make no difference."""
    is_right = number == 1 and node.kind is not JoinKind.JOIN
    return below.input if is_right and isinstance(below, Distinct) else below


def _is_window(relation: Relation) -> bool:
    """Whether its rows are stored as long as its window has them."""
    while isinstance(relation, Select | Project | Keep):
        relation = relation.input
    return isinstance(relation, Scan) and not isinstance(relation.spec, Unbounded)
