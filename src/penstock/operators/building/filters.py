"""Pipelined filters: the key counts of their sides, and the window that rows pass into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.algebra.physical import Scan
from penstock.algebra.pipelined_filters import MembershipFilter, PipelinedFilters
from penstock.algebra.relations import Relation
from penstock.operators.blocks import Blocks
from penstock.operators.building.nodes import BlockNode, DeltaNode, Step, StoredRelation, at_once, measured
from penstock.operators.building.windows import build_arrivals
from penstock.operators.filters.pipelined import Lookup, PipelinedFiltersOperator
from penstock.operators.windows.windows import window_operator
from penstock.plan.explain import filter_text
from penstock.retention.code_owners import RowCodeOwner
from penstock.synopsis.deltas import Deltas, row_width
from penstock.synopsis.events import Events
from penstock.synopsis.key_counts import KeyCounts

if TYPE_CHECKING:
    from penstock.operators.building.builder import Builder


def build_filters(build: Builder, relation: PipelinedFilters) -> BlockNode:
    """Filters that judge each change of their left input."""
    left = build.deltas(relation.left)
    operator, sides = _operator(build, relation)

    def step_filters(step: Step) -> Blocks:
        operator.enter([side(step) for side in sides])
        for block in left(step):
            yield operator.passing(block)
        operator.leave()

    return step_filters


def build_filtered_window(build: Builder, relation: PipelinedFilters) -> StoredRelation:
    """Filters that judge rows as they arrive, and a window of those that pass."""
    assert relation.window is not None
    schema = relation.schema
    arrivals = _arrivals(build, relation.left)
    operator, sides = _operator(build, relation)
    columns = len(schema)
    window = window_operator(relation.window, build.scope("window"), columns, row_width(columns))
    build.keeps(window.store, schema)
    build.stores.append(window.store)

    def step_window(step: Step) -> Events:
        operator.enter([side(step) for side in sides])
        passing = operator.passing(arrivals(step))
        operator.leave()
        return window.step(passing, step.until)

    return StoredRelation(schema, window.store, step_window)


def _arrivals(build: Builder, left: Relation) -> DeltaNode:
    """The rows that are inserted into the left input, in the order of time."""
    if isinstance(left, Scan):
        with build.gauges.building(left) as gauge:
            return measured(build_arrivals(build, left), gauge)
    changes = at_once(build.deltas(left))

    def inserted(step: Step) -> Deltas:
        deltas = changes(step)
        return deltas.take(deltas.weight > 0)

    return inserted


def _operator(build: Builder, relation: PipelinedFilters) -> tuple[PipelinedFiltersOperator, list[DeltaNode]]:
    nodes = [at_once(build.deltas(side)) for side in relation.sides]
    counts = []
    for side in relation.sides:
        counts.append(KeyCounts(build.scope("keys"), len(side.schema)))
        build.code_owners.append(RowCodeOwner(counts[-1].store.held_column, side.schema))
        build.gauges.top.counts.append(counts[-1].__len__)
    lookups = [_lookup(build, each, relation) for each in relation.filters]
    gauge = build.gauges.top
    name = f"{gauge.name}.{len(gauge.filters)}"
    operator = PipelinedFiltersOperator(build.scope("filters"), len(relation.schema), lookups, counts, name)
    build.pipelined_filters.append(operator)
    gauge.filters.append(operator)
    if build.tuning is not None:
        operator.retune(build.tuning)
    build.purges_within_step = True
    return operator, nodes


def _lookup(build: Builder, each: MembershipFilter, relation: PipelinedFilters) -> Lookup:
    schema = relation.left.schema
    columns = tuple(map(schema.index, each.columns))
    where = build.filters(each.where, schema) if each.where else None
    return Lookup(filter_text(relation, each), each.wants_match, each.side, columns, where)
