"""Joins, with what lets them forget or count, and semi-joins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, cast

from penstock.algebra.buckets import Buckets
from penstock.algebra.expressions import Column, Comparator, Compare, Expr
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Relation, Rows, Schema
from penstock.closing.join_variables import is_monotone, join_variables
from penstock.closing.monitors import Monitor, OfCluster, OfOrder, OfReference
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.closing.rules import ByKey, JoinRetention
from penstock.operators.building.nodes import DeltaNode, EventNode, Step, StoredRelation, once
from penstock.operators.building.windows import build_arrivals, build_purgeable
from penstock.operators.joins.bucket_join import (
    BucketInputs,
    BucketJoinOperator,
    BucketSemiJoinOperator,
    recipe_of,
    skyline_of,
)
from penstock.operators.joins.bucket_totals import BucketTotals, Summed
from penstock.operators.joins.mjoin import JoinCore, JoinOperator, SemiJoinOperator
from penstock.operators.joins.stateless_input import StatelessInput, joined, matched, shown
from penstock.operators.joins.table_intervals import TableIntervals
from penstock.operators.scalars import compile_predicate
from penstock.retention.admission import Admission
from penstock.retention.purge import Purge, looked_up
from penstock.retention.spill import with_leaving
from penstock.retention.windows import RecallableWindow
from penstock.synopsis.constant import ConstantSynopsis
from penstock.synopsis.deltas import Deltas, row_width
from penstock.synopsis.events import Events
from penstock.synopsis.indexed_inputs import JoinInput
from penstock.synopsis.memory import Ints, Memory
from penstock.synopsis.store import RowStore

if TYPE_CHECKING:
    from penstock.operators.building.builder import Builder


def build_join(build: Builder, join: PhysicalJoin, columns: Schema) -> DeltaNode:
    """The join's results, of these columns."""
    if join.retention is not None:
        return _purging_join(build, join, join.retention, columns)
    if join.buckets:
        return _bucket_join(build, join, columns)
    if join.stateless is not None:
        return _stateless_join(build, join, join.stateless, columns)
    parts = [build.events(operand) for operand in join.operands]
    core = _core(build, join, columns, parts, insert_only=join is build.insert_only)
    operator = JoinOperator(core)
    return lambda step: operator.step([part.events(step) for part in parts])


def _purging_join(build: Builder, node: PhysicalJoin, retention: JoinRetention, columns: Schema) -> DeltaNode:
    windows = {number: _PurgeableInput(build, node.operands[number]) for number in node.forgets}
    parts = [
        windows[number].stored if number in windows else build.events(operand)
        for number, operand in enumerate(node.operands)
    ]
    insert_only = node is build.insert_only
    core = _core(build, node, columns, parts, insert_only=insert_only, looked_up=looked_up(node))
    evidence = [build.deltas(scan) for scan in node.evidence]
    forgetting = {number: own.window for number, own in windows.items()}
    retracts = not insert_only and not is_monotone(node)
    copies = [_copies(build, node, monitor) for monitor in retention.monitors]
    name = build.name("purge")
    purge = Purge(
        build.memory,
        name,
        node,
        core,
        core.paths,
        forgetting,
        retracts,
        build.dictionary,
        copies,
        build.forgetting,
        build.spill,
    )
    # What a row joins may be on disk: then all rows are let in. So they are where each counts.
    guarded = [number for number, own in windows.items() if purge.spill is None and not own.counts]
    admission = Admission(node, core, guarded)
    build.holders += purge.holders
    build.purges.append(purge)
    build.gauges.top.counts.append(purge.__len__)
    build.gauges.top.ruled_out.append(purge.ruled_out.count)
    build.gauges.top.given_up.append(purge.wait_timeout.count)
    build.gauges.top.monitors.append(purge.reports)
    _measure_disk(build, purge)

    def join(step: Step) -> Deltas:
        arrived = {number: own.arrivals(step) for number, own in windows.items()}
        came = {number: part.events(step) for number, part in enumerate(parts) if number not in windows}
        purge.learn([rows(step) for rows in evidence], {**arrived, **came}, step.until)
        entered = {}
        for number in admission.order:
            if number in windows:
                came[number] = windows[number].step(step, admission.admit_rows(number, arrived[number]))
            entered[number] = core.enter(number, purge.ruled_out.allowed(number, came[number]))
        events = [entered[number] for number in range(len(parts))]
        for number, leaving in purge.bring_back(events, step.until).items():
            came[number] = with_leaving(came[number], leaving)
            events[number] = core.follow(number, with_leaving(events[number], leaving))
        purge.wake(events)
        found, times, signs, rows = core.step(events)
        results = Deltas(times, signs, rows).take(purge.wait_timeout.in_time(found, times))
        purge.gave(int((signs > 0).sum()))
        purge.step([came[number] for number in range(len(parts))], events, found)
        return results.in_order()

    return join


