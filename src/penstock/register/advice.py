"""Advice: the smallest sets of declarations and changes that would make a query safe.

Candidates come from what the unbounded pieces of state lack: schemes and references on the columns that join, schemes
on the columns that group, windows on the streams, ranges of times, DISTINCT. Sets of them are tried by applying them:
every action makes the query safe, and no part of it does. Cheapest first: to declare something costs less than to
change the answer. DELAY is not among them: every stream has a watermark, and a longer delay never ends a wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from penstock.algebra.expressions import Column, columns
from penstock.algebra.predicates import Equality, classify
from penstock.algebra.relations import (
    AntiJoin,
    Distinct,
    Join,
    PartitionRows,
    Query,
    Range,
    Relation,
    Unbounded,
    Window,
    streams,
    walk_relations,
)
from penstock.algebra.rewrites import normalise
from penstock.catalog import (
    Catalog,
    Clustered,
    Constraint,
    Punctuated,
    Reference,
    StreamDef,
    Unique,
    WithinRows,
    WithinTime,
)
from penstock.register.contents import appends_only
from penstock.register.finite import truths
from penstock.register.memo import Memo
from penstock.register.states import Holder, State
from penstock.register.steps import Action, AddTimeRange, Declare, MakeDistinct, SetWindow, Step
from penstock.register.windows import is_safe
from penstock.types import HOUR

#: What is proposed where the user has to choose.
WINDOW = Range(HOUR)
WITHIN = WithinTime(HOUR)


IsSafe: TypeAlias = Callable[[Query, Catalog], bool]

#: How many actions are proposed.
MOST_ACTIONS = 6
#: How many sets are tried for them. A set that changes the query counts for more: all has to be worked out again.
EFFORT, CHANGED = 160, 2
#: Over more streams than the first, one set of schemes and one of windows are looked for; over more than the second,
#: one of schemes, and other ways only if there is none.
FEW_STREAMS, SEVERAL_STREAMS = 3, 4


def actions(query: Query, catalog: Catalog, unbounded: tuple[State, ...], is_safe: IsSafe) -> tuple[Action, ...]:
    """The smallest sets that make the query safe, cheapest first; as many as are found with little effort.

    `is_safe` is not asked: the sets are tried on the normal form, with what does not change worked out once.
    """
    del is_safe
    normal = normalise(query)
    pool = tuple(dict.fromkeys(_candidates(normal.relation, catalog, unbounded)))
    declared = tuple(step for step in pool if isinstance(step, Declare))
    windows = tuple(step for step in pool if isinstance(step, SetWindow))
    ranges = tuple(step for step in pool if isinstance(step, AddTimeRange) and step.can_be_written(query))
    others = tuple(step for step in pool if isinstance(step, MakeDistinct))
    safe = Trials(normal).is_safe
    width = len(streams(normal.relation))
    if width <= FEW_STREAMS:
        return smallest_sets(normal, catalog, (declared, windows, ranges, others, declared + windows), safe)
    families = (
        (_schemes(declared), others, windows, ranges) if width <= SEVERAL_STREAMS else (_schemes(declared), others)
    )
    return smallest_sets(normal, catalog, (*families, declared + windows), safe, of_each=1)


def _schemes(declared: tuple[Declare, ...]) -> tuple[Declare, ...]:
    """Declarations but references, of one column each where several say less."""
    return tuple(
        step
        for step in declared
        if not isinstance(step.constraint, Reference)
        and (not isinstance(step.constraint, Punctuated) or len(step.constraint.columns) == 1)
    )


class Trials:
    """Whether a query would be safe under other declarations, or changed. What stays the same is worked out once."""

    def __init__(self, normal: Query) -> None:
        self._normal = normal
        self._memo = Memo()

    def is_safe(self, query: Query, catalog: Catalog) -> bool:
        if query is self._normal:
            return is_safe(query, catalog, self._memo)
        return is_safe(normalise(query), catalog, Memo())


def smallest_sets(
    query: Query,
    catalog: Catalog,
    families: tuple[tuple[Step, ...], ...],
    is_safe: IsSafe,
    of_each: int = 2 * MOST_ACTIONS,
) -> tuple[Action, ...]:
    """The smallest safe sets within each family, so many; the last one is tried only if nothing else will do."""
    search = _Search(query, catalog, is_safe)
    for number, family in enumerate(families, start=1):
        if number < len(families) or not search.found:
            search.explore(frozenset(family), of_each)
    weakest = [action for action in search.found if not any(_assumes_more(action, other) for other in search.found)]
    return tuple(sorted(weakest, key=lambda action: (action.cost, [step.text for step in action.steps])))[:MOST_ACTIONS]


def _assumes_more(action: Action, other: Action) -> bool:
    """Whether it asks for the same, but for punctuations of fewer columns, each of which says more."""
    mine, theirs = set(action.steps) - set(other.steps), set(other.steps) - set(action.steps)
    if len(mine) != 1 or len(theirs) != 1:
        return False
    match mine.pop(), theirs.pop():
        case Declare(stream, Punctuated(few)), Declare(another, Punctuated(many)):
            return stream == another and set(few) < set(many)
    return False


class _Search:
    """Minimal sets by hitting sets (Reiter): shrink a safe set, then look for one that does without one of its members.

    More declarations never make a query less safe, so a set is minimal if it can spare no single member.
    """

    def __init__(self, query: Query, catalog: Catalog, is_safe: IsSafe) -> None:
        self._query, self._catalog, self._is_safe = query, catalog, is_safe
        self._known: dict[frozenset[Step], bool] = {}
        self._effort = EFFORT
        self.found: list[Action] = []

    def explore(self, pool: frozenset[Step], most: int) -> None:
        """Adds minimal sets within a pool, as far as the effort goes."""
        try:
            self._explore(pool, len(self.found) + most)
        except _Exhausted:
            return

    def _explore(self, pool: frozenset[Step], most: int) -> None:
        waiting = [pool]
        seen = set(waiting)
        while waiting and len(self.found) < most:
            left = waiting.pop(0)
            minimal = next((frozenset(a.steps) for a in self.found if frozenset(a.steps) <= left), None)
            if minimal is None:
                if not self._safe(left):
                    continue
                minimal = self._shrunk(left)
                self.found.append(Action(tuple(sorted(minimal, key=_order))))
            for step in sorted(minimal, key=_order, reverse=True):
                rest = left - {step}
                if rest not in seen:
                    seen.add(rest)
                    waiting.append(rest)

    def _shrunk(self, steps: frozenset[Step]) -> frozenset[Step]:
        """Without what it can spare, dearest first: in halves while that works, then one by one."""
        kept = sorted(steps, key=_order, reverse=True)
        size = max(1, len(kept) // 2)
        while size:
            start, before = 0, len(kept)
            while start < len(kept):
                rest = kept[:start] + kept[start + size :]
                if self._safe(frozenset(rest)):
                    kept = rest
                else:
                    start += size
            size = size // 2 if len(kept) < before else min(1, size - 1)
        return frozenset(kept)

    def _safe(self, steps: frozenset[Step]) -> bool:
        if steps not in self._known:
            query, catalog = Action(tuple(sorted(steps, key=_order))).apply(self._query, self._catalog)
            self._effort -= 1 if query is self._query else CHANGED
            if self._effort < 0:
                raise _Exhausted
            self._known[steps] = self._is_safe(query, catalog)
        return self._known[steps]


class _Exhausted(Exception):
    """Enough sets were tried."""


def _order(step: Step) -> tuple[int, str]:
    return step.cost, step.text


def _candidates(normal: Relation, catalog: Catalog, unbounded: tuple[State, ...]) -> Iterator[Step]:
    windows = {node.stream.occurrence: node for node in walk_relations(normal) if isinstance(node, Window)}
    pairs = list(_pairs(normal, windows))
    yield from _joined(pairs, windows, catalog)
    for state in unbounded:
        yield from _keyed(state, pairs, windows, catalog)
    for window in windows.values():
        if isinstance(window.spec, Unbounded | PartitionRows):
            yield SetWindow(window.stream.name, window.stream.occurrence, WINDOW)
    yield from _ranges(normal, unbounded, windows)
    is_distinct = any(isinstance(node, Distinct) for node in walk_relations(normal))
    if appends_only(normal) and not is_distinct and any(state.holder is Holder.JOIN for state in unbounded):
        yield MakeDistinct()


def _pairs(relation: Relation, windows: dict[str, Window]) -> Iterator[tuple[Column, Column]]:
    """Columns of streams that some join makes equal, with all that follows from the equalities."""
    classes: list[set[Column]] = []
    for node in walk_relations(relation):
        for view in map(classify, node.on if isinstance(node, AntiJoin) else truths(node)):
            if isinstance(view, Equality):
                both = {view.left, view.right}
                meeting = [each for each in classes if each & both]
                classes = [each for each in classes if not each & both] + [both.union(*meeting)]
    for each in classes:
        own = sorted((column for column in each if column.scope in windows), key=str)
        yield from ((a, b) for a in own for b in own if a.scope != b.scope)


def _joined(pairs: list[tuple[Column, Column]], windows: dict[str, Window], catalog: Catalog) -> Iterator[Step]:
    """Schemes on the columns that join, alone and together, and references between them."""
    by_streams: dict[tuple[str, str], list[tuple[Column, Column]]] = {}
    for left, right in pairs:
        by_streams.setdefault((left.scope, right.scope), []).append((left, right))
    for (one, other), joined in by_streams.items():
        child, parent = windows[one].stream.name, windows[other].stream.name
        own = tuple(dict.fromkeys(a.name for a, _ in joined))
        for names in dict.fromkeys([*((name,) for name in own), own]):
            yield from _new(child, Punctuated(names), catalog)
        if child.lower() != parent.lower():
            mine, theirs = tuple(a.name for a, _ in joined), tuple(b.name for _, b in joined)
            if len(set(mine)) == len(mine) and len(set(theirs)) == len(theirs):
                yield from _new(child, Reference(mine, parent, theirs, WITHIN), catalog)


def _ranges(relation: Relation, unbounded: tuple[State, ...], windows: dict[str, Window]) -> Iterator[AddTimeRange]:
    """Ranges of times between streams that a predicate joins, where a row of one of them waits without end."""
    waiting = {state.stream for state in unbounded if state.holder is Holder.JOIN}
    for join in (node for node in walk_relations(relation) if isinstance(node, Join)):
        own = {column.scope for column in join.schema if column.scope in windows}
        for predicate in join.on:
            pair = sorted({column.scope for column in columns(predicate)} & own, key=list(windows).index)
            if len(pair) == 2 and waiting & set(pair):
                left, right = (windows[name].stream.timestamp for name in pair)
                if left.type == right.type and {left, right} <= set(join.schema):
                    yield AddTimeRange(left, right)


def _keyed(
    state: State, pairs: list[tuple[Column, Column]], windows: dict[str, Window], catalog: Catalog
) -> Iterator[Step]:
    """What would end groups: schemes on their columns and on those that are equal to them, or that they are keys."""
    if state.holder in (Holder.JOIN, Holder.SEMI_JOIN, Holder.ANTI_JOIN):
        return
    columns = {column for column in state.columns if column.scope in windows}
    columns |= {b for a, b in pairs if a in columns}
    for column in sorted(columns, key=str):
        yield from _new(windows[column.scope].stream.name, Punctuated((column.name,)), catalog)
        if state.holder is Holder.DISTINCT:
            yield from _new(windows[column.scope].stream.name, Unique((column.name,)), catalog)
        yield from _new(windows[column.scope].stream.name, Clustered((column.name,), WithinRows(1000)), catalog)


def _new(stream: str, constraint: Constraint, catalog: Catalog) -> Iterator[Declare]:
    definition = catalog.get(stream)
    if isinstance(definition, StreamDef) and constraint not in definition.constraints:
        yield Declare(definition.name, constraint)
