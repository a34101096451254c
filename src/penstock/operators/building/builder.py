"""The builder: an operator for each node of a fragment, from the root down."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from penstock.algebra.bucket_counts import BucketCounts, CertifiedGroups, FallenBack
from penstock.algebra.expressions import Column, Expr
from penstock.algebra.link_monitor import LinkMonitor
from penstock.algebra.physical import Keep, Received, Scan
from penstock.algebra.pipelined_filters import PipelinedFilters
from penstock.algebra.relations import (
    Aggregate,
    Distinct,
    Project,
    Range,
    Relation,
    Repeat,
    Schema,
    Select,
    SetOp,
    SetOperator,
    Table,
    Unbounded,
)
from penstock.closing.group_closers import Closers, GroupEnding
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.kernels import counting
from penstock.operators.bag import Bag
from penstock.operators.blocks import Blocks, in_step, whole_instants
from penstock.operators.building.filters import build_filtered_window, build_filters
from penstock.operators.building.groups import (
    build_aggregate,
    build_bucket_counts,
    build_certified_groups,
    build_counting,
    build_ending,
    build_fall_back,
    build_link_monitor,
)
from penstock.operators.building.joins import build_join, build_semi_join
from penstock.operators.building.nodes import (
    BlockNode,
    DeltaNode,
    Step,
    StoreAndEvents,
    StoredRelation,
    at_once,
    in_one_block,
    measured,
    measured_blocks,
)
from penstock.operators.building.windows import build_arrivals, build_window
from penstock.operators.filters.columns import RowColumns
from penstock.operators.filters.filters import Filters, Tuning
from penstock.operators.filters.pipelined import PipelinedFiltersOperator
from penstock.operators.gauges import Gauge, Gauges
from penstock.operators.groups.counting import FUNCTIONS
from penstock.operators.groups.ending import NOT_JOINED, Endings, Joined
from penstock.operators.inputs import InputBuffer
from penstock.operators.joins.mjoin import JoinCore
from penstock.operators.projection import Projection, projection
from penstock.operators.windows.stubs import SharedStores, SharedWindow
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Fragment
from penstock.retention.code_owners import CodeOwner, RowCodeOwner
from penstock.retention.purge import Purge
from penstock.synopsis.deltas import Bools, Deltas, merged, row_width
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.events import Events, one_after_the_other
from penstock.synopsis.memory import Ints, Memory, Scope
from penstock.synopsis.store import RowStore

#: Which rows pass predicates, and which they do not drop, and whether that is the same.
_RowTests = tuple[Callable[[Ints], Bools], Callable[[Ints], tuple[Bools, bool]]]


class Builder:
    """Makes the operators of a fragment, from the root down, each with memory of its own."""

    def __init__(
        self,
        fragment: Fragment,
        memory: Memory,
        dictionary: Dictionary,
        insert_only: PhysicalJoin | None,
        shared: SharedStores | None,
        forgetting: Forgetting = EAGER,
        spill: Path | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        #: What orders the filters as rows come.
        self.tuning = tuning
        self.memory = memory
        self.dictionary = dictionary
        self.forgetting = forgetting
        #: The folder for rows that are put on disk.
        self.spill = spill
        self.routes, self.shares = fragment.routes, fragment.shares
        #: Whether rows are taken in no order of time.
        self.comes_early = fragment.comes_early
        #: The join whose results are only inserted: no reader needs to know when they are deleted.
        self.insert_only = insert_only
        self.leaves = [route.leaf for route in fragment.routes]
        self.guards = fragment.guards
        #: The operators that read leaves, by the numbers of these.
        self._leaf_gauges: dict[int, Gauge] = {}
        self.windows: dict[Hashable, StoreAndEvents] = {}
        self.shared = shared
        self._number = 0
        self.stores: list[RowStore | SharedWindow] = []
        #: All that stores codes.
        self.code_owners: list[CodeOwner] = []
        self.gauges = Gauges()
        #: All joins, whose probe paths may be replaced between two steps.
        self.joins: list[JoinCore] = []
        #: What gives joins other tuners.
        self.retuning: list[Callable[[Tuning], None]] = []
        #: All filters that have an order, which may be replaced between two steps.
        self.pipelined_filters: list[PipelinedFiltersOperator] = []
        self.purges: list[Purge] = []
        #: Whether something else forgets rows within a step.
        self.purges_within_step = False

    def end_step(self) -> None:
        for store in self.stores:
            store.end_step()

    def add_rstream(self, store: RowStore, schema: Schema) -> None:
        """RSTREAM keeps the relation once more, at the root."""
        self.code_owners.append(RowCodeOwner(store.held_column, schema))
        root = self.gauges.all[0]
        root.memory.append(self.memory.scope("rstream"))
        root.counts.append(store.__len__)
        root.in_flight_memory.append(self.memory.scope("ticks"))  # instants, not rows

    def add_in_flight(self, buffer: InputBuffer) -> None:
        """Counts the rows in flight of an input at the operator that reads them first."""
        self.code_owners += buffer.code_owners
        gauge = self._leaf_gauges.get(buffer.leaf, self.gauges.all[0])
        gauge.in_flight_memory.append(buffer.memory)
        gauge.in_flight.append(buffer.__len__)

    def deltas(self, relation: Relation) -> BlockNode:
        return self.built(relation, lambda: self._deltas(relation))

    def rows(self, scan: Relation) -> DeltaNode:
        """What arrives of a stream that is read for what its rows say of others."""
        return at_once(self.deltas(scan))

    def built(self, relation: Relation, build: Callable[[], BlockNode]) -> BlockNode:
        is_inner = self.gauges.is_building(relation)
        with self.gauges.building(relation) as gauge:
            node = build()
        return node if is_inner else measured_blocks(node, gauge)

    def _deltas(self, relation: Relation) -> BlockNode:
        match relation:
            case Scan(spec=Unbounded()):
                return in_one_block(build_arrivals(self, relation))
            case Scan():
                stored = self.events(relation)
                return self.narrowed(
                    in_one_block(lambda step: stored.events(step).deltas(stored.store)), stored, relation.schema
                )
            case Table() | Received():
                return self._received(relation)
            case Select(below, predicates):
                return self._select(self.deltas(below), predicates, below.schema)
            case Project(below, outputs):
                return self.project(below, tuple(o.expr for o in outputs))
            case Keep(below, columns):
                return self.project(below, columns)
            case Repeat(below, times):
                return self._repeat(self.deltas(below), below.schema.index(times))
            case PhysicalJoin(JoinKind.JOIN):
                return build_join(self, relation, relation.schema)
            case PhysicalJoin():
                return build_semi_join(self, relation)
            case PipelinedFilters(window=None):
                return build_filters(self, relation)
            case PipelinedFilters():
                passing = self.events(relation)
                return in_one_block(lambda step: passing.events(step).deltas(passing.store))
            case Aggregate():
                return build_aggregate(self, relation)[1]
            case Distinct(below):
                return build_counting(self, counting.DISTINCT, (below,))[1]
            case GroupEnding():
                return build_ending(self, relation)
            case BucketCounts():
                return build_bucket_counts(self, relation)
            case CertifiedGroups():
                return build_certified_groups(self, relation)
            case FallenBack():
                return build_fall_back(self, relation)
            case LinkMonitor():
                return build_link_monitor(self, relation)
            case SetOp(SetOperator.UNION, True, left, right):
                return self._union_all(left, right)
            case SetOp(op, all_, left, right):
                return build_counting(self, FUNCTIONS[op, all_], (left, right))[1]
        raise AssertionError(f"no operator for {relation}")

    def events(self, relation: Relation) -> StoredRelation:
        """The relation with its rows stored."""
        is_inner = self.gauges.is_building(relation)
        with self.gauges.building(relation) as gauge:
            stored = self._stored(relation)
        return stored if is_inner else replace(stored, events=measured(stored.events, gauge))

    def _stored(self, relation: Relation) -> StoredRelation:
        match relation:
            case Scan():
                return build_window(self, relation)
            case PipelinedFilters(window=Range()):
                return build_filtered_window(self, relation)
        return self.bag(relation)[0]

    def narrowed(self, node: BlockNode, stored: StoredRelation, schema: Schema) -> BlockNode:
        """Rows of a store, without the columns that only others read."""
        return self.only(node, stored.schema, schema)

    def _projected(self, node: BlockNode, project: Projection) -> BlockNode:
        def step_project(step: Step) -> Blocks:
            for deltas in node(step):
                yield Deltas(deltas.ts, deltas.weight, project(deltas.rows, self.dictionary))

        return step_project

    def endings(self, closers: Closers, keys: Schema, joined: Joined = NOT_JOINED, *, emits: bool = False) -> Endings:
        """What drops entries that have ended."""
        endings = Endings(self.scope("endings"), closers, keys, self.dictionary, joined=joined, emits=emits)
        self.code_owners += endings.code_owners
        self.gauges.top.counts.append(endings.__len__)
        return endings

    def bag(self, relation: Relation) -> tuple[StoredRelation, Bag]:
        """A relation that is computed, with its rows stored."""
        deltas = self.deltas(relation)
        bag = Bag(self.scope("bag"), row_width(len(relation.schema)))
        self.keeps(bag.store, relation.schema)
        self.stores.append(bag.store)

        def step_bag(step: Step) -> Events:
            return one_after_the_other([bag.step(block) for block in whole_instants(deltas(step))])

        return StoredRelation(relation.schema, bag.store, step_bag), bag

    def scope(self, what: str) -> Scope:
        """Memory for the operator that is being built."""
        self._number += 1
        scope = self.memory.scope(what, self._number)
        self.gauges.top.memory.append(scope)
        return scope

    def keeps(self, store: RowStore, schema: Schema) -> None:
        self.code_owners.append(RowCodeOwner(store.held_column, schema))
        self.gauges.top.counts.append(store.__len__)

    def leaf(self, relation: Relation) -> int:
        number = next(i for i, leaf in enumerate(self.leaves) if leaf is relation)
        self.gauges.top.leaf = number
        self._leaf_gauges[number] = self.gauges.top
        return number

    def _received(self, leaf: Relation) -> BlockNode:
        number = self.leaf(leaf)
        return in_one_block(lambda step: step.inputs[number].in_order())

    def _select(self, below: BlockNode, predicates: tuple[Expr, ...], schema: Schema) -> BlockNode:
        passing = self.filters(predicates, schema)

        def select(step: Step) -> Blocks:
            for deltas in below(step):
                yield deltas.take(passing(deltas.rows)) if len(deltas) else deltas

        return select

    def _repeat(self, below: BlockNode, column: int) -> BlockNode:
        def repeat(step: Step) -> Blocks:
            for deltas in below(step):
                yield deltas.take(np.repeat(np.arange(len(deltas)), deltas.rows[:, column])) if len(deltas) else deltas

        return repeat

    def filters(
        self, predicates: tuple[Expr, ...], schema: Schema, *, repeats: bool = False
    ) -> Callable[[Ints], Bools]:
        """What tells which rows of a schema pass predicates of the operator that is being built; its gauge counts.

        `repeats`: whether the same values are expected again and again.
        """
        return self._tested(self.gauges.top, predicates, schema, repeats=repeats)[0]

    def residual_filters(self) -> Callable[[tuple[Expr, ...], Schema], _RowTests]:
        """What makes tests of predicates of the join that is being built, at any time: which rows pass, and which are
        not dropped. The same values are expected again and again.
        """
        return partial(self._tested, self.gauges.top, repeats=True)

    def _tested(self, gauge: Gauge, predicates: tuple[Expr, ...], schema: Schema, *, repeats: bool) -> _RowTests:
        name = f"{gauge.name}.{len(gauge.filters)}"
        memory = self.tuning.outcome_memory if repeats and self.tuning is not None else 0
        found = Filters(predicates, schema, self.tuning, name, gauge.function_errors, memory)
        gauge.filters.append(found)
        count = len(schema)
        return (
            lambda rows: found.passing(RowColumns(rows, count), self.dictionary),
            lambda rows: found.undropped(RowColumns(rows, count), self.dictionary),
        )

    def only(self, node: BlockNode, schema: Schema, columns: Schema) -> BlockNode:
        """Just these columns of rows of a schema."""
        return node if columns == schema else self._projected(node, projection(columns, schema))

    def project(self, below: Relation, exprs: tuple[Expr, ...]) -> BlockNode:
        """Rows of these expressions. A join makes its results of plain columns at once."""
        columns = tuple(expr for expr in exprs if isinstance(expr, Column))
        if isinstance(below, PhysicalJoin) and below.kind is JoinKind.JOIN and len(columns) == len(exprs):
            return self.built(below, lambda: build_join(self, below, columns))
        project = projection(exprs, below.schema, self.gauges.top.function_errors)
        return self._projected(self.deltas(below), project)

    def _union_all(self, left: Relation, right: Relation) -> BlockNode:
        nodes = [self.deltas(left), self.deltas(right)]

        def union(step: Step) -> Blocks:
            for blocks in in_step([node(step) for node in nodes]):
                yield merged(blocks, len(left.schema))

        return union
