"""Grouping, counting, and groups that end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from penstock.algebra.bucket_counts import BucketCounts, CertifiedGroups, FallenBack
from penstock.algebra.expressions import Expr
from penstock.algebra.link_monitor import LinkMonitor
from penstock.algebra.partial_aggregates import has_partial, partial_columns, times_column
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Aggregate, Aggregation, Distinct, Relation, SetOp
from penstock.closing.group_closers import EndingValues, GroupEnding, WithFirstRow
from penstock.closing.join_variables import is_monotone
from penstock.closing.physical_join import PhysicalJoin, join_below
from penstock.kernels import counting
from penstock.kernels.aggregation import ORDERED
from penstock.kernels.sets import first_equals
from penstock.operators.blocks import Blocks, in_step, together
from penstock.operators.building.joins.buckets import build_totals
from penstock.operators.building.nodes import BlockNode, Step, in_one_block, measured_blocks
from penstock.operators.building.windows import build_arrivals, build_partitions, build_unordered
from penstock.operators.groups.aggregate import (
    AggregateOperator,
    AggregationSpec,
    DistinctValues,
    InputShape,
    own_keys,
)
from penstock.operators.groups.bucket_counts import BucketCountsOperator
from penstock.operators.groups.certified_groups import CertifiedGroupsOperator
from penstock.operators.groups.counting import FUNCTIONS, CountingOperator
from penstock.operators.groups.ending import Joined
from penstock.operators.groups.fall_back import FallBackOperator
from penstock.operators.groups.panes import PartialAggregates
from penstock.operators.joins.bucket_totals import Summed
from penstock.operators.projection import Projection, projection
from penstock.plan.panes import Panes
from penstock.retention.code_owners import RowCodeOwner
from penstock.retention.link_monitor import LinkMonitorOperator
from penstock.synopsis.deltas import Deltas, row_width
from penstock.synopsis.memory import Ints
from penstock.types import Type

if TYPE_CHECKING:
    from penstock.operators.building.builder import Builder


def build_ending(build: Builder, node: GroupEnding) -> BlockNode:
    """Groups of which nothing is kept once they have ended."""
    if isinstance(node.input, Scan):
        return _build_partitions(build, node, node.input)
    with build.gauges.building(node.input) as gauge:
        operator, groups = _grouping(build, node.input)
    join = join_below(node.input)
    purge = next((purge for purge in build.purges if purge.node is join), None)
    groups = measured_blocks(groups, gauge)
    evidence = [build.rows(scan) for scan in node.evidence]
    keys = len(node.keys)
    endings = build.endings(node.closers, node.keys, Joined.below(node), emits=node.emits)
    has_seen = any(isinstance(closer, WithFirstRow) for closer in node.closers)
    values = [_build_values(build, operator, each) for each in node.values]

    def forget(step: Step) -> Deltas | None:
        """Groups that have closed; then nothing is kept of them."""
        ended = purge.ended if purge is not None else {}
        endings.learn([rows(step) for rows in evidence], step.until, ended)
        closed = endings.forget(operator, step.until) if node.closes_groups else None
        for forget_values in values:
            forget_values(step, ended)
        return closed

    def step_groups(step: Step) -> Blocks:
        if not node.emits:
            yield from groups(step)
            forget(step)
            return
        changes = [block if has_seen else block.take(slice(0, 0)) for block in groups(step)]
        closed, out = forget(step), together(changes)
        if closed is None or not len(closed):
            yield out.take(slice(0, 0))
        else:
            yield _after_changes(closed, out, keys, len(node.schema)) if has_seen else closed

    return step_groups


def _build_partitions(build: Builder, node: GroupEnding, scan: Scan) -> BlockNode:
    """A partitioned window of one reader, of which nothing is kept of partitions that have ended."""
    with build.gauges.building(scan) as gauge:
        arrivals, window = build_arrivals(build, scan), build_partitions(build, scan)
    evidence = [build.rows(each) for each in node.evidence]
    endings = build.endings(node.closers, node.keys)

    def step_partitions(step: Step) -> Deltas:
        changes = window.step(arrivals(step), step.until).deltas(window.store)
        gauge.stepped(step.inputs, len(changes))
        endings.learn([rows(step) for rows in evidence], step.until, {})
        endings.forget(window, step.until)
        return changes

    return in_one_block(step_partitions)


def _build_values(
    build: Builder, operator: AggregateOperator | CountingOperator, node: EndingValues
) -> Callable[[Step, Mapping[int, Ints]], None]:
    """Values of a DISTINCT aggregate that have ended: only their number is kept."""
    assert isinstance(operator, AggregateOperator)
    held = DistinctValues(operator, node.aggregation)
    evidence = [build.rows(scan) for scan in node.groups.evidence]
    endings = build.endings(node.groups.closers, node.groups.schema, Joined.below(node.groups))

    def forget_values(step: Step, ended: Mapping[int, Ints]) -> None:
        endings.learn([rows(step) for rows in evidence], step.until, ended)
        endings.forget(held, step.until)

    return forget_values


def _after_changes(closed: Deltas, changes: Deltas, keys: int, columns: int) -> Deltas:
    """Groups that closed, no sooner than they last changed: if all else was closed, the row that was missing did it."""
    changed = changes.take(changes.weight > 0)
    rows = np.concatenate((closed.rows, changed.rows))
    own = np.empty((len(rows), row_width(keys)), np.int64)
    own_keys(rows, keys, columns, own)
    groups = first_equals(own)
    last = np.zeros(len(rows), np.int64)
    np.maximum.at(last, groups, np.concatenate((closed.ts, changed.ts)))
    return Deltas(last[groups[: len(closed)]], closed.weight, closed.rows).in_order()


def _grouping(
    build: Builder, relation: Aggregate | Distinct | SetOp
) -> tuple[AggregateOperator | CountingOperator, BlockNode]:
    match relation:
        case Distinct(below):
            return build_counting(build, counting.DISTINCT, (below,))
        case SetOp(op, all_, left, right):
            return build_counting(build, FUNCTIONS[op, all_], (left, right))
    return build_aggregate(build, relation)


def build_aggregate(build: Builder, relation: Aggregate) -> tuple[AggregateOperator, BlockNode]:
    arguments = tuple(a.argument for a in relation.aggregations if a.argument is not None)
    keys = tuple(key.expr for key in relation.keys)
    specs = tuple(
        AggregationSpec(a.function, None if a.argument is None else a.argument.type, a.distinct)
        for a in relation.aggregations
    )
    key_types = tuple(key.type for key in keys)
    if isinstance(relation.input, Panes):
        project = projection(keys + arguments, relation.input.schema, build.gauges.top.function_errors)
        return _pane_aggregate(build, relation.input, project, key_types, specs)
    if isinstance(relation.input, PhysicalJoin) and relation.input.has_totals:
        return _total_aggregate(build, relation.input, relation, specs)
    read, shape = _input_of(relation)
    below = build.project(relation.input, read)
    grows = is_monotone(relation.input)
    operator = AggregateOperator(build.scope("aggregate"), key_types, specs, build.dictionary, grows, shape)
    _holds(build, operator)
    return operator, lambda step: operator.blocks(below(step), step.until)


def _input_of(relation: Aggregate) -> tuple[tuple[Expr, ...], InputShape]:
    """What an aggregate reads of each row: keys, and arguments or partial aggregates of a join that counts."""
    there = frozenset(relation.input.schema)
    read: list[Expr] = [key.expr for key in relation.keys]
    arguments, partials, times = [], [], []
    for each in relation.aggregations:
        arguments.append(0)
        partials.append(-1)
        times.append(-1)
        if each.argument is not None and has_partial(each) and there.issuperset(own := partial_columns(each)):
            partials[-1] = len(read)
            read += own
        elif each.argument is not None:
            arguments[-1] = len(read)
            read.append(each.argument)
            if (often := times_column(each)) in there:
                times[-1] = len(read)
                read.append(often)
    return tuple(read), InputShape(0, len(read), tuple(arguments), tuple(partials), tuple(times))


def _pane_aggregate(
    build: Builder, panes: Panes, project: Projection, key_types: tuple[Type, ...], specs: tuple[AggregationSpec, ...]
) -> tuple[AggregateOperator, BlockNode]:
    with build.gauges.building(panes) as gauge:
        rows = build_unordered(build, panes.scan)
        partials = PartialAggregates(build.scope("panes"), panes.window, key_types, specs, build.dictionary)
        _holds(build, partials)
    memory = build.scope("aggregate")
    operator = AggregateOperator(memory, key_types, specs, build.dictionary, shape=partials.shape)
    _holds(build, operator)

    def aggregate(step: Step) -> Deltas:
        came = rows(step)
        due = partials.step(came.ts, project(came.rows, build.dictionary), step.until)
        gauge.stepped(step.inputs, len(due))
        out = operator.step(due, step.until, partials.spilt)
        partials.forget()
        return out

    return operator, in_one_block(aggregate)


def _total_aggregate(
    build: Builder, join: PhysicalJoin, relation: Aggregate, specs: tuple[AggregationSpec, ...]
) -> tuple[AggregateOperator, BlockNode]:
    """An aggregate of a join of buckets: of some arguments partial aggregates come, of the others values."""
    owners = {a: n for n, kept in enumerate(join.buckets) if kept is not None for a in kept.totals}
    pairs = list(zip(relation.aggregations, specs, strict=True))
    summed = [Summed(owners[a], spec, a.argument) for a, spec in pairs if a in owners and a.argument is not None]
    with build.gauges.building(join) as gauge:
        node, totals = build_totals(build, join, summed)
    words = dict(zip((a for a in relation.aggregations if a in owners), totals.words, strict=True))
    # Extremes are added up only where no row ever goes.
    grows = any(each.spec.family == ORDERED for each in summed)
    rows = measured_blocks(node, gauge)
    return _partial_aggregate(build, join, relation, specs, rows, words, lambda: totals.spilt, grows=grows)


def _partial_aggregate(
    build: Builder,
    join: PhysicalJoin,
    relation: Aggregate,
    specs: tuple[AggregationSpec, ...],
    rows: BlockNode,
    words: Mapping[Aggregation, int],
    spilt: Callable[[], Ints],
    *,
    grows: bool = False,
) -> tuple[AggregateOperator, BlockNode]:
    """An aggregate of rows that have partial aggregates behind their columns, at these words."""
    keys = tuple(key.expr for key in relation.keys)
    body, arguments, partials = list(keys), [], []
    width = row_width(len(keys) + sum(a.argument is not None and a not in words for a in relation.aggregations))
    for aggregation in relation.aggregations:
        partials.append(width + words[aggregation] if aggregation in words else -1)
        arguments.append(len(body) if aggregation.argument is not None and aggregation not in words else 0)
        if aggregation.argument is not None and aggregation not in words:
            body.append(aggregation.argument)
    shape = InputShape(0, len(body), tuple(arguments), tuple(partials))
    project, width = projection(tuple(body), join.schema), row_width(len(join.schema))
    memory, key_types = build.scope("aggregate"), tuple(key.type for key in keys)
    grows = grows or is_monotone(join)
    operator = AggregateOperator(memory, key_types, specs, build.dictionary, grows, shape)
    _holds(build, operator)

    def projected(step: Step) -> Blocks:
        for came in rows(step):
            own = project(came.rows[:, :width], build.dictionary)
            yield Deltas(came.ts, came.weight, np.concatenate((own, came.rows[:, width:]), axis=1))

    return operator, lambda step: operator.blocks(projected(step), step.until, spilt)


def _holds(build: Builder, operator: AggregateOperator | PartialAggregates) -> None:
    build.code_owners.append(operator)
    build.gauges.top.counts.append(operator.state_rows)


def build_bucket_counts(build: Builder, node: BucketCounts) -> BlockNode:
    """Streams that are counted apart, by bucket of time."""
    inputs = [build.rows(below) for below in node.inputs]
    operator = BucketCountsOperator(build.scope("buckets"), node)
    keys = tuple(key for number, key in enumerate(node.keys) if number != node.place)
    build.code_owners.append(RowCodeOwner(operator.store.held_column, keys))
    build.gauges.top.counts.append(operator.state_rows)
    return lambda step: operator.step([rows(step) for rows in inputs], step.until)


def build_certified_groups(build: Builder, node: CertifiedGroups) -> BlockNode:
    """Groups of one stream, and counters that say whether they are certain."""
    groups, counts = (build.rows(below) for below in node.inputs)
    operator = CertifiedGroupsOperator(build.scope("certified"), node)
    build.code_owners.append(RowCodeOwner(operator.held_column, node.groups.schema))
    build.gauges.top.counts.append(operator.state_rows)
    return in_one_block(lambda step: operator.step(groups(step), counts(step), step.until))


def build_fall_back(build: Builder, node: FallenBack) -> BlockNode:
    """Counters, and an exact count in their place once an interval was too wide."""
    counts, exact, wide = (build.rows(below) for below in node.inputs)
    operator = FallBackOperator(build.scope("fall_back"), node.node)
    build.code_owners.append(RowCodeOwner(operator.open.store.held_column, node.exact.schema))
    build.gauges.top.counts.append(operator.state_rows)
    build.gauges.top.plan_decisions = operator.decisions
    return in_one_block(lambda step: operator.step(counts(step), exact(step), wide(step), step.until))


def build_link_monitor(build: Builder, node: LinkMonitor) -> BlockNode:
    """What watches two streams that are not joined."""
    parents, children = (build.rows(below) for below in node.inputs)
    operator = LinkMonitorOperator(build.scope("monitor"), node, build.dictionary)
    build.code_owners.append(RowCodeOwner(operator.held_column, node.keys))
    build.gauges.top.counts.append(operator.state_rows)
    build.gauges.top.monitors.append(operator.reports)
    return in_one_block(lambda step: operator.step(parents(step), children(step)))


def build_counting(build: Builder, function: int, sides: tuple[Relation, ...]) -> tuple[CountingOperator, BlockNode]:
    nodes = [build.deltas(side) for side in sides]
    width = row_width(len(sides[0].schema))
    operator = CountingOperator(build.scope("count"), width, function)
    build.code_owners.append(RowCodeOwner(operator.held_column, sides[0].schema))
    build.gauges.top.counts.append(operator.state_rows)

    def count(step: Step) -> Blocks:
        for blocks in in_step([node(step) for node in nodes]):
            yield operator.step(blocks)

    return operator, count
