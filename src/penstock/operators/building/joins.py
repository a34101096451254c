"""Joins, with what lets them forget or count, and semi-joins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, cast

from penstock.algebra.buckets import Buckets
from penstock.algebra.expressions import Column, Expr
from penstock.algebra.expressions import columns as columns_of
from penstock.algebra.partial_aggregates import partial_columns
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Aggregation, Relation, Schema
from penstock.closing.join_variables import is_monotone, join_variables
from penstock.closing.monitors import Monitor, OfCluster, OfOrder, OfReference
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.kernels.aggregation import STATE_WIDTHS
from penstock.operators.blocks import Blocks
from penstock.operators.building.nodes import (
    BlockNode,
    DeltaNode,
    EventNode,
    Step,
    StoredRelation,
    at_once,
    in_one_block,
    measured,
    once,
)
from penstock.operators.building.windows import build_arrivals, build_purgeable
from penstock.operators.filters.filters import Tuning
from penstock.operators.gauges import Gauge
from penstock.operators.groups.aggregate import AggregationSpec
from penstock.operators.joins.bucket_join import (
    BucketInputs,
    BucketJoinOperator,
    BucketSemiJoinOperator,
    recipe_of,
    skyline_of,
)
from penstock.operators.joins.bucket_totals import BucketTotals, Summed
from penstock.operators.joins.ending_join import ForgettingStore, StoredRows
from penstock.operators.joins.mjoin import JoinCore, JoinOperator
from penstock.operators.joins.path_counting import ColumnSum, Counted
from penstock.operators.joins.purging_join import CountedWindow, PurgingJoin, PurgingSemiJoin
from penstock.operators.joins.residuals import Residual, RowTest
from penstock.operators.joins.semi_join import SemiJoinOperator
from penstock.operators.joins.stateless_input import StatelessInput, joined, matched, shown
from penstock.operators.joins.table_intervals import TableIntervals
from penstock.plan.caches import CacheChoice, cached_inputs
from penstock.plan.explain import operand_name
from penstock.plan.index_report import IndexReport
from penstock.plan.probe_paths import inputs_read, keys_of, paths_of, residual_of
from penstock.retention.admission import Admission
from penstock.retention.purge import Purge, purge_indexes
from penstock.retention.retained_join import RetainedJoin
from penstock.retention.spill import Spill
from penstock.retention.stamps import Stamps
from penstock.retention.windows import PurgeableWindow, RecallableWindow
from penstock.synopsis.constant import ConstantSynopsis
from penstock.synopsis.deltas import Deltas, row_width
from penstock.synopsis.events import Events
from penstock.synopsis.indexed_inputs import JoinInput
from penstock.synopsis.memory import Ints, Memory
from penstock.synopsis.store import RowStore

if TYPE_CHECKING:
    from penstock.operators.building.builder import Builder
    from penstock.operators.groups.ending import Endings


def build_join(build: Builder, join: PhysicalJoin, columns: Schema) -> BlockNode:
    """The join's results, of these columns."""
    if join.counted:
        return build.only(_build_join(build, join, join.shown), join.schema, columns)
    return _build_join(build, join, columns)


def _build_join(build: Builder, join: PhysicalJoin, columns: Schema) -> BlockNode:
    """The join's results, of these columns of rows; behind them, where some are counted, all that it says of these."""
    if join.retention is not None:
        return _purging_join(build, join, columns)
    if join.endings:
        inputs = _EndingInputs(build, join)
        core = _core(build, join, columns, inputs.parts, insert_only=join is build.insert_only)
        return inputs.ending(core, JoinOperator(core).step)
    if join.buckets:
        return _bucket_join(build, join, columns)
    if join.stateless is not None:
        return _stateless_join(build, join, join.stateless, columns)
    parts = [build.events(operand) for operand in join.operands]
    core = _core(build, join, columns, parts, insert_only=join is build.insert_only)
    operator = JoinOperator(core)
    return lambda step: operator.step([part.events(step) for part in parts])


