"""Joins and semi-joins with tables, that keep nothing of their other input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.algebra.relations import Schema
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.operators.building.joins.core import build_core
from penstock.operators.building.nodes import BlockNode, DeltaNode, StoredRelation, at_once, in_one_block, no_events
from penstock.operators.joins.semi_join import SemiJoinOperator
from penstock.operators.joins.stateless_input import StatelessInput, joined, matched, shown
from penstock.synopsis.deltas import row_width
from penstock.synopsis.memory import Memory
from penstock.synopsis.store import RowStore

if TYPE_CHECKING:
    from penstock.operators.building.builder import Builder


def stateless_join(build: Builder, node: PhysicalJoin, stateless: int, columns: Schema) -> BlockNode:
    """A join with tables, which keeps nothing of its other input."""
    changes, parts, store = _stateless_inputs(build, node, stateless)
    rows = StatelessInput(build_core(build, node, columns, parts), stateless, store)
    tables = [part for number, part in enumerate(parts) if number != stateless]
    return lambda step: joined(rows, changes(step), [part.events(step) for part in tables])


def stateless_semi_join(build: Builder, relation: PhysicalJoin, stateless: int) -> BlockNode:
    changes, parts, store = _stateless_inputs(build, relation, stateless)
    core = build_core(build, relation, (), parts)
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
        parts.append(StoredRelation(own.schema, store, no_events) if number == stateless else build.events(below))
    build.purges_within_step = True
    return changes[0], parts, store
