"""Joins and semi-joins, each built by how its inputs forget rows: a file for each way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.algebra.relations import Schema
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.operators.blocks import Blocks
from penstock.operators.building.joins.buckets import bucket_join, bucket_semi_join
from penstock.operators.building.joins.core import build_core, grows
from penstock.operators.building.joins.ending import ending_join, ending_semi_join
from penstock.operators.building.joins.purging import purging_join, purging_semi_join
from penstock.operators.building.joins.stateless import stateless_join, stateless_semi_join
from penstock.operators.building.nodes import BlockNode, Step
from penstock.operators.joins.mjoin import JoinOperator
from penstock.operators.joins.semi_join import SemiJoinOperator

if TYPE_CHECKING:
    from penstock.operators.building.builder import Builder


def build_join(build: Builder, join: PhysicalJoin, columns: Schema) -> BlockNode:
    """The join's results, of these columns."""
    if join.counted:
        return build.only(_build_join(build, join, join.shown), join.schema, columns)
    return _build_join(build, join, columns)


def _build_join(build: Builder, join: PhysicalJoin, columns: Schema) -> BlockNode:
    """The join's results, of these columns of rows; behind them, where some are counted, all that it says of these."""
    if join.retention is not None:
        return purging_join(build, join, columns)
    if join.endings:
        return ending_join(build, join, columns)
    if join.buckets:
        return bucket_join(build, join, columns)
    if join.stateless is not None:
        return stateless_join(build, join, join.stateless, columns)
    parts = [build.events(operand) for operand in join.operands]
    core = build_core(build, join, columns, parts, insert_only=join is build.insert_only)
    operator = JoinOperator(core)
    return lambda step: operator.step([part.events(step) for part in parts])


def build_semi_join(build: Builder, relation: PhysicalJoin) -> BlockNode:
    if relation.retention is not None:
        return purging_semi_join(build, relation)
    if relation.endings:
        return ending_semi_join(build, relation)
    if relation.buckets:
        return bucket_semi_join(build, relation)
    if relation.stateless is not None:
        return stateless_semi_join(build, relation, relation.stateless)
    parts = [build.events(side) for side in relation.operands]
    core = build_core(build, relation, (), parts)
    wants_match = relation.kind is JoinKind.SEMI
    operator = SemiJoinOperator(build.scope("semijoin"), core, wants_match, grows=grows(relation))

    def semi_join(step: Step) -> Blocks:
        return operator.step([part.events(step) for part in parts])

    return build.narrowed(semi_join, parts[0], relation.schema)