def _purging_join(build: Builder, node: PhysicalJoin, columns: Schema) -> BlockNode:
    inputs = {number: _PurgeableInput(build, node.operands[number]) for number in node.forgets}
    parts = [
        inputs[number].stored if number in inputs else build.events(operand)
        for number, operand in enumerate(node.operands)
    ]
    insert_only = node is build.insert_only
    core = _core(build, node, columns, parts, insert_only=insert_only, indexed=purge_indexes(node))
    windows = {number: own.window for number, own in inputs.items()}
    purge = _purge(build, node, core, windows, retracts=not insert_only and not is_monotone(node))
    # What a row joins may be on disk: then all rows are admitted.
    admission = Admission(node, core, tuple(windows) if purge.spill is None else ())
    return _purging(build, PurgingJoin(core, windows, purge, admission), node, inputs, parts)


def _purging_semi_join(build: Builder, node: PhysicalJoin) -> BlockNode:
    inputs = {number: _PurgeableInput(build, operand) for number, operand in enumerate(node.operands)}
    parts = [own.stored for own in inputs.values()]
    core = _core(build, node, (), parts, indexed=purge_indexes(node))
    wants_match = node.kind is JoinKind.SEMI
    semi_join = SemiJoinOperator(build.scope("semijoin"), core, wants_match, grows=_grows(node))
    left, right = (cast(RecallableWindow, own.window) for own in inputs.values())
    windows = {0: CountedWindow(left, semi_join), 1: right}
    operator = PurgingSemiJoin(core, semi_join, windows, _purge(build, node, core, windows))
    return build.narrowed(_purging(build, operator, node, inputs, parts), parts[0], node.schema)


def _ending_semi_join(build: Builder, node: PhysicalJoin) -> BlockNode:
    inputs = _EndingInputs(build, node)
    core = _core(build, node, (), inputs.parts)
    wants_match = node.kind is JoinKind.SEMI
    operator = SemiJoinOperator(build.scope("semijoin"), core, wants_match, grows=_grows(node))

    def semi_join(events: list[Events]) -> Blocks:
        yield from operator.step(events)
        # What left rows that leave had matched may be gone, so that nothing else takes their matches back.
        operator.forget(events[0].slots[events[0].signs < 0])

    return build.narrowed(inputs.ending(core, semi_join, operator.forget), inputs.parts[0], node.schema)


def _purge(
    build: Builder,
    node: PhysicalJoin,
    core: JoinCore,
    windows: Mapping[int, PurgeableWindow],
    *,
    retracts: bool = False,
) -> Purge:
    """The purge of a join, which its gauge measures."""
    copies = tuple(_copies(build, node, monitor) for monitor in node.monitors)
    join = RetainedJoin(node, core, build.scope("purge"), build.dictionary, retracts, copies)
    stamps, spill, gauge = Stamps(join), None, build.gauges.top
    if node.probable:
        assert build.spill is not None, "rows are spilled, but no folder is given"
        recallable = cast(Mapping[int, RecallableWindow], windows)  # the plan sees to that
        spill = Spill(join, core.first_probes, recallable, stamps, build.spill)
        gauge.on_disk.append(spill.on_disk)
    purge = Purge(join, windows, stamps, build.forgetting, spill)
    build.code_owners += purge.code_owners
    build.purges.append(purge)
    gauge.counts.append(purge.__len__)
    gauge.rejected.append(purge.rejection.count)
    gauge.timed_out.append(purge.wait_timeout.count)
    gauge.monitors.append(purge.reports)
    return purge


def _purging(
    build: Builder,
    operator: PurgingJoin,
    node: PhysicalJoin,
    inputs: Mapping[int, _PurgeableInput],
    parts: Sequence[StoredRelation],
) -> BlockNode:
    evidence = [build.rows(scan) for scan in node.evidence]

    def step_join(step: Step) -> Blocks:
        arrivals = {number: own.arrivals(step) for number, own in inputs.items()}
        others = {number: part.events(step) for number, part in enumerate(parts) if number not in inputs}
        yield from operator.step([rows(step) for rows in evidence], arrivals, others, step.until)
        for number, own in inputs.items():
            own.gauge.stepped(step.inputs, operator.window_events[number])

    return step_join


