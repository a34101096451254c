"""A machine: the operators of one fragment in one cell, stepped from instant to instant.

It is a pure state machine over its memory and its dictionary: what it remembers is there, and a machine that is built
over the same memory goes on where the other stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, cast

import numpy as np

from penstock.algebra.expressions import Column, Comparator, Compare, Expr
from penstock.algebra.relations import (
    Aggregate,
    AntiJoin,
    Distinct,
    Join,
    PartitionRows,
    Project,
    Relation,
    Schema,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    StreamKind,
    Table,
    Unbounded,
)
from penstock.kernels import counting
from penstock.operators.aggregate import AggregateOperator, AggregationSpec
from penstock.operators.bag import Bag
from penstock.operators.counting import FUNCTIONS, CountingOperator
from penstock.operators.ending import Endings
from penstock.operators.events import Events
from penstock.operators.gauges import Gauge, Gauges
from penstock.operators.join import JoinCore, JoinInput, JoinOperator, SemiJoinOperator
from penstock.operators.netting import deleted, inserted, netted
from penstock.operators.panes import PartialAggregates
from penstock.operators.purge import Purge, looked_up
from penstock.operators.reorder import Reorder
from penstock.operators.rstream import RelationStream
from penstock.operators.scalars import compile_predicate, compile_scalar
from penstock.operators.stubs import SharedStores, SharedWindow
from penstock.operators.sweep import Holder, RowsHolder
from penstock.operators.windows import ForgettingWindow, WindowOperator, window_operator
from penstock.plan.ends import Ending
from penstock.plan.fragments import Fragment, Plan
from penstock.plan.joins import is_monotone, join_variables
from penstock.plan.panes import Panes
from penstock.plan.physical import Keep, Received, Scan
from penstock.plan.rules import PurgingJoin
from penstock.plan.sharing import SharedScan, same_rows
from penstock.synopsis.deltas import Deltas, assemble, is_null, merged, no_deltas, row_width
from penstock.synopsis.dictionary import Dictionary, Marks
from penstock.synopsis.memory import Ints, Memory
from penstock.synopsis.store import RowStore
from penstock.types import Type


@dataclass(frozen=True, slots=True)
class Step:
    """What one step is given: per leaf what arrived, and the first instant that is not closed."""

    inputs: dict[int, Deltas]
    until: int


DeltaNode = Callable[[Step], Deltas]
EventNode = Callable[[Step], Events]
Projection = Callable[[Ints, Dictionary], Ints]
_StoreAndEvents = tuple[RowStore, EventNode]


@dataclass(frozen=True, slots=True)
class Stored:
    """A relation with its rows stored. The store may have columns that only others read."""

    schema: Schema
    store: RowStore
    events: EventNode


class Machine:
    """`stores`: what it has in common with the machines of other queries."""

    def __init__(
        self,
        plan: Plan,
        fragment: Fragment,
        memory: Memory,
        dictionary: Dictionary,
        stores: SharedStores | None = None,
    ) -> None:
        self.fragment = fragment
        self._memory = memory
        self.dictionary = dictionary
        self._last = fragment is plan.last
        self._kind = plan.kind
        #: Whether its changes are net as they are.
        self._is_net = plan.comes_once
        only_coming = self._last and plan.comes_once and plan.kind is StreamKind.ISTREAM
        coming = root_join(fragment.root) if only_coming else None
        self._builder = _Builder(fragment, memory, dictionary, coming, stores)
        self._root = self._builder.deltas(fragment.root)
        self._width = row_width(len(fragment.root.schema))
        self._rstream: RelationStream | None = None
        if self._last and plan.kind is StreamKind.RSTREAM:
            self._rstream = RelationStream(memory, "rstream", self._width)
            self._ticks = Reorder(memory, "ticks", row_width(0))
            self._builder.add_rstream(self._rstream.store, self._ticks, fragment.root.schema)
        memory.restored = False

    def step(self, inputs: Sequence[Deltas], until: int, arrivals: Ints | None = None) -> Deltas:
        """Takes what arrived at each leaf, in the order of the routes, and closes all instants before `until`.

        `arrivals` are the instants at which rows of any input stream arrived, for RSTREAM.
        """
        for gauge in self.gauges:
            gauge.begin()
        parts = slices(inputs, until) if self._builder.purges else [(inputs, until)]
        results = []
        for number, (part, end) in enumerate(parts):
            results.append(self._step(part, end, arrivals if number == 0 else None))
        return merged(results, len(self.fragment.root.schema))

    def _step(self, inputs: Sequence[Deltas], until: int, arrivals: Ints | None) -> Deltas:
        changes = self._root(Step(dict(enumerate(inputs)), until))
        result = self._finished(changes, until, arrivals) if self._last else changes
        self._builder.end_step()
        if self._rstream is not None:
            self._rstream.store.end_step()
        return result

    def mark(self, marks: Marks) -> None:
        """Marks the codes of all interned values that it remembers, between two steps."""
        for holder in self._builder.holders:
            holder.mark(marks)

    def violations(self) -> int:
        """Rows that were left out because a punctuation had ruled them out, since the start."""
        return sum(gauge.violations() for gauge in self.gauges)

    def state_rows(self) -> int:
        return sum(gauge.state_rows() for gauge in self.gauges)

    def state_bytes(self, gauge: Gauge | None = None) -> int:
        """Of one operator, or of all."""
        return self._memory.nbytes() if gauge is None else gauge.state_bytes(self._memory)

    @property
    def gauges(self) -> list[Gauge]:
        """What each operator did in the last step, and what it keeps."""
        return self._builder.gauges.all

    def _finished(self, changes: Deltas, until: int, arrivals: Ints | None) -> Deltas:
        net = changes if self._is_net else netted(changes)
        match self._kind:
            case StreamKind.ISTREAM:
                return inserted(net)
            case StreamKind.DSTREAM:
                return deleted(net)
            case StreamKind.RSTREAM:
                assert self._rstream is not None
                stamps = arrivals if arrivals is not None else np.zeros(0, np.int64)
                ticks = Deltas(stamps, np.ones(len(stamps), np.int64), np.zeros((len(stamps), row_width(0)), np.int64))
                due = self._ticks.step(ticks, until)
                return self._rstream.step(net, np.unique(due.ts))
        return net


class _Builder:
    """Makes the operators of a fragment, from the root down, each under a name of its own."""

    def __init__(
        self,
        fragment: Fragment,
        memory: Memory,
        dictionary: Dictionary,
        only_coming: Join | None,
        shared: SharedStores | None,
    ) -> None:
        self._memory = memory
        self._dictionary = dictionary
        self._routes = fragment.routes
        #: The join of whose results nobody wants to know when they go.
        self._only_coming = only_coming
        self._leaves = [route.leaf for route in fragment.routes]
        self._windows: dict[Hashable, _StoreAndEvents] = {}
        self._shared = shared
        self._number = 0
        self._stores: list[RowStore | SharedWindow] = []
        #: All that stores codes.
        self.holders: list[Holder] = []
        self.gauges = Gauges()
        self.purges: list[Purge] = []

    def end_step(self) -> None:
        for store in self._stores:
            store.end_step()

    def add_rstream(self, store: RowStore, ticks: Reorder, schema: Schema) -> None:
        """RSTREAM keeps the relation once more, at the root."""
        self.holders.append(RowsHolder(store.held_column, schema))
        root = self.gauges.all[0]
        root.arrays += ["rstream", "ticks"]
        root.counts += [store.__len__, ticks.__len__]

    def deltas(self, relation: Relation) -> DeltaNode:
        return self._built(relation, lambda: self._deltas(relation))

    def _built(self, relation: Relation, build: Callable[[], DeltaNode]) -> DeltaNode:
        is_inner = self.gauges.is_building(relation)
        with self.gauges.building(relation) as gauge:
            node = build()
        return node if is_inner else measured(node, gauge)

    def _deltas(self, relation: Relation) -> DeltaNode:
        match relation:
            case Scan(spec=Unbounded()):
                return self._arrivals(relation)
            case Scan():
                stored = self.events(relation)
                return self._narrowed(lambda step: stored.events(step).deltas(stored.store), stored, relation.schema)
            case Table() | Received():
                return self._received(relation)
            case Select(below, predicates):
                return self._select(self.deltas(below), predicates, below.schema)
            case Project(below, outputs):
                return self._project(below, tuple(o.expr for o in outputs))
            case Keep(below, columns):
                return self._project(below, columns)
            case Join():
                return self._join(relation, relation.schema)
            case SemiJoin() | AntiJoin():
                return self._semi_join(relation)
            case Aggregate():
                return self._aggregate(relation)[1]
            case Distinct(below):
                return self._counting(counting.DISTINCT, (below,))[1]
            case Ending():
                return self._ending(relation)
            case SetOp(SetOperator.UNION, True, left, right):
                return self._union_all(left, right)
            case SetOp(op, all_, left, right):
                return self._counting(FUNCTIONS[op, all_], (left, right))[1]
        raise AssertionError(f"no operator for {relation}")

    def events(self, relation: Relation) -> Stored:
        """The relation with its rows stored."""
        is_inner = self.gauges.is_building(relation)
        with self.gauges.building(relation) as gauge:
            stored = self._window(relation) if isinstance(relation, Scan) else self._bag(relation)
        return stored if is_inner else replace(stored, events=measured(stored.events, gauge))

    def _narrowed(self, node: DeltaNode, stored: Stored, schema: Schema) -> DeltaNode:
        """Rows of a store, without the columns that only others read."""
        if stored.schema == schema:
            return node
        project = projection(schema, stored.schema)

        def narrow(step: Step) -> Deltas:
            deltas = node(step)
            return Deltas(deltas.ts, deltas.weight, project(deltas.rows, self._dictionary))

        return narrow

    def _bag(self, relation: Relation) -> Stored:
        deltas = self.deltas(relation)
        bag = Bag(self._memory, self._name("bag"), row_width(len(relation.schema)))
        self._keeps(bag.store, relation.schema)
        self._stores.append(bag.store)
        return Stored(relation.schema, bag.store, lambda step: bag.step(deltas(step)))

    def _name(self, what: str) -> str:
        self._number += 1
        name = f"{what}{self._number}"
        self.gauges.top.arrays.append(name)
        return name

    def _keeps(self, store: RowStore, schema: Schema) -> None:
        self.holders.append(RowsHolder(store.held_column, schema))
        self.gauges.top.counts.append(store.__len__)

    def _leaf(self, relation: Relation) -> int:
        number = next(i for i, leaf in enumerate(self._leaves) if leaf is relation)
        self.gauges.top.leaf = number
        return number

    def _arrivals(self, scan: Scan) -> DeltaNode:
        number = self._leaf(scan)
        reorder = self._reorder(scan)
        return lambda step: reorder.step(step.inputs[number], step.until)

    def _reorder(self, scan: Scan) -> Reorder:
        reorder = Reorder(self._memory, self._name("input"), row_width(len(scan.schema)))
        self.holders.append(RowsHolder(reorder.held_column, scan.schema))
        self.gauges.top.counts.append(reorder.__len__)
        return reorder

    def _window(self, scan: Scan) -> Stored:
        """Windows that hold the same rows are one synopsis, for all who read them (thesis 2.3.1)."""
        route = self._routes[self._leaf(scan)]
        shared = None if self._shared is None else self._shared.sharing.of(scan)
        if self._shared is not None and shared is not None:
            store, events = self._built_once(shared.contents, partial(self._stub, shared, self._shared))
            return Stored(shared.names(scan), store, events)
        return Stored(scan.schema, *self._built_once(same_rows(route), lambda: self._new_window(scan)))

    def _built_once(self, contents: Hashable, build: Callable[[], _StoreAndEvents]) -> _StoreAndEvents:
        if contents not in self._windows:
            store, events = build()
            self._windows[contents] = store, once(events)
        return self._windows[contents]

    def _stub(self, shared: SharedScan, stores: SharedStores) -> _StoreAndEvents:
        """A window that other queries read too. Its rows come through one leaf of one of them."""
        window = stores.window(shared, lambda: self._shared_window(shared.stored))
        self._stores.append(window)
        stub = window.stub()
        through = next((number for number, leaf in enumerate(self._leaves) if leaf is shared.owner), None)
        nothing = no_deltas(len(shared.stored.schema))

        def step_stub(step: Step) -> Events:
            arrived = nothing if through is None else step.inputs[through]
            return stub.step(arrived if len(arrived) else nothing, step.until)

        return window.store, step_stub

    def _shared_window(self, scan: Scan) -> SharedWindow:
        return SharedWindow(self._reorder(scan), self._operator(scan))

    def _new_window(self, scan: Scan) -> _StoreAndEvents:
        window, events = self._own_window(scan)
        return window.store, events

    def _own_window(self, scan: Scan) -> tuple[WindowOperator, EventNode]:
        arrivals = self._arrivals(scan)
        window = self._operator(scan)
        self._stores.append(window.store)

        def step_window(step: Step) -> Events:
            rows = arrivals(step)
            return window.step(rows.ts, rows.rows, step.until)

        return window, step_window

    def _operator(self, scan: Scan) -> WindowOperator:
        columns = len(scan.schema)
        by = tuple(scan.schema.index(c) for c in scan.spec.by) if isinstance(scan.spec, PartitionRows) else ()
        window = window_operator(scan.spec, self._memory, self._name("window"), columns, row_width(columns), by)
        self._keeps(window.store, scan.schema)
        return window

    def _received(self, leaf: Relation) -> DeltaNode:
        number = self._leaf(leaf)
        return lambda step: step.inputs[number].in_order()

    def _select(self, below: DeltaNode, predicates: tuple[Expr, ...], schema: Schema) -> DeltaNode:
        test = compile_predicate(predicates, schema)

        def select(step: Step) -> Deltas:
            deltas = below(step)
            return deltas.take(test(deltas.rows, self._dictionary)) if len(deltas) else deltas

        return select

    def _project(self, below: Relation, exprs: tuple[Expr, ...]) -> DeltaNode:
        """Rows of these expressions. A join makes its results of plain columns at once."""
        columns = tuple(expr for expr in exprs if isinstance(expr, Column))
        if isinstance(below, Join) and len(columns) == len(exprs):
            return self._built(below, lambda: self._join(below, columns))
        node, project = self.deltas(below), projection(exprs, below.schema)

        def step_project(step: Step) -> Deltas:
            deltas = node(step)
            return Deltas(deltas.ts, deltas.weight, project(deltas.rows, self._dictionary))

        return step_project

    def _join(self, join: Join, columns: Schema) -> DeltaNode:
        """The join's results, of these columns."""
        if isinstance(join, PurgingJoin):
            return self._purging_join(join, columns)
        parts = [self.events(operand) for operand in join.operands]
        core = self._core(join, columns, parts, only_coming=join is self._only_coming)
        operator = JoinOperator(core)
        return lambda step: operator.step([part.events(step) for part in parts])

    def _purging_join(self, node: PurgingJoin, columns: Schema) -> DeltaNode:
        windows: dict[int, ForgettingWindow] = {}
        parts = []
        for number, operand in enumerate(node.operands):
            if number in node.forgets:
                windows[number], events = self._forgetting_window(operand)
                parts.append(Stored(operand.schema, windows[number].store, events))
            else:
                parts.append(self.events(operand))
        only_coming = node is self._only_coming
        core = self._core(node, columns, parts, only_coming=only_coming, looked_up=looked_up(node))
        evidence = [self.deltas(scan) for scan in node.evidence]
        purge = Purge(self._memory, self._name("purge"), node, core, windows, not only_coming and not is_monotone(node))
        self.holders += purge.holders
        self.purges.append(purge)
        self.gauges.top.counts.append(purge.__len__)
        self.gauges.top.ruled_out.append(purge.violations)

        def join(step: Step) -> Deltas:
            came = [part.events(step) for part in parts]
            allowed = purge.learn([rows(step) for rows in evidence], came, step.until)
            found, times, signs, rows = core.step(allowed)
            purge.step(came, found)
            return Deltas(times, signs, rows).in_order()

        return join

    def _forgetting_window(self, scan: Relation) -> tuple[ForgettingWindow, EventNode]:
        """A window of one reader, who may forget its rows."""
        assert isinstance(scan, Scan)
        with self.gauges.building(scan) as gauge:
            window, events = self._own_window(scan)
        return cast(ForgettingWindow, window), measured(events, gauge)

    def _semi_join(self, relation: SemiJoin | AntiJoin) -> DeltaNode:
        sides = (relation.left, relation.right)
        parts = [self.events(side) for side in sides]
        core = self._core(Join(sides, relation.on), (), parts)
        wants_match = isinstance(relation, SemiJoin)
        operator = SemiJoinOperator(self._memory, self._name("semijoin"), core, wants_match)

        def semi_join(step: Step) -> Deltas:
            return operator.step([part.events(step) for part in parts])

        return self._narrowed(semi_join, parts[0], relation.left.schema)

    def _core(
        self,
        join: Join,
        columns: Schema,
        parts: Sequence[Stored],
        *,
        only_coming: bool = False,
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
        test = (lambda rows: predicate(rows, self._dictionary)) if predicate is not None else None
        shown = tuple(map(stored.index, columns))
        name = self._name("join")
        return JoinCore(self._memory, name, tuple(inputs), test, shown, only_coming=only_coming, looked_up=looked_up)

    def _ending(self, node: Ending) -> DeltaNode:
        """Groups of which nothing is kept once they have ended."""
        with self.gauges.building(node.input) as gauge:
            operator, groups = self._grouping(node.input)
        purge = next((purge for purge in self.purges if purge.node is node.input.input), None)
        groups = measured(groups, gauge)
        evidence = [self.deltas(scan) for scan in node.evidence]
        keys = len(node.input.keys) if isinstance(node.input, Aggregate) else len(node.schema)
        endings = Endings(self._memory, self._name("endings"), node, keys, self._dictionary)
        self.holders += endings.holders
        self.gauges.top.counts.append(endings.__len__)

        def step_groups(step: Step) -> Deltas:
            out = groups(step)
            endings.learn([rows(step) for rows in evidence], purge.ended if purge is not None else {})
            endings.step(step.until, operator.state_rows, operator.forget)
            return out

        return step_groups

    def _grouping(self, relation: Aggregate | Distinct) -> tuple[AggregateOperator | CountingOperator, DeltaNode]:
        if isinstance(relation, Distinct):
            return self._counting(counting.DISTINCT, (relation.input,))
        return self._aggregate(relation)

    def _aggregate(self, relation: Aggregate) -> tuple[AggregateOperator, DeltaNode]:
        arguments = tuple(a.argument for a in relation.aggregations if a.argument is not None)
        keys = tuple(key.expr for key in relation.keys)
        specs = tuple(
            AggregationSpec(a.function, None if a.argument is None else a.argument.type, a.distinct)
            for a in relation.aggregations
        )
        key_types = tuple(key.type for key in keys)
        if isinstance(relation.input, Panes):
            project = projection(keys + arguments, relation.input.schema)
            return self._pane_aggregate(relation.input, project, key_types, specs)
        below = self._project(relation.input, keys + arguments)
        grows = is_monotone(relation.input)
        operator = AggregateOperator(self._memory, self._name("aggregate"), key_types, specs, self._dictionary, grows)
        self._holds(operator)
        return operator, lambda step: operator.step([below(step)], step.until)

    def _pane_aggregate(
        self, panes: Panes, project: Projection, key_types: tuple[Type, ...], specs: tuple[AggregationSpec, ...]
    ) -> tuple[AggregateOperator, DeltaNode]:
        with self.gauges.building(panes) as gauge:
            rows = self._unordered(panes.scan)
            partials = PartialAggregates(
                self._memory, self._name("panes"), panes.window, key_types, specs, self._dictionary
            )
            self._holds(partials)
        name = self._name("aggregate")
        operator = AggregateOperator(self._memory, name, key_types, specs, self._dictionary, shape=partials.shape)
        self._holds(operator)

        def aggregate(step: Step) -> Deltas:
            came = rows(step)
            due = partials.step(came.ts, project(came.rows, self._dictionary), step.until)
            gauge.stepped(step.inputs, len(due))
            out = operator.step([due], step.until, partials.spilt)
            partials.forget()
            return out

        return operator, aggregate

    def _unordered(self, scan: Scan) -> DeltaNode:
        """A scan's rows as they arrive, for whom their order is all one."""
        with self.gauges.building(scan) as gauge:
            number = self._leaf(scan)

        return measured(lambda step: step.inputs[number], gauge)

    def _holds(self, operator: AggregateOperator | PartialAggregates) -> None:
        self.holders.append(operator)
        self.gauges.top.counts.append(operator.state_rows)

    def _counting(self, function: int, sides: tuple[Relation, ...]) -> tuple[CountingOperator, DeltaNode]:
        nodes = [self.deltas(side) for side in sides]
        width = row_width(len(sides[0].schema))
        operator = CountingOperator(self._memory, self._name("count"), width, function)
        self.holders.append(RowsHolder(operator.held_column, sides[0].schema))
        self.gauges.top.counts.append(operator.state_rows)
        return operator, lambda step: operator.step([node(step) for node in nodes])

    def _union_all(self, left: Relation, right: Relation) -> DeltaNode:
        nodes = [self.deltas(left), self.deltas(right)]
        return lambda step: merged([node(step) for node in nodes], len(left.schema))


#: Rows in a part of a step, where rows are forgotten within it.
SLICE = 1 << 13


def slices(inputs: Sequence[Deltas], until: int) -> list[tuple[Sequence[Deltas], int]]:
    """A step in parts, each up to an instant, so that rows which can go soon are not all there at once."""
    count = sum(map(len, inputs)) // SLICE
    if not count:
        return [(inputs, until)]
    ordered = [deltas.in_order() for deltas in inputs]
    times = np.sort(np.concatenate([deltas.ts for deltas in ordered]))
    cuts = np.unique(times[SLICE * np.arange(1, count + 1) - 1] + 1)
    ends = [*cuts[cuts < until].tolist(), until]
    parts: list[tuple[Sequence[Deltas], int]] = []
    starts = [0] * len(ordered)
    for end in ends:
        stops = [
            len(deltas) if end == until else int(np.searchsorted(deltas.ts, end, side="left")) for deltas in ordered
        ]
        part = [deltas.take(slice(*range_)) for deltas, *range_ in zip(ordered, starts, stops, strict=True)]
        parts.append((part, end))
        starts = stops
    return parts


Out = TypeVar("Out", Deltas, Events)


def measured(node: Callable[[Step], Out], gauge: Gauge) -> Callable[[Step], Out]:
    """The node, whose rows its gauge counts."""

    def asked(step: Step) -> Out:
        out = node(step)
        gauge.stepped(step.inputs, len(out))
        return out

    return asked


def root_join(root: Relation) -> Join | None:
    """The join whose results are those of a fragment, but for what is done to each by itself."""
    match root:
        case Join():
            return root
        case Select(below) | Project(below) | Keep(below):
            return root_join(below)
    return None


def once(node: EventNode) -> EventNode:
    """The node, asked once in a step for all who read it."""
    last: list[tuple[Step, Events]] = []

    def asked(step: Step) -> Events:
        if not last or last[0][0] is not step:
            last[:] = [(step, node(step))]
        return last[0][1]

    return asked


def _is_indexed(expr: Expr, variables: list[tuple[Column | None, ...]]) -> bool:
    """Whether an equality is between the columns by which two inputs are joined, so that the indexes see to it."""
    if not isinstance(expr, Compare) or expr.op is not Comparator.EQ:
        return False
    return any(expr.left in variable and expr.right in variable for variable in variables)


def projection(exprs: tuple[Expr, ...], schema: Schema) -> Projection:
    """Rows of these expressions. Plain columns are copied, without a look at what they hold."""
    width = len(schema)
    compiled = [schema.index(expr) if isinstance(expr, Column) else compile_scalar(expr, schema) for expr in exprs]

    def project(rows: Ints, dictionary: Dictionary) -> Ints:
        parts = [
            (rows[:, part], is_null(rows, part, width)) if isinstance(part, int) else part(rows, dictionary)
            for part in compiled
        ]
        return assemble(parts, len(rows))

    return project