def _measure_disk(build: Builder, purge: Purge) -> None:
    if purge.spill is not None:
        build.gauges.top.on_disk.append(purge.spill.on_disk)


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


def _bucket_join(build: Builder, node: PhysicalJoin, columns: Schema) -> DeltaNode:
    """A join of buckets: of inputs that have some no row is stored but one of each."""
    nodes, parts, synopses = _bucket_inputs(build, node)
    core = _core(build, node, columns, parts, insert_only=node is build.insert_only)
    operator = BucketJoinOperator(BucketInputs(core, synopses))
    return lambda step: operator.step([changes(step) for changes in nodes])


def build_totals(build: Builder, node: PhysicalJoin, summed: Sequence[Summed]) -> tuple[DeltaNode, BucketTotals]:
    """A join of buckets, of all columns, each result with partial aggregates behind them."""
    nodes, parts, synopses = _bucket_inputs(build, node)
    schemas = [part.schema for part in parts]
    totals = BucketTotals(build.memory, build.name("totals"), summed, schemas, build.dictionary)
    build.holders.append(totals)
    core = _core(build, node, node.schema if node.kind is JoinKind.JOIN else (), parts)
    inputs = BucketInputs(core, synopses)
    operator: BucketJoinOperator | BucketSemiJoinOperator
    if node.kind is JoinKind.JOIN:
        operator = BucketJoinOperator(inputs, totals)
    else:
        wants_match = node.kind is JoinKind.SEMI
        inner = SemiJoinOperator(build.memory, build.name("semijoin"), core, wants_match)
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
        nodes.append(_with_intervals(build, build.deltas(operand), operand.schema, kept, parts))
        schema = (*operand.schema, *(interval.column for interval in kept.intervals))
        joined = [column for variable in join_variables(join) if (column := variable[number]) is not None]
        recipe, width = recipe_of(kept, schema, joined), row_width(len(schema))
        synopsis = ConstantSynopsis(build.memory, build.name("buckets"), width, recipe, skyline_of(kept))
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
    """A window of one reader, who may forget its rows, or not let them in."""

    def __init__(self, build: Builder, scan: Relation) -> None:
        assert isinstance(scan, Scan)
        with build.gauges.building(scan) as self._gauge:
            self.arrivals = build_arrivals(build, scan)
            self.window = build_purgeable(build, scan)
            #: Whether rows that are not let in would be missing in the window's count.
            self.counts = isinstance(scan.spec, Rows)
            build.stores.append(self.window.store)
        self.stored = StoredRelation(scan.schema, self.window.store, lambda step: self.step(step, self.arrivals(step)))

    def step(self, step: Step, came: Deltas) -> Events:
        """The events of rows that came, those that were let in."""
        events = self.window.step(came.ts, came.rows, step.until)
        self._gauge.stepped(step.inputs, len(events))
        return events


class _Settled:
    """The left window of a semi-join: a row that it forgets is counted no more."""

    def __init__(self, window: RecallableWindow, operator: SemiJoinOperator) -> None:
        self.store, self.step, self.oldest = window.store, window.step, window.oldest
        self._window, self._operator = window, operator

    def forget(self, slots: Ints) -> None:
        self._operator.forget(slots)
        self._window.forget(slots)

    def bring_back(self, rows: Ints, starts: Ints, until: int) -> tuple[Ints, Events]:
        slots, leaving = self._window.bring_back(rows, starts, until)
        self._operator.bring_back(slots)
        return slots, leaving


def _purging_semi_join(build: Builder, node: PhysicalJoin) -> DeltaNode:
    """Rows of both sides go when they match nothing new, and a left row as soon as it has a match, which it keeps."""
    windows = [_PurgeableInput(build, operand) for operand in node.operands]
    core = _core(build, node, (), [own.stored for own in windows], looked_up=looked_up(node))
    evidence = [build.deltas(scan) for scan in node.evidence]
    wants_match = node.kind is JoinKind.SEMI
    operator = SemiJoinOperator(build.memory, build.name("semijoin"), core, wants_match)
    left, right = (cast(RecallableWindow, own.window) for own in windows)
    forgetting = {0: _Settled(left, operator), 1: right}
    name = build.name("purge")
    settings = (build.forgetting, build.spill)
    purge = Purge(
        build.memory, name, node, core, core.paths, forgetting, False, build.dictionary, (), *settings, once=(0,)
    )
    _measure_disk(build, purge)
    build.holders += purge.holders
    build.purges.append(purge)
    build.gauges.top.counts.append(purge.__len__)
    build.gauges.top.ruled_out.append(purge.ruled_out.count)
    build.gauges.top.given_up.append(purge.wait_timeout.count)

    def semi_join(step: Step) -> Deltas:
        purge.learn([rows(step) for rows in evidence], {}, step.until)
        came = [own.step(step, own.arrivals(step)) for own in windows]
        allowed = [purge.ruled_out.allowed(number, events) for number, events in enumerate(came)]
        entered = [core.enter(number, events) for number, events in enumerate(allowed)]
        purge.bring_back(entered, step.until)
        purge.wake(entered)
        found, times, signs, _ = core.step(entered)
        kept = purge.wait_timeout.in_time(found, times)
        shown = operator.shown(allowed[0], Events(times[kept], signs[kept], found[kept, 0]))
        purge.step(came, entered, found[kept])
        return shown

    return build.narrowed(semi_join, windows[0].stored, node.schema)