def _copies(build: Builder, node: PhysicalJoin, monitor: Monitor) -> int:
    """In how many cells a monitor sees a row: those along which none of its leaves is partitioned."""
    match monitor:
        case OfReference(target=target, source=source):
            leaves = [node.operands[target], node.operands[source]]
        case OfCluster(evidence=evidence) | OfOrder(evidence=evidence):
            leaves = [node.evidence[evidence]]
    routes = [route for route in build.routes if any(route.leaf is leaf for leaf in leaves)]
    along = zip(build.shares, *(route.dimensions for route in routes), strict=True)
    return prod(share for share, *dimensions in along if not any(dimensions))


def _bucket_join(build: Builder, node: PhysicalJoin, columns: Schema) -> BlockNode:
    """A join of buckets: of inputs that have some no row is stored but one of each."""
    nodes, parts, synopses = _bucket_inputs(build, node)
    core = _core(build, node, columns, parts, insert_only=node is build.insert_only)
    operator = BucketJoinOperator(BucketInputs(core, synopses))
    return lambda step: operator.step([changes(step) for changes in nodes])


def build_totals(build: Builder, node: PhysicalJoin, summed: Sequence[Summed]) -> tuple[BlockNode, BucketTotals]:
    """A join of buckets, of all columns, each result with partial aggregates behind them."""
    nodes, parts, synopses = _bucket_inputs(build, node)
    schemas = [part.schema for part in parts]
    totals = BucketTotals(build.scope("totals"), summed, schemas, build.dictionary)
    build.code_owners.append(totals)
    core = _core(build, node, node.schema if node.kind is JoinKind.JOIN else (), parts)
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
        parts.append(StoredRelation(schema, synopsis.store, _no_events))
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


def _no_events(step: Step) -> Events:
    raise AssertionError("rows that are not kept have no events of their own")


class _PurgeableInput:
    """An input with a window of its own, of which its one reader may drop rows, or admit only some."""

    def __init__(self, build: Builder, scan: Relation) -> None:
        assert isinstance(scan, Scan)
        with build.gauges.building(scan) as self.gauge:
            self.arrivals = build_arrivals(build, scan)
            self.window = build_purgeable(build, scan)
            build.stores.append(self.window.store)
        self.stored = StoredRelation(scan.schema, self.window.store, _no_events)

    def events(self, step: Step) -> Events:
        """What a reader that admits all rows is given."""
        found = self.window.step(self.arrivals(step), step.until)
        self.gauge.stepped(step.inputs, len(found))
        return found


class _EndingInputs:
    """The inputs of a join whose rows end: those that do have windows and bags of their own."""

    def __init__(self, build: Builder, node: PhysicalJoin) -> None:
        self._build, self._node = build, node
        self._stores: dict[int, ForgettingStore] = {}
        self.parts = [self._part(number, operand) for number, operand in enumerate(node.operands)]
        build.purges_within_step = True

    def _part(self, number: int, operand: Relation) -> StoredRelation:
        if self._node.endings[number] is None:
            return self._build.events(operand)
        if isinstance(operand, Scan):
            own = _PurgeableInput(self._build, operand)
            self._stores[number] = own.window
            return replace(own.stored, events=own.events)
        with self._build.gauges.building(operand) as gauge:
            stored, self._stores[number] = self._build.bag(operand)
        return replace(stored, events=measured(stored.events, gauge))

    def ending(
        self,
        core: JoinCore,
        results: Callable[[list[Events]], Blocks],
        drop_left: Callable[[Ints], None] = lambda slots: None,
    ) -> BlockNode:
        """The results of a step, after which rows are dropped; who keeps something of left rows is notified."""
        build = self._build
        ended: list[tuple[Endings, StoredRows, list[DeltaNode]]] = []
        for number, store in self._stores.items():
            closers, part = self._node.endings[number], self.parts[number]
            assert closers is not None
            rows = StoredRows(core, number, store, drop_left if number == 0 else lambda slots: None)
            evidence = [build.rows(scan) for scan in closers.evidence]
            ended.append((build.endings(closers, part.schema), rows, evidence))

        def step_join(step: Step) -> Blocks:
            yield from results([part.events(step) for part in self.parts])
            for endings, rows, evidence in ended:
                endings.learn([each(step) for each in evidence], step.until, {})
                endings.forget(rows, step.until)

        return step_join


