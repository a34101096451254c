"""Joins, with what lets them forget, and semi-joins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from penstock.algebra.expressions import Column, Comparator, Compare, Expr
from penstock.algebra.relations import AntiJoin, Join, Relation, Schema, SemiJoin
from penstock.operators.building.nodes import DeltaNode, Step, Stored
from penstock.operators.building.windows import build_arrivals, build_operator
from penstock.operators.doors import Doors
from penstock.operators.events import Events
from penstock.operators.join import JoinCore, JoinInput, JoinOperator, SemiJoinOperator
from penstock.operators.purge import Purge, looked_up, rows_of
from penstock.operators.scalars import compile_predicate
from penstock.operators.windows import ForgettingWindow
from penstock.plan.joins import is_monotone, join_variables
from penstock.plan.physical import Scan
from penstock.plan.rules import PurgingAntiJoin, PurgingJoin, PurgingSemiJoin
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.memory import Ints

if TYPE_CHECKING:
    from penstock.operators.building.builder import Builder


def build_join(build: Builder, join: Join, columns: Schema) -> DeltaNode:
    """The join's results, of these columns."""
    if isinstance(join, PurgingJoin):
        return _purging_join(build, join, columns)
    parts = [build.events(operand) for operand in join.operands]
    core = _core(build, join, columns, parts, only_coming=join is build.only_coming)
    operator = JoinOperator(core)
    return lambda step: operator.step([part.events(step) for part in parts])


def _purging_join(build: Builder, node: PurgingJoin, columns: Schema) -> DeltaNode:
    windows = {number: _ForgettingInput(build, node.operands[number]) for number in node.forgets}
    parts = [
        windows[number].stored if number in windows else build.events(operand)
        for number, operand in enumerate(node.operands)
    ]
    only_coming = node is build.only_coming
    core = _core(build, node, columns, parts, only_coming=only_coming, looked_up=looked_up(node))
    evidence = [build.deltas(scan) for scan in node.evidence]
    forgetting = {number: own.window for number, own in windows.items()}
    retracts = not only_coming and not is_monotone(node)
    purge = Purge(build.memory, build.name("purge"), node, core, forgetting, retracts, build.forgetting)
    doors = Doors(node, core, forgetting)
    build.holders += purge.holders
    build.purges.append(purge)
    build.gauges.top.counts.append(purge.__len__)
    build.gauges.top.ruled_out.append(purge.violations)
    build.gauges.top.given_up.append(purge.given_up)

    def join(step: Step) -> Deltas:
        purge.learn([rows(step) for rows in evidence], step.until)
        came, entered = {}, {}
        for number in doors.order:
            if number in windows:
                came[number] = windows[number].step(step, partial(doors.let_in, number))
            else:
                came[number] = parts[number].events(step)
            entered[number] = core.enter(number, purge.allowed(number, came[number]))
        events = [entered[number] for number in range(len(parts))]
        purge.wake(events)
        found, times, signs, rows = core.step(events)
        results = Deltas(times, signs, rows).take(purge.in_time(found, times))
        purge.step([came[number] for number in range(len(parts))], found)
        return results.in_order()

    return join


class _ForgettingInput:
    """A window of one reader, who may forget its rows, or not let them in."""

    def __init__(self, build: Builder, scan: Relation) -> None:
        assert isinstance(scan, Scan)
        with build.gauges.building(scan) as self._gauge:
            self._arrivals = build_arrivals(build, scan)
            self.window = cast(ForgettingWindow, build_operator(build, scan))
            build.stores.append(self.window.store)
        self.stored = Stored(scan.schema, self.window.store, lambda step: self.step(step, lambda came: came))

    def step(self, step: Step, let_in: Callable[[Deltas], Deltas]) -> Events:
        came = let_in(self._arrivals(step))
        events = self.window.step(came.ts, came.rows, step.until)
        self._gauge.stepped(step.inputs, len(events))
        return events


class _Settled:
    """The left window of a semi-join: a row that it forgets is counted no more."""

    def __init__(self, window: ForgettingWindow, operator: SemiJoinOperator) -> None:
        self.store, self.step = window.store, window.step
        self._window, self._operator = window, operator

    def forget(self, slots: Ints) -> None:
        self._operator.forget(slots)
        self._window.forget(slots)


def _purging_semi_join(build: Builder, relation: PurgingSemiJoin | PurgingAntiJoin) -> DeltaNode:
    """Rows of both sides go when they match nothing new, and a left row as soon as it has a match, which it keeps."""
    node = relation.join
    windows = [_ForgettingInput(build, operand) for operand in node.operands]
    core = _core(build, node, (), [own.stored for own in windows], looked_up=looked_up(node))
    evidence = [build.deltas(scan) for scan in node.evidence]
    wants_match = isinstance(relation, SemiJoin)
    operator = SemiJoinOperator(build.memory, build.name("semijoin"), core, wants_match)
    forgetting = {0: _Settled(windows[0].window, operator), 1: windows[1].window}
    purge = Purge(build.memory, build.name("purge"), node, core, forgetting, False, build.forgetting)
    build.holders += purge.holders
    build.purges.append(purge)
    build.gauges.top.counts.append(purge.__len__)
    build.gauges.top.ruled_out.append(purge.violations)
    build.gauges.top.given_up.append(purge.given_up)

    def semi_join(step: Step) -> Deltas:
        purge.learn([rows(step) for rows in evidence], step.until)
        came = [own.step(step, lambda rows: rows) for own in windows]
        allowed = [purge.allowed(number, events) for number, events in enumerate(came)]
        entered = [core.enter(number, events) for number, events in enumerate(allowed)]
        purge.wake(entered)
        shown, matches = operator.matched(allowed[0], entered, purge.in_time)
        purge.step(came, matches, done_with=rows_of(0, matches[:, 0]))
        return shown

    return build.narrowed(semi_join, windows[0].stored, relation.left.schema)


def build_semi_join(build: Builder, relation: SemiJoin | AntiJoin) -> DeltaNode:
    if isinstance(relation, PurgingSemiJoin | PurgingAntiJoin):
        return _purging_semi_join(build, relation)
    sides = (relation.left, relation.right)
    parts = [build.events(side) for side in sides]
    core = _core(build, Join(sides, relation.on), (), parts)
    wants_match = isinstance(relation, SemiJoin)
    operator = SemiJoinOperator(build.memory, build.name("semijoin"), core, wants_match)

    def semi_join(step: Step) -> Deltas:
        return operator.step([part.events(step) for part in parts])

    return build.narrowed(semi_join, parts[0], relation.left.schema)


def _core(
    build: Builder,
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
    test = (lambda rows: predicate(rows, build.dictionary)) if predicate is not None else None
    shown = tuple(map(stored.index, columns))
    name = build.name("join")
    return JoinCore(build.memory, name, tuple(inputs), test, shown, only_coming=only_coming, looked_up=looked_up)


def _is_indexed(expr: Expr, variables: list[tuple[Column | None, ...]]) -> bool:
    """Whether an equality is between the columns by which two inputs are joined, so that the indexes see to it."""
    if not isinstance(expr, Compare) or expr.op is not Comparator.EQ:
        return False
    return any(expr.left in variable and expr.right in variable for variable in variables)
