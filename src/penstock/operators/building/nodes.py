"""What operators are built into: functions of a step, that give what changes in it.

What arrives, and events of stored rows, come at once; what an operator makes of them comes in blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TypeVar

from penstock.algebra.relations import Schema
from penstock.operators.blocks import Blocks, together
from penstock.operators.gauges import Gauge
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.events import Events
from penstock.synopsis.store import RowStore


@dataclass(frozen=True, slots=True)
class Step:
    """What one step is given: per leaf what arrived, and the first instant that is not closed."""

    inputs: dict[int, Deltas]
    until: int


DeltaNode = Callable[[Step], Deltas]
BlockNode = Callable[[Step], Blocks]
EventNode = Callable[[Step], Events]
StoreAndEvents = tuple[RowStore, EventNode]
Out = TypeVar("Out", Deltas, Events)


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """A relation with its rows stored. The store may have columns that only others read."""

    schema: Schema
    store: RowStore
    events: EventNode


def measured(node: Callable[[Step], Out], gauge: Gauge) -> Callable[[Step], Out]:
    """The node, whose rows its gauge counts, and whose time it measures."""

    def asked(step: Step) -> Out:
        began = perf_counter_ns()
        out = node(step)
        gauge.stepped(step.inputs, len(out), perf_counter_ns() - began)
        return out

    return asked


def measured_blocks(node: BlockNode, gauge: Gauge) -> BlockNode:
    """The node, whose rows its gauge counts, in all blocks of a step, and whose time it measures between them."""

    def asked(step: Step) -> Blocks:
        count = took = 0
        began = perf_counter_ns()
        for block in node(step):
            count += len(block)
            took += perf_counter_ns() - began
            yield block
            began = perf_counter_ns()
        gauge.stepped(step.inputs, count, took + perf_counter_ns() - began)

    return asked


def in_one_block(node: DeltaNode) -> BlockNode:
    """What comes at once, as a block."""
    return lambda step: iter((node(step),))


def at_once(node: BlockNode) -> DeltaNode:
    """All blocks of a step as one."""
    return lambda step: together(node(step))


def once(node: Callable[[Step], Out]) -> Callable[[Step], Out]:
    """The node, asked once in a step for all its readers."""
    last: list[tuple[Step, Out]] = []

    def asked(step: Step) -> Out:
        if not last or last[0][0] is not step:
            last[:] = [(step, node(step))]
        return last[0][1]

    return asked


def no_events(step: Step) -> Events:
    raise AssertionError("rows that are not kept have no events of their own")
