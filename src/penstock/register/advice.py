"""Advice: the smallest sets of declarations and changes that would make a query safe.

Candidates come from what the unbounded pieces of state lack: schemes, references and orders on the columns that join,
schemes and clusters of those that group, windows on the streams, ranges of times, DISTINCT. Sets of them are tried by
applying them: every action makes the query safe, and no part of it does. Cheapest first: to declare something costs
less than to change the answer. DELAY is not among them: every stream has a watermark, a stream without TIMESTAMP BY
does not exist, and a proof asks that a delay is there, never how long it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from penstock.algebra.copies import written
from penstock.algebra.expressions import Column, columns
from penstock.algebra.predicates import ColumnEquality, classify
from penstock.algebra.relations import (
    AntiJoin,
    Distinct,
    Join,
    PartitionRows,
    Query,
    Range,
    Relation,
    SemiJoin,
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
    NotNull,
    Ordered,
    Punctuated,
    Reference,
    StreamDef,
    Unique,
    WithinRows,
    WithinTime,
)
from penstock.closing.blocks import block_of
from penstock.closing.contents import appends_only
from penstock.closing.finite import truths
from penstock.closing.join_graphs import tells_more
from penstock.effort import OutOfEffort, spend
from penstock.register.cheapest_sets import Exhausted, cheapest_sets, shrunk
from penstock.register.memo import Memo
from penstock.register.states import State, StatefulOperator
from penstock.register.steps import Action, AddTimeRange, AdviceStep, Declare, MakeDistinct, SetWindow
from penstock.register.windows import is_safe
from penstock.types import HOUR, Kind

#: What is proposed where the user has to choose.
WINDOW = Range(HOUR)
WITHIN = WithinTime(HOUR)
ROWS = WithinRows(1000)

#: How many actions are proposed.
MOST_ACTIONS = 10
#: How many are counted before it is only said that there are more, over few streams and over many.
COUNTED, COUNTED_OF_MANY = 20, MOST_ACTIONS + 1
#: How many sets are tried for them. A set that changes the query counts for more: all has to be worked out again.
EFFORT, CHANGED = 320, 4
#: Over more streams than these, changes of the query are tried only if no declarations will do; and references are
#: proposed only where a predicate of the query joins.
FEW_STREAMS = 4
#: Where the cheapest is not known, another set is sought if the first has no more steps than these.
_SMALL = 12


@dataclass(frozen=True, slots=True)
class Advice:
    """What would make a query safe, cheapest first; how many more smallest sets are known; whether those are all."""

    actions: tuple[Action, ...] = ()
    left_out: int = 0
    complete: bool = True

    @property
    def rest(self) -> str | None:
        """What is to be said of the sets that are not here.

        >>> Advice(left_out=3).rest, Advice(left_out=3, complete=False).rest
        ('there are 3 more', 'there are more')
        """
        if self.complete:
            return f"there {'is' if self.left_out == 1 else 'are'} {self.left_out} more" if self.left_out else None
        return "there are more" if self.left_out else "there may be more"


Steps: TypeAlias = tuple[AdviceStep, ...]


class Oracle(Protocol):
    """Whether a query would be safe with some steps taken, and what it would still lack."""

    def is_safe(self, steps: Steps) -> bool: ...

    def lacking(self, steps: Steps, pool: Steps) -> Iterable[frozenset[AdviceStep]]:
        """Sets of steps of the pool, of each of which one more is needed; or may be, if it is not `sure`."""
        ...

    @property
    def sure(self) -> bool: ...


def advice(query: Query, catalog: Catalog, unbounded: tuple[State, ...]) -> Advice:
    """The smallest sets that make the query safe: all, or the cheapest of each kind and the cheapest of the others.

    They are tried on the normal form, with what does not change worked out once.
    """
    normal = normalise(query)
    few = _reads_few(normal.relation)
    pool = dict.fromkeys(_candidates(normal.relation, catalog, unbounded, few))
    written = [step for step in pool if not isinstance(step, AddTimeRange) or step.can_be_written(query)]
    search = Search(Trials(normal, catalog, unbounded), written)
    try:
        search.declarations(COUNTED if few else COUNTED_OF_MANY)
        if few:
            search.changes()
        search.anything()
    except (Exhausted, OutOfEffort):
        search.complete = False
    return search.advice()


def _reads_few(relation: Relation) -> bool:
    """Whether a query reads few streams, as its user counts them."""
    return len({written(stream.occurrence) for stream in streams(relation)}) <= FEW_STREAMS


class Trials:
    """Whether a query would be safe under other declarations, or changed. What stays the same is worked out once."""

    def __init__(self, normal: Query, catalog: Catalog, unbounded: tuple[State, ...] = ()) -> None:
        self._catalog = catalog
        self._waiting = frozenset(state.stream for state in unbounded if state.operator is StatefulOperator.JOIN)
        self.sure = _is_plain_join(normal.relation, catalog)
        self._few = _reads_few(normal.relation)
        self._normal, self._memo = normal, Memo()
        self._changed: dict[Steps, tuple[Query, Memo]] = {(): (normal, self._memo)}

    def is_safe(self, steps: Steps) -> bool:
        try:
            normal, memo = self._under(tuple(step for step in steps if not isinstance(step, Declare)))
            return is_safe(normal, self._declared(steps), memo)
        except OutOfEffort:
            raise Exhausted from None

    def lacking(self, steps: Steps, pool: Steps) -> Iterator[frozenset[AdviceStep]]:
        """What the join lacks that was found to hold rows without end."""
        if self._memo.failed is None or not all(map(_is_closing, pool)):
            return
        purging = self._memo.failed.under(self._declared(steps))
        operand = purging.farthest(self._waiting)
        self._memo.suspect(operand, purging)
        named = {step.named: step for step in pool if isinstance(step, Declare)}
        found = list(purging.lacking(operand, self._declared(pool)))
        if not found and not self._few:  # to tell the cheapest is as hard as the least strongly connected subgraph
            raise Exhausted
        yield from (frozenset(named[name] for name in some if name in named) for some in found)

    def _under(self, changes: Steps) -> tuple[Query, Memo]:
        if changes not in self._changed:
            spend(len(changes))
            query, _ = Action(changes).apply(self._normal, self._catalog)
            self._changed[changes] = normalise(query), Memo()
        return self._changed[changes]

    def _declared(self, steps: Steps) -> Catalog:
        declared = Action(tuple(step for step in steps if isinstance(step, Declare)))
        return declared.apply(self._normal, self._catalog)[1]


def _is_plain_join(relation: Relation, catalog: Catalog) -> bool:
    """Whether a row of a join waits just as long as a purge needs: then what a purge lacks is lacking.

    Counts of rows that are alike do not depend on declarations, and k-constraints tell no more than purges do.
    """
    joins = [node for node in walk_relations(relation) if isinstance(node, Join | SemiJoin | AntiJoin)]
    if len(joins) != 1 or not isinstance(joins[0], Join):
        return False
    block = block_of(joins[0])
    return all(o.window or o.is_static for o in block.operands) and not tells_more(block, catalog)


class Search:
    """Looks for smallest sets: of declarations first, then of changes of the query and of both together.

    Steps go by their numbers in the pool, cheapest first.
    """

    def __init__(self, oracle: Oracle, pool: Iterable[AdviceStep]) -> None:
        self._oracle = oracle
        self._pool = tuple(sorted(pool, key=lambda step: (step.cost, step.text)))
        self._declarations = frozenset(n for n, step in enumerate(self._pool) if isinstance(step, Declare))
        self._numbers = {step: number for number, step in enumerate(self._pool)}
        self._known: dict[frozenset[int], bool] = {}
        self._effort = EFFORT
        self._found: dict[frozenset[int], None] = {}
        self.complete = True

    def declarations(self, most: int) -> None:
        """Sets that leave the answer as it is. More declarations never make a query less safe."""
        self.explore(Declare, most=most)

    def changes(self) -> None:
        """One set of each kind of change; and all with changes, if there are not too many without."""
        for kind in (SetWindow, AddTimeRange, MakeDistinct):
            self._one(self._some(kind))
        if self.complete and len(self._found) < MOST_ACTIONS:
            self.explore(Declare, SetWindow, AddTimeRange)
        else:
            self.complete = False

    def anything(self) -> None:
        """A few sets where the cheapest were not found: of schemes if those will do, else of all that there is."""
        if self._found:
            return
        self._effort = EFFORT
        schemes = [number for number in self._some(Declare) if _is_simple(self._pool[number])]
        for pool in (schemes, self._some(Declare), self._some()):
            if not self._found:
                self._one(pool)
        first = next(iter(self._found), frozenset())
        if first and len(first) <= _SMALL:
            self._one([each for each in schemes if each != min(first)])

    def explore(self, *kinds: type, most: int = COUNTED) -> None:
        """Adds the cheapest sets of some kinds of steps, of all without any."""
        pool = self._some(*kinds)
        costs = {number: self._pool[number].cost for number in pool}
        found = cheapest_sets(costs, self._safe, most, lambda chosen: self._lacking(chosen, pool))
        self._add(found.found)
        self.complete = self.complete and found.complete

    @property
    def found(self) -> set[frozenset[AdviceStep]]:
        return {frozenset(self._steps(numbers)) for numbers in self._found}

    def advice(self) -> Advice:
        found = [Action(self._steps(numbers)) for numbers in self._found]
        weakest = [action for action in found if not any(_assumes_more(action, other) for other in found)]
        weakest.sort(key=lambda action: (action.cost, [step.text for step in action.steps]))
        shown = _shown(weakest)
        return Advice(shown, len(weakest) - len(shown), self.complete)

    def _some(self, *kinds: type) -> list[int]:
        return [number for number, step in enumerate(self._pool) if not kinds or isinstance(step, kinds)]

    def _steps(self, numbers: Iterable[int]) -> Steps:
        return tuple(self._pool[number] for number in sorted(numbers))

    def _one(self, pool: list[int]) -> None:
        """Adds one minimal set, if there is any: what is dear is spared first."""
        try:
            if self._safe(frozenset(pool)):
                self._add([shrunk(pool, self._safe)])
        except Exhausted:
            self.complete = False

    def _add(self, found: Iterable[frozenset[int]]) -> None:
        """A change may spoil what was safe, so that a set with changes may have a smaller one in it."""
        for numbers in found:
            if numbers <= self._declarations or not any(self._tried(numbers - {one}) for one in numbers):
                self._found[numbers] = None

    def _safe(self, numbers: frozenset[int]) -> bool:
        if numbers not in self._known:
            self._effort -= 1 if numbers <= self._declarations else CHANGED
            if self._effort < 0:
                raise Exhausted
        return self._tried(numbers)

    def _tried(self, numbers: frozenset[int]) -> bool:
        if numbers not in self._known:
            self._known[numbers] = self._oracle.is_safe(self._steps(numbers))
        return self._known[numbers]

    def _lacking(self, chosen: frozenset[int], pool: Iterable[int]) -> Iterator[frozenset[int]]:
        """Conflicts: without them all the rest together is not enough. To look for them is worth some trials."""
        self._effort -= len(self._declarations) // 8
        if self._effort < 0:
            raise Exhausted
        for some in self._oracle.lacking(self._steps(chosen), self._steps(pool)):
            numbers = frozenset(self._numbers[step] for step in some)
            if self._oracle.sure or not self._safe(frozenset(pool) - numbers):
                yield numbers


def _is_closing(step: AdviceStep) -> bool:
    """A declaration that lets purges go on, and does nothing else for a join."""
    return isinstance(step, Declare) and isinstance(step.constraint, Punctuated | Reference | Clustered)


def _is_simple(step: AdviceStep) -> bool:
    """A declaration, but no reference, of one column."""
    constraint = step.constraint if isinstance(step, Declare) else None
    return isinstance(constraint, Punctuated | Unique | Clustered) and len(constraint.columns) == 1


def _shown(actions: list[Action]) -> tuple[Action, ...]:
    """So many of them: the cheapest of each kind, and the cheapest of the others."""
    kinds = [frozenset(map(type, action.steps)) for action in actions]
    first = [len(kind) == 1 and kind not in kinds[:number] for number, kind in enumerate(kinds)]
    order = sorted(range(len(actions)), key=lambda number: (not first[number], number))
    return tuple(actions[number] for number in sorted(order[:MOST_ACTIONS]))


def _assumes_more(action: Action, other: Action) -> bool:
    """Whether it asks for the same, but for punctuations or keys of fewer columns, each of which says more."""
    mine, theirs = set(action.steps) - set(other.steps), set(other.steps) - set(action.steps)
    if len(mine) != 1 or len(theirs) != 1:
        return False
    match mine.pop(), theirs.pop():
        case (Declare(stream, Punctuated(few)), Declare(another, Punctuated(many))) | (
            Declare(stream, Unique(few)),
            Declare(another, Unique(many)),
        ):
            return stream == another and set(few) < set(many)
    return False


def _candidates(normal: Relation, catalog: Catalog, unbounded: tuple[State, ...], few: bool) -> Iterator[AdviceStep]:
    windows = {node.stream.occurrence: node for node in walk_relations(normal) if isinstance(node, Window)}
    direct = list(_equalities(normal))
    pairs = list(_pairs(direct, windows))
    yield from _schemes(pairs, windows, catalog, few)
    yield from _references(pairs if few else [*direct, *((b, a) for a, b in direct)], windows, catalog)
    if len(windows) == 2:  # only the theory of k-constraints knows of orders, and it is dear to ask often
        yield from _orders(pairs, windows, catalog)
    for state in unbounded:
        yield from _keyed(state, pairs, windows, catalog)
    for window in windows.values():
        if isinstance(window.spec, Unbounded | PartitionRows):
            yield SetWindow(window.stream.name, written(window.stream.occurrence), WINDOW)
    yield from _ranges(normal, unbounded, windows)
    is_distinct = any(isinstance(node, Distinct) for node in walk_relations(normal))
    if appends_only(normal) and not is_distinct and any(state.operator is StatefulOperator.JOIN for state in unbounded):
        yield MakeDistinct()


Pairs: TypeAlias = list[tuple[Column, Column]]


def _equalities(relation: Relation) -> Iterator[tuple[Column, Column]]:
    """Columns that some join makes equal, as it is written."""
    for node in walk_relations(relation):
        for view in map(classify, node.on if isinstance(node, AntiJoin) else truths(node)):
            if isinstance(view, ColumnEquality):
                yield view.left, view.right


def _pairs(equal: Pairs, windows: dict[str, Window]) -> Iterator[tuple[Column, Column]]:
    """Columns of streams that joins make equal, with all that follows from the equalities."""
    classes: list[set[Column]] = []
    for left, right in equal:
        spend(1 + len(classes) // 4)
        meeting = [each for each in classes if left in each or right in each]
        classes = [each for each in classes if each not in meeting] + [{left, right}.union(*meeting)]
    for each in classes:
        own = sorted((column for column in each if column.scope in windows), key=str)
        spend(len(own) ** 2)
        yield from ((a, b) for a in own for b in own if a.scope != b.scope)


def _schemes(pairs: Pairs, windows: dict[str, Window], catalog: Catalog, few: bool) -> Iterator[AdviceStep]:
    """Schemes on the columns that join: on each, on those that join one stream, and over few streams on all of one."""
    joined: dict[str, dict[str, dict[str, None]]] = {}
    for left, right in pairs:
        joined.setdefault(left.scope, {}).setdefault(right.scope, {})[left.name] = None
    for occurrence, others in joined.items():
        every = dict.fromkeys(name for names in others.values() for name in names)
        for names in dict.fromkeys(
            [*((name,) for name in every), *map(tuple, others.values()), *([tuple(every)] * few)]
        ):
            yield from _new(windows[occurrence].stream.name, Punctuated(names), catalog)


def _orders(pairs: Pairs, windows: dict[str, Window], catalog: Catalog) -> Iterator[AdviceStep]:
    """Orders of the columns that join: numbers that rise, as those that somebody counts up."""
    for column in dict.fromkeys(left for left, _ in pairs if left.type.is_integer):
        if column != windows[column.scope].stream.timestamp:
            yield from _new(windows[column.scope].stream.name, Ordered(column.name, ROWS), catalog)


def _references(pairs: Pairs, windows: dict[str, Window], catalog: Catalog) -> Iterator[AdviceStep]:
    """References between the columns that join two streams."""
    by_streams: dict[tuple[str, str], Pairs] = {}
    for left, right in dict.fromkeys(pairs):
        if left.scope in windows and right.scope in windows:
            by_streams.setdefault((left.scope, right.scope), []).append((left, right))
    for (one, other), joined in by_streams.items():
        child, parent = windows[one].stream.name, windows[other].stream.name
        mine, theirs = tuple(a.name for a, _ in joined), tuple(b.name for _, b in joined)
        if child.lower() != parent.lower() and len(set(mine)) == len(mine) and len(set(theirs)) == len(theirs):
            yield from _new(child, Reference(mine, parent, theirs, WITHIN), catalog)


def _ranges(relation: Relation, unbounded: tuple[State, ...], windows: dict[str, Window]) -> Iterator[AddTimeRange]:
    """Ranges of times between streams that a predicate joins, where a row of one of them waits without end."""
    waiting = {state.stream for state in unbounded if state.operator is StatefulOperator.JOIN}
    for join in (node for node in walk_relations(relation) if isinstance(node, Join)):
        own = {column.scope for column in join.schema if column.scope in windows}
        for predicate in join.on:
            pair = sorted({column.scope for column in columns(predicate)} & own, key=list(windows).index)
            if len(pair) == 2 and waiting & set(pair):
                one, other = (windows[name].stream for name in pair)
                left, right = one.timestamp, other.timestamp
                is_range = left.type == right.type and left.type.kind is not Kind.DATE and one.unit is other.unit
                if is_range and {left, right} <= set(join.schema):
                    yield AddTimeRange(_as_written(left), _as_written(right), one.unit)


def _as_written(column: Column) -> Column:
    return replace(column, scope=written(column.scope))


def _keyed(state: State, pairs: Pairs, windows: dict[str, Window], catalog: Catalog) -> Iterator[AdviceStep]:
    """What would end groups: schemes on their columns and on those that are equal to them, or that they are keys."""
    if state.operator in (StatefulOperator.JOIN, StatefulOperator.SEMI_JOIN, StatefulOperator.ANTI_JOIN):
        return
    columns = {column for column in state.columns if column.scope in windows}
    columns |= {b for a, b in pairs if a in columns}
    by_stream: dict[str, list[str]] = {}
    for column in sorted(columns, key=str):
        by_stream.setdefault(column.scope, []).append(column.name)
    for occurrence, names in by_stream.items():
        stream = windows[occurrence].stream.name
        yield from _values_there(stream, names, catalog)
        for some in dict.fromkeys([*((name,) for name in names), tuple(names)]):
            yield from _new(stream, Punctuated(some), catalog)
            yield from _new(stream, Clustered(some, ROWS), catalog)
            if state.operator in (StatefulOperator.DISTINCT, StatefulOperator.AGGREGATE_VALUES):
                yield from _new(stream, Unique(some), catalog)


def _values_there(stream: str, names: Iterable[str], catalog: Catalog) -> Iterator[AdviceStep]:
    """That columns of a scheme hold no NULL, which its punctuations may not speak of."""
    definition = catalog.get(stream)
    assert isinstance(definition, StreamDef)
    schemes = [c.columns for c in definition.constraints if isinstance(c, Punctuated)]
    for name in names:
        if name.lower() not in definition.not_null and any(name in columns for columns in schemes):
            yield Declare(definition.name, NotNull((name,)))


def _new(stream: str, constraint: Constraint, catalog: Catalog) -> Iterator[Declare]:
    definition = catalog.get(stream)
    if isinstance(definition, StreamDef) and constraint not in definition.constraints:
        yield Declare(definition.name, constraint)
