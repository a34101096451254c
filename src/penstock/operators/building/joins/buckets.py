"""Joins and semi-joins of inputs of which only a constant number of rows per bucket is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.algebra.buckets import Buckets
from penstock.algebra.relations import Schema
from penstock.closing.join_variables import join_variables
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.operators.building.joins.core import build_core
from penstock.operators.building.nodes import (
    BlockNode,
    DeltaNode,
    EventNode,
    Step,
    StoredRelation,
    at_once,
    no_events,
    once,
)
from penstock.operators.joins.bucket_join import (
    BucketInputs,
    BucketJoinOperator,
    BucketSemiJoinOperator,
    recipe_of,
    skyline_of,
)
from penstock.operators.joins.bucket_totals import BucketTotals, Summed
from penstock.operators.joins.semi_join import SemiJoinOperator
from penstock.operators.joins.table_intervals import TableIntervals
from penstock.synopsis.constant import ConstantSynopsis
from penstock.synopsis.deltas import Deltas, row_width

if TYPE_CHECKING:
    from penstock.operators.building.builder import Builder


def bucket_join(build: Builder, node: PhysicalJoin, columns: Schema) -> BlockNode:
    """A join of buckets: of inputs that have some no row is stored but one of each."""
    nodes, parts, synopses = _bucket_inputs(build, node)
    core = build_core(build, node, columns, parts, insert_only=node is build.insert_only)
    operator = BucketJoinOperator(BucketInputs(core, synopses))
    return lambda step: operator.step([changes(step) for changes in nodes])


def bucket_semi_join(build: Builder, relation: PhysicalJoin) -> BlockNode:
    nodes, parts, synopses = _bucket_inputs(build, relation)
    core = build_core(build, relation, (), parts)
    wants_match = relation.kind is JoinKind.SEMI
    inner = SemiJoinOperator(build.scope("semijoin"), core, wants_match)
    operator = BucketSemiJoinOperator(BucketInputs(core, synopses), inner, wants_match)
    return build.narrowed(lambda step: operator.step([changes(step) for changes in nodes]), parts[0], relation.schema)


def build_totals(build: Builder, node: PhysicalJoin, summed: Sequence[Summed]) -> tuple[BlockNode, BucketTotals]:
    """A join of buckets, of all columns, each result with partial aggregates behind them."""
    nodes, parts, synopses = _bucket_inputs(build, node)
    schemas = [part.schema for part in parts]
    totals = BucketTotals(build.scope("totals"), summed, schemas, build.dictionary)
    build.code_owners.append(totals)
    core = build_core(build, node, node.schema if node.kind is JoinKind.JOIN else (), parts)
    inputs = BucketInputs(core, synopses)
    operator: BucketJoinOperator | BucketSemiJoinOperator
    if node.kind is JoinKind.JOIN:
        operator = BucketJoinOperator(inputs, totals)
    else:
        wants_match = node.kind is JoinKind.SEMI
        inner = SemiJoinOperator(build.scope("semijoin"), core, wants_match)
        operator = BucketSemiJoinOperator(inputs, inner, wants_match, totals)
    return lambda step: operator.step([changes(step) for changes in nodes]), totals


def _bucket_inputs(
    build: Builder, join: PhysicalJoin
) -> tuple[list[DeltaNode | EventNode], list[StoredRelation], list[ConstantSynopsis | None]]:
    """What inputs give in a step, where their rows or samples are, and the synopses of those that have buckets."""
    nodes: list[DeltaNode | EventNode] = []
    parts: list[StoredRelation] = []
    synopses: list[ConstantSynopsis | None] = []
    for number, (operand, kept) in enumerate(zip(join.operands, join.buckets, strict=True)):
        if kept is None:
            part = build.events(operand)
            parts.append(replace(part, events=once(part.events)))
            nodes.append(parts[-1].events)
            synopses.append(None)
            continue
        nodes.append(_with_intervals(build, at_once(build.deltas(operand)), operand.schema, kept, parts))
        schema = (*operand.schema, *(interval.column for interval in kept.intervals))
        joined = [column for variable in join_variables(join) if (column := variable[number]) is not None]
        recipe, width = recipe_of(kept, schema, joined), row_width(len(schema))
        synopsis = ConstantSynopsis(build.scope("buckets"), width, recipe, skyline_of(kept))
        build.keeps(synopsis.store, schema)
        build.stores.append(synopsis.store)
        build.purges_within_step |= kept.space is not None
        synopses.append(synopsis)
        parts.append(StoredRelation(schema, synopsis.store, no_events))
    return nodes, parts, synopses


def _with_intervals(
    build: Builder, node: DeltaNode, schema: Schema, kept: Buckets, parts: Sequence[StoredRelation]
) -> DeltaNode:
    """Rows with the columns that are found in tables. `parts` will hold these when the first row comes."""
    if not kept.intervals:
        return node
    intervals = TableIntervals(kept.intervals, schema, build.dictionary)

    def with_intervals(step: Step) -> Deltas:
        tables = {interval.table: parts[interval.table] for interval in kept.intervals}
        for table in tables.values():
            table.events(step)
        deltas, stores = node(step), {number: table.store for number, table in tables.items()}
        schemas = {number: table.schema for number, table in tables.items()}
        return Deltas(deltas.ts, deltas.weight, intervals.step(deltas.rows, stores, schemas))

    return with_intervals