def _grows(join: PhysicalJoin) -> bool:
    """Whether rows of its inputs only arrive."""
    return all(map(is_monotone, join.operands))


def build_semi_join(build: Builder, relation: PhysicalJoin) -> BlockNode:
    if relation.retention is not None:
        return _purging_semi_join(build, relation)
    if relation.endings:
        return _ending_semi_join(build, relation)
    if relation.buckets:
        return _bucket_semi_join(build, relation)
    if relation.stateless is not None:
        return _stateless_semi_join(build, relation, relation.stateless)
    parts = [build.events(side) for side in relation.operands]
    core = _core(build, relation, (), parts)
    wants_match = relation.kind is JoinKind.SEMI
    operator = SemiJoinOperator(build.scope("semijoin"), core, wants_match, grows=_grows(relation))

    def semi_join(step: Step) -> Blocks:
        return operator.step([part.events(step) for part in parts])

    return build.narrowed(semi_join, parts[0], relation.schema)


def _bucket_semi_join(build: Builder, relation: PhysicalJoin) -> BlockNode:
    nodes, parts, synopses = _bucket_inputs(build, relation)
    core = _core(build, relation, (), parts)
    wants_match = relation.kind is JoinKind.SEMI
    inner = SemiJoinOperator(build.scope("semijoin"), core, wants_match)
    operator = BucketSemiJoinOperator(BucketInputs(core, synopses), inner, wants_match)
    return build.narrowed(lambda step: operator.step([changes(step) for changes in nodes]), parts[0], relation.schema)


def _stateless_join(build: Builder, node: PhysicalJoin, stateless: int, columns: Schema) -> BlockNode:
    """A join with tables, which keeps nothing of its other input."""
    changes, parts, store = _stateless_inputs(build, node, stateless)
    rows = StatelessInput(_core(build, node, columns, parts), stateless, store)
    tables = [part for number, part in enumerate(parts) if number != stateless]
    return lambda step: joined(rows, changes(step), [part.events(step) for part in tables])


def _stateless_semi_join(build: Builder, relation: PhysicalJoin, stateless: int) -> BlockNode:
    changes, parts, store = _stateless_inputs(build, relation, stateless)
    core = _core(build, relation, (), parts)
    rows, table = StatelessInput(core, stateless, store), parts[1 - stateless]
    wants_match = relation.kind is JoinKind.SEMI
    if stateless == 0:
        return in_one_block(lambda step: shown(rows, changes(step), table.events(step), wants_match))
    operator = SemiJoinOperator(build.scope("semijoin"), core, wants_match)
    return lambda step: matched(rows, changes(step), table.events(step), operator)


def _stateless_inputs(
    build: Builder, node: PhysicalJoin, stateless: int
) -> tuple[DeltaNode, list[StoredRelation], RowStore]:
    """The changes of the stateless input, where each input's rows are, and the store of its rows for one step."""
    own = node.operands[stateless]
    # No operator has to find these rows again, so they are not among what is persisted.
    store = RowStore(Memory().scope("stateless"), row_width(len(own.schema)))
    changes: list[DeltaNode] = []
    parts = []
    for number, below in enumerate(node.operands):
        if number == stateless:
            changes.append(at_once(build.deltas(below)))
        parts.append(StoredRelation(own.schema, store, _no_events) if number == stateless else build.events(below))
    build.purges_within_step = True
    return changes[0], parts, store


