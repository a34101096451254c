"""Joins and semi-joins that purge: their windows, their purge, and what is admitted to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, cast

from penstock.algebra.relations import Schema
from penstock.closing.join_variables import is_monotone
from penstock.closing.monitors import Monitor, OfCluster, OfOrder, OfReference
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.operators.blocks import Blocks
from penstock.operators.building.joins.core import build_core, grows
from penstock.operators.building.joins.purgeable_input import PurgeableInput
from penstock.operators.building.nodes import BlockNode, Step, StoredRelation
from penstock.operators.joins.mjoin import JoinCore
from penstock.operators.joins.purging_join import CountedWindow, PurgingJoin, PurgingSemiJoin
from penstock.operators.joins.semi_join import SemiJoinOperator
from penstock.retention.admission import Admission
from penstock.retention.purge import Purge, purge_indexes
from penstock.retention.retained_join import RetainedJoin
from penstock.retention.spill import Spill
from penstock.retention.stamps import Stamps
from penstock.retention.windows import PurgeableWindow, RecallableWindow

if TYPE_CHECKING:
    from penstock.operators.building.builder import Builder


def purging_join(build: Builder, node: PhysicalJoin, columns: Schema) -> BlockNode:
    """A join that drops rows which no row to come can join."""
    inputs = {number: PurgeableInput(build, node.operands[number]) for number in node.forgets}
    parts = [
        inputs[number].stored if number in inputs else build.events(operand)
        for number, operand in enumerate(node.operands)
    ]
    insert_only = node is build.insert_only
    core = build_core(build, node, columns, parts, insert_only=insert_only, indexed=purge_indexes(node))
    windows = {number: own.window for number, own in inputs.items()}
    purge = _purge(build, node, core, windows, retracts=not insert_only and not is_monotone(node))
    # What a row joins may be on disk, or come later in no order of time: then all rows are admitted.
    admits_all = purge.spill is not None or build.comes_early
    admission = Admission(node, core, () if admits_all else tuple(windows))
    return _purging(build, PurgingJoin(core, windows, purge, admission), node, inputs, parts)


def purging_semi_join(build: Builder, node: PhysicalJoin) -> BlockNode:
    """A semi- or anti-join that drops rows of either side whose match is decided."""
    inputs = {number: PurgeableInput(build, operand) for number, operand in enumerate(node.operands)}
    parts = [own.stored for own in inputs.values()]
    core = build_core(build, node, (), parts, indexed=purge_indexes(node))
    wants_match = node.kind is JoinKind.SEMI
    semi_join = SemiJoinOperator(build.scope("semijoin"), core, wants_match, grows=grows(node))
    left, right = (cast(RecallableWindow, own.window) for own in inputs.values())
    windows = {0: CountedWindow(left, semi_join), 1: right}
    operator = PurgingSemiJoin(core, semi_join, windows, _purge(build, node, core, windows))
    return build.narrowed(_purging(build, operator, node, inputs, parts), parts[0], node.schema)


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
    gauge.waiting.append(purge.waiting.reports)
    return purge


def _purging(
    build: Builder,
    operator: PurgingJoin,
    node: PhysicalJoin,
    inputs: Mapping[int, PurgeableInput],
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
