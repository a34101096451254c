"""Witnesses: input after which any plan must remember as much as came.

N items come, no two of them alike; then, for each of them, rows to which it matters whether it came. So no two sets of
items can lead to one state, and any plan needs memory that grows with N. In words for messages, as rows for
`--witness N`. Rows are given only where they prove it: where all that stands above the state lets it be seen.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.algebra.expressions import Arithmetic, Column, Comparator, Compare, Expr, Operator, columns
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.predicates import ColumnEquality, classify
from penstock.algebra.relations import (
    Aggregate,
    Aggregation,
    AntiJoin,
    Distinct,
    Join,
    PartitionRows,
    Project,
    Query,
    Relation,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    Stream,
    StreamKind,
    ToStream,
    Unbounded,
    Window,
    streams,
    walk_relations,
)
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog
from penstock.closing import Purging, solutions
from penstock.closing.blocks import Block, Operand, block_of, flat_block
from penstock.closing.contents import appends_only
from penstock.closing.finite import truths
from penstock.register import arithmetic
from penstock.register.constant_synopses import ConstantSynopses, Needs
from penstock.register.states import State, StatefulOperator
from penstock.register.witness_rows import Combination, RowMaker, WitnessRow, from_zero, is_seen, plain
from penstock.register.witness_values import changing_extreme, moving_value
from penstock.types import TimeUnit

_JOINS = (StatefulOperator.JOIN, StatefulOperator.SEMI_JOIN, StatefulOperator.ANTI_JOIN)


@dataclass(frozen=True, slots=True)
class Witness:
    query: Query
    catalog: Catalog
    #: The pieces of state that grow, the first in the message first.
    states: tuple[State, ...]

    @property
    def words(self) -> str:
        """What comes, in the user's columns."""
        state = self.states[0]
        names = ", ".join(dict.fromkeys(column.name for column in state.columns)) or "values"
        of = f" of {state.stream}" if state.stream else ""
        if state.operator in _JOINS:
            return f"suppose N rows{of} arrive, each with its own {names}: a partner of any of them may arrive next"
        return f"suppose N rows arrive, each with its own {names}: the next may be like any of them"

    def rows(self, size: int, asked: int | None = None) -> tuple[WitnessRow, ...]:
        """The rows in the order of their arrival; none where predicates are out of the theories' sight.

        What follows asks about each item. Where a result comes once, as under DISTINCT, it asks about one item only:
        the one that is `asked` about, or the last.
        """
        normal = normalise(self.query)
        if isinstance(normal.root, ToStream) and normal.root.kind is StreamKind.DSTREAM:
            return ()
        if not _counts_microseconds(normal.relation):
            return ()
        asked = size - 1 if asked is None else asked
        for state in self.states:
            for made in map(from_zero, _Making(normal.relation, self.catalog, state, size, asked).attempts()):
                if {row.item for row in made} == {*range(size), None} and _has_positive_sums(normal.relation, made):
                    return made
        return ()


def witness(query: Query, catalog: Catalog, unbounded: tuple[State, ...]) -> Witness | None:
    return Witness(query, catalog, unbounded) if unbounded else None


def _counts_microseconds(relation: Relation) -> bool:
    """Whether all streams do: the theories' numbers are then the instants of rows as well."""
    return all(stream.unit is TimeUnit.MICROSECONDS for stream in streams(relation))


