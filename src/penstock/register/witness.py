"""Witnesses: input after which any plan must remember as much as came.

N items come, no two of them alike; then, for each of them, rows to which it matters whether it came. So no two sets of
items can lead to one state, and any plan needs memory that grows with N. In words for messages, as rows for
`--witness N`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, Value
from penstock.algebra.predicates import Bound, Difference, Equality, View, classify
from penstock.algebra.relations import (
    Aggregate,
    AntiJoin,
    Distinct,
    Join,
    PartitionRows,
    Project,
    Query,
    Relation,
    SemiJoin,
    SetOp,
    SetOperator,
    Stream,
    Window,
    streams,
    walk_relations,
)
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog
from penstock.register.blocks import block_of
from penstock.register.closing import Purging, solutions
from penstock.register.finite import Interval, intervals, truths
from penstock.register.states import Holder, State
from penstock.types import Kind, Type

_JOINS = (Holder.JOIN, Holder.SEMI_JOIN, Holder.ANTI_JOIN)


@dataclass(frozen=True, slots=True)
class WitnessRow:
    """A row of a stream, in the order of its attributes: of an item, or of what follows when all items are there."""

    stream: str
    item: int | None
    ts: int
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Witness:
    query: Query
    catalog: Catalog
    state: State

    @property
    def words(self) -> str:
        """What comes, in the user's columns."""
        names = ", ".join(dict.fromkeys(column.name for column in self.state.columns)) or "values"
        of = f" of {self.state.stream}" if self.state.stream else ""
        if self.state.holder in _JOINS:
            return f"let N rows{of} come, each with its own {names}: a partner of any of them may come next"
        return f"let N rows come, each with its own {names}: the next may be like any of them"

    def rows(self, size: int) -> tuple[WitnessRow, ...]:
        """The rows in the order of their arrival; none where predicates are out of the theory's sight."""
        relation = normalise(self.query).relation
        if self.state.holder in _JOINS:
            found = self._joined(relation, size)
        elif self.state.holder is Holder.SET_OPERATION:
            found = self._two_sided(relation, size)
        else:
            found = self._keyed(relation, size)
        timed = _from_zero(list(found))
        return tuple(sorted(timed, key=lambda row: (row.item is None, row.ts)))

    def _joined(self, relation: Relation, size: int) -> Iterator[WitnessRow]:
        """Rows of the operand, with partners that do not end their wait, and then a row that completes each result."""
        for node in walk_relations(relation):
            block = block_of(node) if isinstance(node, Join | SemiJoin | AntiJoin) else None
            operand = next((o for o in block.operands if o.name == self.state.stream), None) if block else None
            if block is None or operand is None or not all(o.window or o.is_static for o in block.operands):
                continue
            if not _seen(block.predicates) or _asked_once(relation, node):
                return
            defeat = Purging(block, self.catalog).defeating(operand, size)
            make = _Maker({o.name: o.window.stream for o in block.operands if o.window}, intervals(block.predicates))
            each = len(defeat.partners) // size
            for item in range(size):
                came = (defeat.kept[item], *defeat.partners[item * each : (item + 1) * each])
                yield from make.rows({row.stream: dict(row.values) for row in came}, item, item)
                yield from make.rows({row.stream: dict(row.values) for row in defeat.futures[item]}, item, None)
            return

    def _keyed(self, relation: Relation, size: int) -> Iterator[WitnessRow]:
        """A row, or a combination of rows that join, for each key; and then all of them again."""
        below = next((found for node in walk_relations(relation) if (found := self._held(node)) is not None), None)
        below = below.input if isinstance(below, Project) else below
        if self.state.holder is Holder.RSTREAM and isinstance(below, Aggregate):
            # Every row of the result is given again when any row comes.
            below = below.input
        if below is None or isinstance(below, SetOp | Aggregate | Distinct | AntiJoin) or not _seen(truths(below)):
            return
        again = below.spec.count if isinstance(below, Window) and isinstance(below.spec, PartitionRows) else 1
        named = {stream.occurrence: stream for stream in streams(below)}
        make = _Maker(named, intervals(truths(below)))
        for item, combination in enumerate(solutions(below, self.catalog, size)):
            yield from make.rows(combination, item, item)
            for time in range(again):
                yield from make.rows(combination, item, None, later=size * (time + 1))

    def _two_sided(self, relation: Relation, size: int) -> Iterator[WitnessRow]:
        """Rows of one side of a set operator, and then rows of the other that are equal to them.

        EXCEPT must know which rows of its right side came when their equals come on the left; the others the reverse.
        """
        node = next(
            (n for n in walk_relations(relation) if isinstance(n, SetOp) and _scope(n) == self.state.scope), None
        )
        joined = _as_join(node) if node is not None else None
        if node is None or joined is None or not _seen(truths(joined)):
            return
        first, then = (node.right, node.left) if node.op is SetOperator.EXCEPT else (node.left, node.right)
        for item, combination in enumerate(solutions(joined, self.catalog, size)):
            for side, number, later in ((first, item, 0), (then, None, size)):
                make = _Maker({s.occurrence: s for s in streams(side)}, intervals(truths(joined)))
                yield from make.rows(combination, item, number, later)

    def _held(self, node: Relation) -> Relation | None:
        """The relation below the operator that holds the state."""
        match self.state.holder, node:
            case ((Holder.GROUP_BY | Holder.AGGREGATE_VALUES), Aggregate(below)) if (
                node.schema[0].scope == self.state.scope
            ):
                return below
            case Holder.DISTINCT, Distinct(below) if node.schema[0].scope == self.state.scope:
                return below
            case Holder.RSTREAM, _:
                return node
            case Holder.WINDOW, Window(stream, PartitionRows()) if stream.occurrence == self.state.stream:
                return node
        return None