def _core(
    build: Builder,
    join: PhysicalJoin,
    columns: Schema,
    parts: Sequence[StoredRelation],
    *,
    insert_only: bool = False,
    indexed: Iterable[tuple[int, tuple[int, ...]]] = (),
) -> JoinCore:
    inputs = []
    variables = join_variables(join)
    for number, part in enumerate(parts):
        own = (variable[number] for variable in variables)
        positions = tuple(None if column is None else part.schema.index(column) for column in own)
        inputs.append(JoinInput(part.store, len(part.schema), positions))
    stored = tuple(column for part in parts for column in part.schema)
    residual = _residual(build, residual_of(join), [part.schema for part in parts])
    shown = tuple(map(stored.index, columns))
    make = partial(JoinCore, build.scope("join"), tuple(inputs), residual, shown, paths_of(join))
    core = make(
        insert_only=insert_only,
        indexed=indexed,
        counted=_counted(parts, join),
        keys=keys_of(join),
        cached=cached_inputs(join),
    )
    build.joins.append(core)
    build.gauges.top.probing = core.probe_counts
    build.gauges.top.indexes = partial(_index_reports, [part.schema for part in parts], core)
    if len(parts) > 2:  # of two inputs each has but one to probe
        retune = partial(_retune, core, build.gauges.top, tuple(map(operand_name, join.operands)))
        build.retuning.append(retune)
        if build.tuning is not None:
            retune(build.tuning)
    return core


def _retune(core: JoinCore, gauge: Gauge, inputs: tuple[str, ...], tuning: Tuning) -> None:
    """Lets tuners replace the paths and the caches of a join from now on."""
    core.tuner = gauge.join_tuner = tuning.join_tuner(gauge.name, inputs)
    if core.tuner is not None:
        core.tuner.adopt(core)
    core.cache_tuner = tuning.cache_tuner(gauge.name, inputs)
    gauge.caching = core.caching.used
    if core.cache_tuner is None:
        core.caching.use(CacheChoice())
        gauge.cache_decisions = tuple
    else:
        core.cache_tuner.adopt(core)
        gauge.cache_decisions = core.cache_tuner.report


def _index_reports(schemas: Sequence[Schema], core: JoinCore) -> tuple[IndexReport, ...]:
    """What the indexes of a join take."""
    return tuple(
        IndexReport(number, tuple(schemas[number][column].name for column in columns), buckets, size)
        for (number, columns), buckets, size in core.index_sizes()
    )


def _counted(parts: Sequence[StoredRelation], join: PhysicalJoin) -> Counted:
    """What a join counts of its inputs."""
    sums = tuple(_column_sum(parts, join, aggregation) for aggregation in join.summed)
    return Counted(frozenset(join.counted), len(join.left_out), sums, tuple(map(join.owner, join.once)))


def _column_sum(parts: Sequence[StoredRelation], join: PhysicalJoin, aggregation: Aggregation) -> ColumnSum:
    """What a join adds up of a column for an aggregate above."""
    column = aggregation.argument
    assert isinstance(column, Column)
    number = join.owner(aggregation)
    family = AggregationSpec(aggregation.function, column.type).family
    assert STATE_WIDTHS[family] == len(partial_columns(aggregation))
    return ColumnSum(number, parts[number].schema.index(column), family)


def _residual(build: Builder, exprs: tuple[Expr, ...], schemas: Sequence[Schema]) -> Residual | None:
    """The predicates that no index evaluates, with what makes the tests of some of them."""
    if not exprs:
        return None
    stored = tuple(column for schema in schemas for column in schema)
    filters = build.residual_filters()

    def test(numbers: tuple[int, ...]) -> RowTest:
        some = tuple(exprs[number] for number in numbers)
        read = tuple(column for column in dict.fromkeys(stored) if any(column in columns_of(expr) for expr in some))
        return RowTest(tuple(map(stored.index, read)), *filters(some, read))

    return Residual(inputs_read(exprs, schemas), test)