@dataclass(frozen=True, slots=True)
class _Making:
    relation: Relation
    catalog: Catalog
    state: State
    size: int
    asked: int

    def attempts(self) -> Iterator[Iterable[WitnessRow]]:
        waits = self.state.operator in (*_JOINS, StatefulOperator.WINDOW)
        for shown in _shown(_Shown(self.relation, frozenset(self.relation.schema))):
            match self.state.operator, shown.node:
                case _, (Join() | SemiJoin() | AntiJoin()) as node if waits:
                    yield moving_value(node, self.state, self.size)
                    yield self._joined(shown)
                case StatefulOperator.JOIN, Distinct(below):
                    yield self._joined_once(below)
                case StatefulOperator.AGGREGATE_VALUES, Aggregate() as node if self._is_own(node):
                    yield changing_extreme(node, shown.read, self.size)
                    yield self._keyed(node.input, _keys(node))
                case StatefulOperator.GROUP_BY, Aggregate() as node if self._is_own(node):
                    yield self._keyed(node.input, _keys(node))
                case StatefulOperator.DISTINCT, Distinct(below) as node if self._is_own(node):
                    yield self._keyed(below, frozenset(below.schema))
                case StatefulOperator.WINDOW, (Window() | Select(Window())) as node if shown.keys is None:
                    yield self._partitioned(node)
                case StatefulOperator.SET_OPERATION, SetOp() as node if self._is_own(node):
                    yield self._two_sided(node)
                case StatefulOperator.RSTREAM, node if node is self.relation:
                    yield self._given_again(node)

    def _is_own(self, node: Relation) -> bool:
        return node.schema[0].scope == self.state.scope

    def _joined(self, shown: _Shown) -> list[WitnessRow]:
        """Rows of the operand, with partners that do not end their wait, and then rows that complete each result."""
        node, block = shown.node, _flat(shown.node)
        operand = next((o for o in block.operands if o.name == self.state.stream), None)
        if operand is None or not all(map(is_seen, block.predicates)) or not all(o.window for o in block.operands):
            return []
        purging = Purging(block, self.catalog)
        if not _is_found(node, operand) or purging.is_purged(operand):
            return []
        defeat, make = purging.defeating(operand, self.size), RowMaker(_named(node), block.predicates)
        partners = [row for row in defeat.partners if row.stream in make.streams]
        if not _is_lasting(block, operand, bool(partners)):
            return []
        each = len(partners) // self.size
        made: list[WitnessRow] = []
        kept: list[Mapping[Column, Hashable]] = []
        for item in range(self.size):
            came = (defeat.kept[item], *partners[item * each : (item + 1) * each])
            before = {row.stream: dict(row.values) for row in came}
            after = {row.stream: dict(row.values) for row in defeat.futures[item]}
            follow = make.rows_at(after, item, None, at=self.size + item)
            if not make.holds({**before, **after}, item) or len({row.ts for row in follow}) > 1:
                return []
            kept.append(make.given(operand.name, before[operand.name], item))
            made += [*make.rows_at(before, item, item, at=item), *follow]
        timed = {stream.timestamp for stream in streams(node)}
        own = {c for c in kept[0] if c not in timed and len({values[c] for values in kept}) == self.size}
        return made if _tells_items(operand, own, shown, block) else []

    def _joined_once(self, below: Relation) -> Iterator[WitnessRow]:
        """Under DISTINCT, lemma A.6 of bounded memory: rows none of which can stand for another."""
        node = below.input if isinstance(below, Project) else below
        plainly = not isinstance(below, Project) or all(isinstance(o.expr, Column) for o in below.outputs)
        if not isinstance(node, Join) or not plainly or not appends_only(node) or _has_twice(node):
            return
        read = [o.expr for o in below.outputs] if isinstance(below, Project) else below.schema
        needs = Needs(frozenset(c for c in read if isinstance(c, Column)), (), distinct=True)
        judgement = ConstantSynopses(node, block_of(node), needs).judgement
        if not isinstance(judgement, arithmetic.UnboundedMemory) or judgement.witness is None:
            return
        family = judgement.witness.family(self.size)
        every = frozenset(range(self.size))
        by_name = {stream.name.lower(): stream for stream in streams(node)}
        timed = {stream.timestamp.name for stream in by_name.values()}
        follow = family.separating(every, every - {self.asked})
        if any(timed & row.values.keys() for row in (*family.items, *follow)):
            return
        make = RowMaker(_named(node), ())
        for item, row in enumerate((*family.items, *follow)):
            stream = by_name[row.stream.split(" ")[0].lower()]
            values = {str(column): row.values[column.name] for column in stream.schema if column.name in row.values}
            values[str(stream.timestamp)] = item
            yield from make.rows({stream.occurrence: values}, item, item if item < self.size else None)

    def _keyed(self, below: Relation, keys: frozenset[Column]) -> Iterator[WitnessRow]:
        """A row, or a combination of rows that join, for each key; and then all of them again.

        A key that tells the time does not come again, and one that is computed may be the same for several rows.
        """
        if isinstance(below, Project):
            computed = {output.column: output.expr for output in below.outputs}
            below, keys = below.input, frozenset(c for key in keys for c in columns(computed.get(key, key)))
        while isinstance(below, AntiJoin) and _is_apart(below):
            below = below.left
        timed = {stream.timestamp for stream in streams(below)}
        if keys & timed or not _is_plain(below):
            return
        make = RowMaker(_named(below), truths(below))
        for item, combination in enumerate(solutions(below, self.catalog, self.size)):
            if make.holds(combination, item):
                yield from make.rows(combination, item, item)
                yield from make.rows(combination, item, None, later=self.size)

    def _partitioned(self, node: Relation) -> Iterator[WitnessRow]:
        """A row of each partition, and then as many as push it out."""
        window = node.input if isinstance(node, Select) else node
        assert isinstance(window, Window)
        stream = window.stream
        if not isinstance(window.spec, PartitionRows) or stream.occurrence != self.state.stream:
            return
        if stream.timestamp in window.spec.by or not all(map(is_seen, truths(node))):
            return
        make = RowMaker({stream.occurrence: stream}, truths(node))
        for item, combination in enumerate(solutions(node, self.catalog, self.size)):
            if make.holds(combination, item):
                yield from make.rows(combination, item, item)
                for time in range(1, window.spec.count + 1):
                    yield from make.rows(combination, item, None, later=self.size * time)

    def _given_again(self, node: Relation) -> Iterator[WitnessRow]:
        """A row of the result for each item; all of them are given again when one more comes."""
        below: Relation = node.input if isinstance(node, Project) else node
        keys: frozenset[Column] | None = None
        if isinstance(below, Aggregate):
            keys = frozenset(key.expr for key in below.keys if isinstance(key.expr, Column))
            below = below.input
        elif isinstance(below, Distinct):
            below = below.input
            keys = frozenset(below.schema)
        if isinstance(below, Project) and keys is not None:
            computed = {o.column: o.expr for o in below.outputs if isinstance(o.expr, Column)}
            below, keys = below.input, _through(keys, computed)
        if not _is_plain(below):
            return
        make = RowMaker(_named(below), truths(below))
        found = solutions(below, self.catalog, self.size + 1)
        if keys is not None and not any(_differ(make, key, found) for key in keys):
            return
        for item, combination in enumerate(found):
            if make.holds(combination, item):
                yield from make.rows(combination, item, item if item < self.size else None)

    def _two_sided(self, node: SetOp) -> Iterator[WitnessRow]:
        """Rows of one side of a set operator, and then rows of the other that are equal to them.

        EXCEPT must know which rows of its right side came when their equals come on the left; the others the reverse.
        """
        joined = _as_join(node)
        if joined is None:
            return
        first, then = (node.right, node.left) if node.op is SetOperator.EXCEPT else (node.left, node.right)
        for item, combination in enumerate(solutions(joined, self.catalog, self.size)):
            for side, number, later in ((first, item, 0), (then, None, self.size)):
                make = RowMaker(_named(side), truths(joined))
                if RowMaker(_named(joined), truths(joined)).holds(combination, item):
                    yield from make.rows(combination, item, number, later)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A relation whose changes show in the result: all of them, or those that bring a combination of `keys`."""

    node: Relation
    #: Its columns that can be read in the result.
    read: frozenset[Column]
    keys: frozenset[Column] | None = None


def _shown(found: _Shown) -> Iterator[_Shown]:
    """What is shown, and what is below it.

    As bags, rows show through any projection and through UNION ALL, and those of a left side while none come on the
    right. Through a group they show where they are counted
    or summed, and there and through DISTINCT where they are the first with their keys.
    """
    yield found
    match found.node:
        case Project(below, outputs):
            computed = {o.column: o.expr for o in outputs if isinstance(o.expr, Column)}
            yield from _shown(
                replace(found, node=below, read=_through(found.read, computed), keys=_keyed_by(found, computed))
            )
        case SetOp(SetOperator.UNION, True, left, right, own) if found.keys is None:
            for side in (left, right):
                given = dict(zip(own, side.schema, strict=True))
                yield from _shown(_Shown(side, _through(found.read, given)))
        case Aggregate(below, keys, aggregations) if found.keys is None:
            adds_up = any(map(_adds_up, (each for each in aggregations if each.column in found.read)))
            plainly = frozenset(key.expr for key in keys if isinstance(key.expr, Column))
            below_it = _shown(_Shown(below, frozenset(), None if adds_up else plainly))
            yield from (each for each in below_it if not _is_replacing(each.node))
        case AntiJoin(left) if _is_apart(found.node):
            yield from _shown(replace(found, node=left))
        case Distinct(below) if found.keys is None:
            below_it = _shown(_Shown(below, frozenset(), frozenset(below.schema)))
            yield from (each for each in below_it if not _is_replacing(each.node))


def _through(some: frozenset[Column], computed: Mapping[Column, Column]) -> frozenset[Column]:
    return frozenset(computed[column] for column in some if column in computed)


def _keyed_by(found: _Shown, computed: Mapping[Column, Column]) -> frozenset[Column] | None:
    return None if found.keys is None else _through(found.keys, computed)


def _adds_up(aggregation: Aggregation) -> bool:
    """Whether one more row shows: it is counted, or its number, which is above 0 in our rows, is added."""
    if aggregation.argument is None:
        return True
    return (
        aggregation.function is AggregateFunction.SUM
        and _is_positive(aggregation.argument)
        and not aggregation.distinct
    )


def _is_positive(expr: Expr) -> bool:
    """Whether it is above 0 if its columns are."""
    match expr:
        case Column():
            return expr.type.is_integer
        case Arithmetic(Operator.ADD | Operator.MULTIPLY, left, right):
            return _is_positive(left) and _is_positive(right)
    return False


def _has_positive_sums(relation: Relation, rows: tuple[WitnessRow, ...]) -> bool:
    aggregations = (a for node in walk_relations(relation) if isinstance(node, Aggregate) for a in node.aggregations)
    summed = {
        c for a in aggregations if a.function is AggregateFunction.SUM and a.argument for c in columns(a.argument)
    }
    for stream in streams(relation):
        places = [place for place, column in enumerate(stream.schema) if column in summed]
        values = (row.values[place] for row in rows if row.stream == stream.name for place in places)
        if any(isinstance(value, int) and value <= 0 for value in values):
            return False
    return True


def _is_replacing(node: Relation) -> bool:
    """Whether its changes may leave the number of its rows as it was."""
    window = node.input if isinstance(node, Select) else node
    return isinstance(window, Window)


def _keys(node: Aggregate) -> frozenset[Column]:
    return frozenset(column for key in node.keys for column in columns(key.expr))


def _named(relation: Relation) -> Mapping[str, Stream]:
    return {stream.occurrence: stream for stream in streams(relation)}


def _differ(make: RowMaker, column: Column, combinations: Sequence[Combination]) -> bool:
    """Whether a column, but one that tells the time, has another value in each combination."""
    if column.scope not in make.streams or column == make.streams[column.scope].timestamp:
        return False
    values = {make.given(column.scope, each[column.scope], n)[column] for n, each in enumerate(combinations)}
    return len(values) == len(combinations)


def _is_plain(relation: Relation) -> bool:
    """Whether it is streams that lose no row, joined and filtered by what the theories see."""
    return all(
        (isinstance(node, Window) and isinstance(node.spec, Unbounded)) or isinstance(node, Select | Join | SemiJoin)
        for node in walk_relations(relation)
    ) and all(map(is_seen, truths(relation)))


def _flat(node: Relation) -> Block:
    """The streams that a node joins, NULLs left aside."""
    if isinstance(node, AntiJoin):
        left, right = flat_block(node.left), flat_block(node.right)
        block = Block(left.operands + right.operands, left.predicates + right.predicates + node.on)
    else:
        block = flat_block(node)
    return replace(block, predicates=tuple(map(plain, block.predicates)))


def _is_found(node: Relation, operand: Operand) -> bool:
    """Whether a node may show whether a row of an operand is there, however its sides are read."""
    if isinstance(node, Join) and not any(isinstance(below, SemiJoin) for below in walk_relations(node)):
        return True
    return not _has_twice(node) and not (isinstance(node, AntiJoin) and operand.relation not in node.inputs)


def _is_lasting(block: Block, kept: Operand, has_partners: bool) -> bool:
    """Whether rows that came are there when others complete them, which all come at one instant.

    A row of a partition of its own stays. Windows of the others do not matter, if no other row has to be there before.
    """
    others = [operand.window for operand in block.others(kept)]
    if kept.window is None or not isinstance(kept.window.spec, Unbounded | PartitionRows):
        return False
    names = [kept.window.stream.name.lower(), *(window.stream.name.lower() for window in others if window)]
    leaving = not all(window and isinstance(window.spec, Unbounded) for window in (kept.window, *others))
    if leaving and len(set(names)) < len(names):
        return False
    return not has_partners or all(window and isinstance(window.spec, Unbounded) for window in others)


def _tells_items(kept: Operand, own: set[Column], shown: _Shown, block: Block) -> bool:
    """Whether the columns that are an item's own tell all that has to do with it from what others have.

    That is its partition, the results that have it, and where any row would do, as on the right of a semi-join, that
    what follows finds this one.
    """
    pairs = [{view.left, view.right} for view in map(classify, block.predicates) if isinstance(view, ColumnEquality)]
    equal = set(own)
    for _ in pairs:
        equal = equal.union(*(pair for pair in pairs if pair & equal))
    mine = frozenset(kept.relation.schema)
    spec = kept.window.spec if kept.window else None
    if isinstance(spec, PartitionRows) and not own & set(spec.by):
        return False
    if not mine <= frozenset(shown.node.schema) and not equal - mine:
        return False
    return shown.keys is None or bool(equal & shown.keys)


def _is_apart(node: Relation) -> bool:
    """Whether the sides of an anti-join read different streams, so that rows can come on one side only."""
    left, right = ({stream.name.lower() for stream in streams(side)} for side in node.inputs)
    return bool(right) and not left & right


def _has_twice(relation: Relation) -> bool:
    names = [stream.name.lower() for stream in streams(relation)]
    return len(set(names)) < len(names)


def _as_join(node: SetOp) -> Join | None:
    """The pairs of equal rows of both sides; None where a side computes what it gives, or both read one stream."""
    if _has_twice(node):
        return None
    sides, given = [], []
    for side in node.inputs:
        sides.append(side.input if isinstance(side, Project) else side)
        given.append([o.expr for o in side.outputs] if isinstance(side, Project) else list(side.schema))
    timed = {stream.timestamp for stream in streams(node)}
    pairs = [Compare(Comparator.EQ, left, right) for left, right in zip(*given, strict=True)]
    if not all(isinstance(e, Column) and e not in timed for pair in pairs for e in (pair.left, pair.right)):
        return None
    joined = Join(tuple(sides), tuple(pairs))
    return joined if _is_plain(joined) else None