def _scope(relation: Relation) -> str:
    return relation.schema[0].scope


def _as_join(node: SetOp) -> Join | None:
    """The pairs of equal rows of both sides; None where a side computes what it gives, or both read one stream."""
    left, right = ({stream.name for stream in streams(side)} for side in node.inputs)
    if left & right:
        return None
    sides, columns = [], []
    for side in node.inputs:
        below, given = (
            (side.input, [o.expr for o in side.outputs]) if isinstance(side, Project) else (side, side.schema)
        )
        if any(isinstance(n, SetOp | Aggregate | Distinct | AntiJoin | SemiJoin) for n in walk_relations(below)):
            return None
        sides.append(below)
        columns.append(given)
    pairs = list(zip(*columns, strict=True))
    if not all(isinstance(expr, Column) for pair in pairs for expr in pair):
        return None
    return Join(tuple(sides), tuple(Compare(Comparator.EQ, left, right) for left, right in pairs))


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes rows of streams from the numbers that the theory gives."""

    streams: Mapping[str, Stream]
    bounds: Mapping[Column, Interval]

    def rows(
        self, combination: Mapping[str, Mapping[str, Hashable]], number: int, item: int | None, later: int = 0
    ) -> Iterator[WitnessRow]:
        for name, values in combination.items():
            if name in self.streams:
                stream = self.streams[name]
                given = {c: self._apart(c, values.get(str(c), 0), number) for c in stream.schema}
                time = given[stream.timestamp]
                ts = (time if isinstance(time, int) else 0) + later
                given[stream.timestamp] = ts
                yield WitnessRow(stream.name, item, ts, tuple(_value(given[c], c.type) for c in stream.schema))

    def _apart(self, column: Column, value: Hashable, number: int) -> Hashable:
        """Away from the constant that ties a column down on one side, so that values differ."""
        low, high = self.bounds.get(column, (None, None))
        if not isinstance(value, int) or (low is None) == (high is None):
            return value
        return value + number if high is None else value - number


def witness(query: Query, catalog: Catalog, unbounded: tuple[State, ...]) -> Witness | None:
    return Witness(query, catalog, unbounded[0]) if unbounded else None


def _seen(predicates: Iterable[Expr]) -> bool:
    """Whether the theory sees all predicates, so that its rows satisfy them."""
    return all(_is_seen(classify(predicate)) for predicate in predicates)


def _is_seen(view: View | None) -> bool:
    match view:
        case Bound(column, op, value):
            return op is Comparator.EQ or (isinstance(value, int) and column.type.kind is not Kind.DOUBLE)
        case Difference(op=op):
            return op is not Comparator.NE
    return isinstance(view, Equality)


def _asked_once(relation: Relation, join: Relation) -> bool:
    """Whether DISTINCT is right above a join: then a row may matter only together with others."""
    distinct = (node.input for node in walk_relations(relation) if isinstance(node, Distinct))
    return any(join in (below, *below.inputs) for below in distinct)


def _from_zero(rows: list[WitnessRow]) -> list[WitnessRow]:
    """The same rows if no time is before 0."""
    return rows if all(row.ts >= 0 for row in rows) else []


def _value(value: Hashable, type_: Type) -> Value:
    """A value of a type for a number, different for different numbers."""
    match type_.kind:
        case Kind.STRING if not isinstance(value, str):
            return f"v{value}"
        case Kind.BINARY if not isinstance(value, bytes):
            return str(value).encode()
        case Kind.DOUBLE if isinstance(value, int):
            return float(value)
        case Kind.DECIMAL if isinstance(value, int):
            return Decimal(value)
        case Kind.BOOLEAN:
            return bool(value)
    return value  # type: ignore[return-value]
