"""Joins and semi-joins whose rows end by closers of their own, computed inputs among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Relation, Schema
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.operators.blocks import Blocks
from penstock.operators.building.joins.core import build_core, grows
from penstock.operators.building.joins.purgeable_input import PurgeableInput
from penstock.operators.building.nodes import BlockNode, DeltaNode, Step, StoredRelation, measured
from penstock.operators.joins.ending_join import ForgettingStore, StoredRows
from penstock.operators.joins.mjoin import JoinCore, JoinOperator
from penstock.operators.joins.semi_join import SemiJoinOperator
from penstock.synopsis.events import Events
from penstock.synopsis.memory import Ints

if TYPE_CHECKING:
    from penstock.operators.building.builder import Builder
    from penstock.operators.groups.ending import Endings


def ending_join(build: Builder, node: PhysicalJoin, columns: Schema) -> BlockNode:
    """A join, some of whose inputs drop rows when these have ended."""
    inputs = _EndingInputs(build, node)
    core = build_core(build, node, columns, inputs.parts, insert_only=node is build.insert_only)
    return inputs.ending(core, JoinOperator(core).step)


def ending_semi_join(build: Builder, node: PhysicalJoin) -> BlockNode:
    """A semi- or anti-join, some of whose inputs drop rows when these have ended."""
    inputs = _EndingInputs(build, node)
    core = build_core(build, node, (), inputs.parts)
    wants_match = node.kind is JoinKind.SEMI
    operator = SemiJoinOperator(build.scope("semijoin"), core, wants_match, grows=grows(node))

    def semi_join(events: list[Events]) -> Blocks:
        yield from operator.step(events)
        # What left rows that leave had matched may be gone, so that nothing else takes their matches back.
        operator.forget(events[0].slots[events[0].signs < 0])

    return build.narrowed(inputs.ending(core, semi_join, operator.forget), inputs.parts[0], node.schema)


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
            own = PurgeableInput(self._build, operand)
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
