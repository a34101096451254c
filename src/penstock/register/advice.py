"""Advice: the smallest sets of declarations and changes that would make a query safe.

Candidates come from what the unbounded pieces of state lack: schemes and references on the columns that join, schemes
on the columns that group, windows on the streams, DISTINCT. Sets of them are tried by applying them: every action makes
the query safe, and no part of it does. Cheapest first: to declare something costs less than to change the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from penstock.algebra.expressions import Column
from penstock.algebra.predicates import Equality, classify
from penstock.algebra.printing import window_text
from penstock.algebra.relations import (
    AntiJoin,
    Distinct,
    PartitionRows,
    Query,
    Range,
    Relation,
    ToStream,
    Unbounded,
    Window,
    WindowSpec,
    rewrite_relation,
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
from penstock.register.declarations import constraint_text, name_text
from penstock.register.finite import truths
from penstock.register.memo import Memo
from penstock.register.states import Holder, State
from penstock.register.windows import is_safe
from penstock.types import HOUR

#: What is proposed where the user has to choose.
WINDOW = Range(HOUR)
WITHIN = WithinTime(HOUR)


@dataclass(frozen=True, slots=True)
class Declare:
    """Say something of a stream. `occurrence` is one that it is about."""

    stream: str
    constraint: Constraint

    @property
    def cost(self) -> int:
        """Punctuations have to come from somewhere; a reference promises a time; a key is often known."""
        return {Unique: 1, Punctuated: 3, Clustered: 4, Reference: 4}.get(type(self.constraint), 5)

    def apply(self, query: Query, catalog: Catalog) -> tuple[Query, Catalog]:
        return query, _declaring(catalog, {self.stream: [self.constraint]})

    @property
    def text(self) -> str:
        return f"ALTER STREAM {name_text(self.stream)} ADD {constraint_text(self.constraint)};"


@dataclass(frozen=True, slots=True)
class SetWindow:
    """Read less of a stream: the answer changes."""

    stream: str
    occurrence: str
    spec: WindowSpec

    @property
    def cost(self) -> int:
        return 10

    def apply(self, query: Query, catalog: Catalog) -> tuple[Query, Catalog]:
        def rule(node: Relation) -> Relation:
            hit = isinstance(node, Window) and node.stream.occurrence == self.occurrence
            return replace(node, spec=self.spec) if hit and isinstance(node, Window) else node

        return _mapped(query, lambda relation: rewrite_relation(relation, rule)), catalog

    @property
    def text(self) -> str:
        alias = "" if self.occurrence == self.stream else f" {name_text(self.occurrence)}"
        return f"{name_text(self.stream)} {window_text(self.spec)}{alias}"


@dataclass(frozen=True, slots=True)
class MakeDistinct:
    """Ask for each row once: the answer changes."""

    @property
    def cost(self) -> int:
        return 6

    def apply(self, query: Query, catalog: Catalog) -> tuple[Query, Catalog]:
        return _mapped(query, Distinct), catalog

    @property
    def text(self) -> str:
        return "SELECT DISTINCT"


class Step(Protocol):
    """Something to declare or to change."""

    @property
    def cost(self) -> int: ...

    @property
    def text(self) -> str: ...

    def apply(self, query: Query, catalog: Catalog) -> tuple[Query, Catalog]: ...


@dataclass(frozen=True, slots=True)
class Action:
    """What to declare or to change, all of it."""

    steps: tuple[Step, ...]

    @property
    def cost(self) -> int:
        return sum(step.cost for step in self.steps)

    def apply(self, query: Query, catalog: Catalog) -> tuple[Query, Catalog]:
        """All steps; what is declared of one stream, at once."""
        declared: dict[str, list[Constraint]] = {}
        for step in self.steps:
            if isinstance(step, Declare):
                declared.setdefault(step.stream, []).append(step.constraint)
            else:
                query, catalog = step.apply(query, catalog)
        return query, _declaring(catalog, declared)


def _declaring(catalog: Catalog, declared: Mapping[str, Iterable[Constraint]]) -> Catalog:
    changed = dict(catalog.definitions)
    for stream, constraints in declared.items():
        definition = catalog.get(stream)
        assert isinstance(definition, StreamDef)
        changed[stream.lower()] = replace(definition, constraints=(*definition.constraints, *constraints))
    return replace(catalog, definitions=changed)


IsSafe: TypeAlias = Callable[[Query, Catalog], bool]

#: How many actions are proposed.
MOST_ACTIONS = 5
#: How many sets are tried for them. A set that changes the query counts for more: all has to be worked out again.
EFFORT, CHANGED = 160, 2
#: Over more streams than this, one set of schemes is looked for, and other ways only if there is none.
FEW_STREAMS = 3


def actions(query: Query, catalog: Catalog, unbounded: tuple[State, ...], is_safe: IsSafe) -> tuple[Action, ...]:
    """The smallest sets that make the query safe, cheapest first; as many as are found with little effort.

    `is_safe` is not asked: the sets are tried on the normal form, with what does not change worked out once.
    """
    del is_safe
    normal = normalise(query)
    pool = tuple(dict.fromkeys(_candidates(normal.relation, catalog, unbounded)))
    declared = tuple(step for step in pool if isinstance(step, Declare))
    windows = tuple(step for step in pool if isinstance(step, SetWindow))
    others = tuple(step for step in pool if isinstance(step, MakeDistinct))
    safe = Trials(normal).is_safe
    if len(streams(normal.relation)) <= FEW_STREAMS:
        return smallest_sets(normal, catalog, (declared, windows, others, declared + windows), safe)
    return smallest_sets(normal, catalog, (_schemes(declared), others, windows), safe, of_each=1)


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


def _mapped(query: Query, change: Callable[[Relation], Relation]) -> Query:
    root = query.root
    return replace(query, root=replace(root, input=change(root.input)) if isinstance(root, ToStream) else change(root))


def _candidates(normal: Relation, catalog: Catalog, unbounded: tuple[State, ...]) -> Iterator[Step]:
    windows = {node.stream.occurrence: node for node in walk_relations(normal) if isinstance(node, Window)}
    pairs = list(_pairs(normal, windows))
    yield from _joined(pairs, windows, catalog)
    for state in unbounded:
        yield from _keyed(state, pairs, windows, catalog)
    for window in windows.values():
        if isinstance(window.spec, Unbounded | PartitionRows):
            yield SetWindow(window.stream.name, window.stream.occurrence, WINDOW)
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