def build_semi_join(build: Builder, relation: PhysicalJoin) -> DeltaNode:
    if relation.retention is not None:
        return _purging_semi_join(build, relation)
    if relation.buckets:
        return _bucket_semi_join(build, relation)
    if relation.stateless is not None:
        return _stateless_semi_join(build, relation, relation.stateless)
    parts = [build.events(side) for side in relation.operands]
    core = _core(build, relation, (), parts)
    wants_match = relation.kind is JoinKind.SEMI
    operator = SemiJoinOperator(build.memory, build.name("semijoin"), core, wants_match)

    def semi_join(step: Step) -> Deltas:
        return operator.step([part.events(step) for part in parts])

    return build.narrowed(semi_join, parts[0], relation.schema)


def _bucket_semi_join(build: Builder, relation: PhysicalJoin) -> DeltaNode:
    nodes, parts, synopses = _bucket_inputs(build, relation)
    core = _core(build, relation, (), parts)
    wants_match = relation.kind is JoinKind.SEMI
    inner = SemiJoinOperator(build.memory, build.name("semijoin"), core, wants_match)
    operator = BucketSemiJoinOperator(BucketInputs(core, synopses), inner, wants_match)
    return build.narrowed(lambda step: operator.step([changes(step) for changes in nodes]), parts[0], relation.schema)


def _stateless_join(build: Builder, node: PhysicalJoin, stateless: int, columns: Schema) -> DeltaNode:
    """A join with tables, which keeps nothing of its other input."""
    changes, parts, store = _stateless_inputs(build, node, stateless)
    rows = StatelessInput(_core(build, node, columns, parts), stateless, store)
    tables = [part for number, part in enumerate(parts) if number != stateless]
    return lambda step: joined(rows, changes(step), [part.events(step) for part in tables])


def _stateless_semi_join(build: Builder, relation: PhysicalJoin, stateless: int) -> DeltaNode:
    changes, parts, store = _stateless_inputs(build, relation, stateless)
    core = _core(build, relation, (), parts)
    rows, table = StatelessInput(core, stateless, store), parts[1 - stateless]
    wants_match = relation.kind is JoinKind.SEMI
    if stateless == 0:
        return lambda step: shown(rows, changes(step), table.events(step), wants_match)
    operator = SemiJoinOperator(build.memory, build.name("semijoin"), core, wants_match)
    return lambda step: matched(rows, changes(step), table.events(step), operator)


def _stateless_inputs(
    build: Builder, node: PhysicalJoin, stateless: int
) -> tuple[DeltaNode, list[StoredRelation], RowStore]:
    """The changes of the stateless input, where each input's rows are, and the store of its rows for one step."""
    own = node.operands[stateless]
    # No operator has to find these rows again, so they are not among what is persisted.
    store = RowStore(Memory(), "stateless", row_width(len(own.schema)))
    changes: list[DeltaNode] = []
    parts = []
    for number, below in enumerate(node.operands):
        if number == stateless:
            changes.append(build.deltas(below))
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
    looked_up: Iterable[tuple[int, tuple[int, ...]]] = (),
) -> JoinCore:
    inputs = []
    variables = join_variables(join)
    for number, part in enumerate(parts):
        own = (variable[number] for variable in variables)
        positions = tuple(None if column is None else part.schema.index(column) for column in own)
        inputs.append(JoinInput(part.store, len(part.schema), positions))
    stored = tuple(column for part in parts for column in part.schema)
    residual = tuple(expr for expr in join.on if not _is_indexed(expr, variables))
    predicate = compile_predicate(residual, stored) if residual else None
    test = (lambda rows: predicate(rows, build.dictionary)) if predicate is not None else None
    shown = tuple(map(stored.index, columns))
    name = build.name("join")
    keys = [(rule.target, rule.variables) for rule in join.rules if isinstance(rule, ByKey)]
    core = partial(JoinCore, build.memory, name, tuple(inputs), test, shown)
    return core(insert_only=insert_only, looked_up=looked_up, keys=keys)


def _is_indexed(expr: Expr, variables: list[tuple[Column | None, ...]]) -> bool:
    """Whether an equality is between the columns by which two inputs are joined, so that the indexes see to it."""
    if not isinstance(expr, Compare) or expr.op is not Comparator.EQ:
        return False
    return any(expr.left in variable and expr.right in variable for variable in variables)
