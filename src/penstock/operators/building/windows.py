"""Windows, and rows as they arrive: what the leaves of a fragment become."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING

from penstock.algebra.physical import Scan
from penstock.algebra.relations import PartitionRows
from penstock.operators.building.nodes import DeltaNode, Step, StoreAndEvents, StoredRelation, measured, once
from penstock.operators.windows.purgeable import purgeable_window
from penstock.operators.windows.reorder import Reorder
from penstock.operators.windows.stubs import SharedStores, SharedWindow
from penstock.operators.windows.windows import PartitionWindow, window_operator
from penstock.plan.sharing import SharedScan, same_rows
from penstock.retention.code_owners import RowCodeOwner
from penstock.retention.guards import Guards
from penstock.retention.windows import PurgeableWindow, WindowOperator
from penstock.synopsis.deltas import no_deltas, row_width
from penstock.synopsis.events import Events

if TYPE_CHECKING:
    from penstock.operators.building.builder import Builder


def build_arrivals(build: Builder, scan: Scan) -> DeltaNode:
    """The rows of a leaf as their instants are closed, without those that a guard rejects."""
    number = build.leaf(scan)
    own = [guard for guard in build.guards if guard.leaf == number]
    if not own:
        return lambda step: step.inputs[number]
    guards = Guards(build.scope("guards"), own, scan, build.dictionary)
    build.code_owners += guards.code_owners
    build.gauges.top.rejected.append(guards.violations)
    return lambda step: guards.step(step.inputs[number], step.inputs, step.until)


def build_window(build: Builder, scan: Scan) -> StoredRelation:
    """Windows that hold the same rows are one synopsis, for all who read them (thesis 2.3.1)."""
    route = build.routes[build.leaf(scan)]
    shared = None if build.shared is None else build.shared.sharing.of(scan)
    if build.shared is not None and shared is not None:
        store, events = _built_once(build, shared.contents, partial(_stub, build, shared, build.shared))
        return StoredRelation(shared.names(scan), store, events)
    return StoredRelation(scan.schema, *_built_once(build, same_rows(route), lambda: _new_window(build, scan)))


def _built_once(build: Builder, contents: Hashable, make: Callable[[], StoreAndEvents]) -> StoreAndEvents:
    if contents not in build.windows:
        store, events = make()
        build.windows[contents] = store, once(events)
    return build.windows[contents]


def _stub(build: Builder, shared: SharedScan, stores: SharedStores) -> StoreAndEvents:
    """A window that other queries read too. Its rows come through one leaf of one of them."""
    window = stores.window(shared, lambda: _shared_window(build, shared.stored))
    build.stores.append(window)
    stub = window.stub()
    through = next((number for number, leaf in enumerate(build.leaves) if leaf is shared.owner), None)
    nothing = no_deltas(len(shared.stored.schema))

    def step_stub(step: Step) -> Events:
        arrived = nothing if through is None else step.inputs[through]
        return stub.step(arrived if len(arrived) else nothing, step.until)

    return window.store, step_stub


def _shared_window(build: Builder, scan: Scan) -> SharedWindow:
    gauge, memory = build.gauges.top, build.scope("input")
    reorder = Reorder(memory, row_width(len(scan.schema)), counts=scan.counts)
    build.code_owners.append(RowCodeOwner(reorder.held_column, scan.schema))
    gauge.memory.remove(memory)
    gauge.in_flight_memory.append(memory)
    gauge.in_flight.append(reorder.__len__)
    return SharedWindow(reorder, build_operator(build, scan))


def _new_window(build: Builder, scan: Scan) -> StoreAndEvents:
    arrivals = build_arrivals(build, scan)
    number = build.leaf(scan)
    is_guarded = any(guard.leaf == number for guard in build.guards)
    window = build_operator(build, scan, counts=is_guarded or bool(build.routes[number].dimensions))
    build.stores.append(window.store)

    def step_window(step: Step) -> Events:
        return window.step(arrivals(step), step.until)

    return window.store, step_window


def build_operator(build: Builder, scan: Scan, *, counts: bool = False) -> WindowOperator:
    """A window; with `counts` it counts rows that it does not store, even if it has no filter."""
    columns = len(scan.schema)
    by = tuple(scan.schema.index(c) for c in scan.spec.by) if isinstance(scan.spec, PartitionRows) else ()
    counts = counts or bool(scan.where)
    window = window_operator(scan.spec, build.scope("window"), columns, row_width(columns), by, counts=counts)
    build.keeps(window.store, scan.schema)
    return window


def build_partitions(build: Builder, scan: Scan) -> PartitionWindow:
    """A partitioned window of one reader, who may forget partitions."""
    window = build_operator(build, scan)
    assert isinstance(window, PartitionWindow)
    build.stores.append(window.store)
    return window


def build_purgeable(build: Builder, scan: Scan) -> PurgeableWindow:
    """A window of one reader, who may forget its rows."""
    columns = len(scan.schema)
    window = purgeable_window(scan.spec, build.scope("window"), columns, row_width(columns))
    build.keeps(window.store, scan.schema)
    return window


def build_unordered(build: Builder, scan: Scan) -> DeltaNode:
    """A scan's rows as they arrive, for whom their order is all one."""
    with build.gauges.building(scan) as gauge:
        number = build.leaf(scan)

    return measured(lambda step: step.inputs[number], gauge)
