"""EMIT ON CLOSE, from its definition: at each instant, which groups closed then, and what they hold.

A group is closed at t if each stream that it reads is, for the group's keys. A stream is closed
- by a punctuation of it up to t, all of whose columns are equal to keys, or NULL as they are;
- by time, if a key never falls as its time goes on, and the key of the next instant is greater;
- r after another stream was, or after the row of it that the keys name, if its rows come at most r after those that
  they join: by a condition on both times, or because they are referred to within r;
- if by UNIQUE the keys name one row of it, or a row that they name does.

Of an outer join the rows without a partner are a side beside its combinations, closed when their own streams are, and
those of the partners that they might have. Of UNION ALL each side is closed by itself, and none of its rows need be
there. A punctuation of one side that is a row
of it, and refers to the other within r, closes the other r later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import TypeAlias

from penstock.algebra.expressions import (
    And,
    Arithmetic,
    Call,
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    Literal,
    Operator,
    columns,
    substitute,
)
from penstock.algebra.relations import (
    Aggregate,
    Join,
    OuterJoin,
    Project,
    Relation,
    Repeat,
    Select,
    SetOp,
    Window,
    walk_relations,
)
from penstock.catalog import Catalog, Punctuated, Reference, StreamDef, Unique, WithinTime
from penstock.types import Kind
from tests.reference.instants import first_number, most_microseconds
from tests.reference.relations import Inputs, relation_at
from tests.reference.scalar import evaluate, holds
from tests.reference.values import Row, Value, canonical, identity
from tests.reference.windows import Element


def groups_closing(relation: Relation, catalog: Catalog, inputs: Inputs, horizon: int) -> Iterator[tuple[int, Row]]:
    """The rows of groups, each with the instant at which its group closes."""
    groups = relation
    while isinstance(groups, Select | Project | Repeat):
        groups = groups.input
    assert isinstance(groups, Aggregate)
    closing = _Closing(groups, catalog, inputs, horizon)
    done: set[object] = set()
    for t in closing.instants():
        for row in relation_at(groups, inputs, t):
            key = tuple(map(canonical, row[: len(groups.keys)]))
            if identity(key) not in done and closing.is_closed(key, t):
                done.add(identity(key))
                yield from ((t, shown) for shown in _above(relation, groups, row))


def _above(relation: Relation, groups: Aggregate, row: Row) -> list[Row]:
    """What HAVING and the select list make of a group's row."""
    if relation is groups:
        return [row]
    assert isinstance(relation, Select | Project | Repeat)
    below = [dict(zip(relation.input.schema, one, strict=True)) for one in _above(relation.input, groups, row)]
    if isinstance(relation, Select):
        return [tuple(one.values()) for one in below if holds(relation.predicates, one)]
    if isinstance(relation, Repeat):
        return [tuple(one.values()) for one in below for _ in range(int(one[relation.times]))]  # type: ignore[arg-type]
    return [tuple(evaluate(output.expr, one) for output in relation.outputs) for one in below]


class _Closing:
    """The blocks below GROUP BY: one, or of UNION ALL one for each side."""

    def __init__(self, groups: Aggregate, catalog: Catalog, inputs: Inputs, horizon: int) -> None:
        self._horizon = horizon
        keys = [key.expr for key in groups.keys]

        def block(relation: Relation, *about: list[Expr], partners: Relation | None = None) -> _Block:
            return _Block(relation, *about, catalog, inputs, horizon, partners)

        self._tree = _tree(groups.input, keys, [], block)

    def instants(self) -> list[int]:
        """All at which a group may come or close."""
        blocks = list(_blocks(self._tree))
        found = {t for block in blocks for t in block.instants()}
        if len(blocks) > 1:  # a side may close for a key that only rows of another side have
            keys = [key for block in blocks for key in block.time_keys()]
            found |= {t for block in blocks for number, value in keys for t in block.closing_for(number, value)}
        found |= {
            t + reach for t in found for one in blocks for other in blocks for reach in one.referred_within(other)
        }
        return sorted(t for t in found if 0 <= t <= self._horizon)

    def is_closed(self, key: Row, t: int) -> bool:
        if isinstance(self._tree, _Block):
            return self._tree.is_closed(key, t)
        return _is_union_closed(self._tree, key, t)


def _tree(relation: Relation, keys: list[Expr], conditions: list[Expr], block: Callable[..., _Block]) -> _Tree:
    """The blocks of a relation, with keys and conditions above them over their own columns."""
    match relation:
        case Select(below, predicates):
            return _tree(below, keys, [*conditions, *predicates], block)
        case Project(below, outputs):
            inside = {output.column: output.expr for output in outputs}
            return _tree(below, *([substitute(e, inside) for e in some] for some in (keys, conditions)), block)
        case SetOp(inputs=sides, schema=schema):
            found = []
            for side in sides:
                own: dict[Column, Expr] = dict(zip(schema, side.schema, strict=True))
                found.append(_tree(side, *([substitute(e, own) for e in some] for some in (keys, conditions)), block))
            return tuple(found)
        case OuterJoin(left, right, on):
            pairs = Join((left, right), on)
            found = [block(pairs, keys, conditions)]
            for keeps, kept, missing in ((relation.keeps_left, left, right), (relation.keeps_right, right, left)):
                nulls: dict[Column, Expr] = {column: Literal(None, column.type) for column in missing.schema}
                alone = [[substitute(e, nulls) for e in some] for some in (keys, conditions)]
                if keeps:
                    found += [block(kept, *alone), block(pairs, *alone, partners=missing)]
            return tuple(found)
    return block(relation, keys, conditions)


def _blocks(tree: _Tree) -> Iterator[_Block]:
    if isinstance(tree, _Block):
        yield tree
    else:
        for side in tree:
            yield from _blocks(side)


def _is_union_closed(sides: tuple[_Tree, ...], key: Row, t: int) -> bool:
    return all(
        (_is_union_closed(side, key, t) if isinstance(side, tuple) else side.is_closed_by_itself(key, t))
        or any(
            isinstance(side, _Block) and isinstance(other, _Block) and side.is_referred_to(other, key, t)
            for other in sides
            if other is not side
        )
        for side in sides
    )


class _Block:
    """A stream or a join, grouped by keys over its columns."""

    def __init__(
        self,
        relation: Relation,
        keys: list[Expr],
        conditions: list[Expr],
        catalog: Catalog,
        inputs: Inputs,
        horizon: int,
        partners: Relation | None = None,
    ) -> None:
        self._catalog, self._inputs, self._horizon = catalog, inputs, horizon
        nodes = list(walk_relations(relation))
        computed = {o.column: o.expr for node in nodes if isinstance(node, Project) for o in node.outputs}
        self._windows = [node for node in nodes if isinstance(node, Window)]
        #: The streams whose rows change it: of partners that rows might have, only theirs.
        asked = nodes if partners is None else list(walk_relations(partners))
        self._changing = [node for node in asked if isinstance(node, Window)]
        self._keys = [_resolved(key, computed) for key in keys]
        own = [
            p for n in nodes if isinstance(n, Select | Join) for p in (n.predicates if isinstance(n, Select) else n.on)
        ]
        self._conditions = [
            _resolved(part, computed) for predicate in (*conditions, *own) for part in _conjuncts(predicate)
        ]
        self._follows = list(self._following())

    def instants(self) -> set[int]:
        found = {element.ts for name in self._inputs for element in self._inputs[name].elements}
        for window, key in product(self._windows, self._keys):
            if self._is_time(key, window):
                found |= {self._last_with(key, window, element) for element in self._elements(window)}
        for _ in self._windows:
            found |= {t + reach for t in found for _, _, reach in self._follows}
        return found

    def time_keys(self) -> Iterator[tuple[int, Value]]:
        """The keys of its rows that round a time, each with its number."""
        for window, (number, key) in product(self._windows, enumerate(self._keys)):
            if self._is_time(key, window):
                for element in self._elements(window):
                    yield number, evaluate(key, dict(zip(window.stream.schema, element.row, strict=True)))

    def closing_for(self, number: int, value: Value) -> Iterator[int]:
        """The last instants at which a key may have a value."""
        for window in self._windows:
            if self._is_time(self._keys[number], window):
                yield self._last_up_to(self._keys[number], window, value, -1)

    def is_closed(self, key: Row, t: int) -> bool:
        """Whether it is closed for a group that has a row of it."""
        rows = self._named_rows(key, t)
        return all(
            window.stream.occurrence in rows or self._is_stream_closed(window, key, t, frozenset(), rows)
            for window in self._windows
        )

    def is_closed_by_itself(self, key: Row, t: int) -> bool:
        return self._has_no_row(key) or all(
            self._is_stream_closed(window, key, t, frozenset(), {}) for window in self._changing
        )

    def _has_no_row(self, key: Row) -> bool:
        """Whether a key is NULL that a condition compares: then no row is of the group."""
        nulls = {expr for expr, value in zip(self._keys, key, strict=True) if value is None}
        return any(
            isinstance(condition, Compare)
            and condition.op is not Comparator.SAME
            and bool({condition.left, condition.right} & nulls)
            for condition in self._conditions
        )

    def is_referred_to(self, other: _Block, key: Row, t: int) -> bool:
        """Whether punctuations of another side, which are rows of it, say what its rows refer to has come."""
        return any(
            other._is_closed_by(other._windows[0], scheme, key, t - reach) and None not in key_of(key)
            for scheme, key_of, reach in self._references_from(other)
        )

    def referred_within(self, other: _Block) -> list[int]:
        return [reach for _, _, reach in self._references_from(other)]

    def _references_from(self, other: _Block) -> Iterator[tuple[Punctuated, Callable[[Row], Row], int]]:
        if self is other or len(self._windows) != 1 or len(other._windows) != 1:
            return
        (window,), (referring,) = self._windows, other._windows
        constraints = self._definition(referring.stream.name).constraints
        for scheme, reference in product(constraints, constraints):
            if not isinstance(scheme, Punctuated) or not isinstance(reference, Reference):
                continue
            is_timed = (
                isinstance(reference.within, WithinTime) and reference.parent.lower() == window.stream.name.lower()
            )
            if scheme.when is None or scheme.lifespan is not None or not is_timed:
                continue
            pairs = list(zip(reference.columns, reference.parent_columns, strict=True))
            places = [
                [
                    n
                    for n, k in enumerate(other._keys)
                    if k == _named(referring, a) and self._keys[n] == _named(window, b)
                ]
                for a, b in pairs
            ]
            if all(places) and {a.lower() for a, _ in pairs} <= {name.lower() for name in scheme.columns}:
                assert isinstance(reference.within, WithinTime)
                chosen = [some[0] for some in places]
                yield scheme, lambda key, chosen=chosen: tuple(key[n] for n in chosen), reference.within.microseconds

    def _is_stream_closed(self, window: Window, key: Row, t: int, asked: frozenset[str], rows: _Rows) -> bool:
        """By `rows`: those that the keys name."""
        if t < 0:
            return False
        by_time = any(
            self._is_time(expr, window) and value is not None and _at(expr, window, t + 1) > value  # type: ignore[operator]
            for expr, value in zip(self._keys, key, strict=True)
        )
        return by_time or self._is_punctuated(window, key, t) or self._follows_closed(window, key, t, asked, rows)

    def _follows_closed(self, window: Window, key: Row, t: int, asked: frozenset[str], rows: _Rows) -> bool:
        asked |= {window.stream.occurrence}
        return any(
            self._is_stream_closed(other, key, t - reach, asked, rows) or self._has_come(other, rows, t - reach)
            for later, other, reach in self._follows
            if later is window and other.stream.occurrence not in asked
        )

    def _has_come(self, window: Window, rows: _Rows, t: int) -> bool:
        row = rows.get(window.stream.occurrence)
        return row is not None and row.ts <= t

    def _is_punctuated(self, window: Window, key: Row, t: int) -> bool:
        schemes = self._definition(window.stream.name).constraints
        return any(
            isinstance(scheme, Punctuated) and scheme.lifespan is None and self._is_closed_by(window, scheme, key, t)
            for scheme in schemes
        )

    def _is_closed_by(self, window: Window, scheme: Punctuated, key: Row, t: int) -> bool:
        values = [self._value_of(_named(window, name), key) for name in scheme.columns]
        if not all(values):  # each is known, as (value,)
            return False
        wanted = tuple(value[0] for value in values if value)
        told = self._punctuations(self._definition(window.stream.name), scheme)
        return any(ts <= t and punctuation == wanted for ts, punctuation in told)

    def _punctuations(self, definition: StreamDef, scheme: Punctuated) -> Iterator[tuple[int, Row]]:
        if scheme.when is None and scheme.source is None:
            return
        name = definition.name if scheme.when is not None else scheme.source
        assert name is not None
        names = scheme.columns if scheme.when is not None else scheme.source_columns
        given = self._inputs[name.lower()]
        schema = [Column("", a.name, a.type) for a in given.attributes]
        lower = [column.name.lower() for column in schema]
        for element in given.elements:
            if scheme.when is None or evaluate(scheme.when, dict(zip(schema, element.row, strict=True))) is True:
                yield element.ts, tuple(canonical(element.row[lower.index(column.lower())]) for column in names)

    def _value_of(self, column: Column, key: Row) -> tuple[Value, ...]:
        """What a column has to be for a row to be of a group, if that is known: by a key, or by a constant."""
        equal = self._equal_to({column})
        for expr, value in zip(self._keys, key, strict=True):
            if expr in equal:
                return (value,)
        for condition in self._conditions:
            if isinstance(condition, Compare) and condition.op is Comparator.EQ:
                for one, other in ((condition.left, condition.right), (condition.right, condition.left)):
                    if one in equal and isinstance(other, Literal):
                        return (canonical(other.value),)
        return ()

    def _equal_to(self, some: set[Column]) -> set[Column]:
        known, before = set(some), set[Column]()
        while known != before:
            before = set(known)
            for condition in self._conditions:
                if isinstance(condition, Compare) and condition.op is Comparator.EQ:
                    left, right = _plain(condition.left), _plain(condition.right)
                    if left is not None and right is not None and known & {left, right}:
                        known |= {left, right}
        return known

    def _named_rows(self, key: Row, t: int) -> _Rows:
        """The rows up to t that the keys name by UNIQUE, or that such a row names, by occurrence."""
        known: dict[Column, Value] = {}
        for expr, value in zip(self._keys, key, strict=True):
            if isinstance(expr, Column):
                known |= dict.fromkeys(self._equal_to({expr}), value)
        rows: dict[str, Element] = {}
        before = -1
        while len(rows) > before:
            before = len(rows)
            for window in (w for w in self._windows if w.stream.occurrence not in rows):
                row = self._named_row(window, known, t)
                if row is not None:
                    rows[window.stream.occurrence] = row
                    for column in window.stream.schema:
                        value = canonical(self._value_in(window, row, column))
                        for same in self._equal_to({column}):
                            known.setdefault(same, value)
        return rows

    def _named_row(self, window: Window, known: Mapping[Column, Value], t: int) -> Element | None:
        for unique in self._definition(window.stream.name).constraints:
            if isinstance(unique, Unique):
                named = [_named(window, name) for name in unique.columns]
                if all(column in known for column in named):
                    for row in self._elements(window):
                        values = [canonical(self._value_in(window, row, column)) for column in named]
                        if row.ts <= t and values == [known[column] for column in named]:
                            return row
        return None

    def _value_in(self, window: Window, row: Element, column: Column) -> Value:
        names = [attribute.name for attribute in self._inputs[window.stream.name.lower()].attributes]
        return row.row[names.index(column.name)]

    def _following(self) -> Iterator[tuple[Window, Window, int]]:
        """Pairs of occurrences, of which rows of the first come at most so much after rows of the second."""
        times = {window.stream.timestamp: window for window in self._windows}
        for condition in self._conditions:
            if isinstance(condition, Compare):
                left, right = _shifted(condition.left), _shifted(condition.right)
                if left is not None and right is not None and left[0] in times and right[0] in times:
                    one, other = times[left[0]], times[right[0]]
                    if one.stream.unit.name != other.stream.unit.name:
                        continue
                    strict = condition.op in (Comparator.LT, Comparator.GT)
                    if condition.op in (Comparator.LT, Comparator.LE, Comparator.EQ):
                        yield one, other, most_microseconds(right[1] - left[1] - strict, one.stream.unit.name)
                    if condition.op in (Comparator.GT, Comparator.GE, Comparator.EQ):
                        yield other, one, most_microseconds(left[1] - right[1] - strict, one.stream.unit.name)
        for child, parent in product(self._windows, self._windows):
            for reference in self._definition(child.stream.name).constraints:
                if isinstance(reference, Reference) and reference.parent.lower() == parent.stream.name.lower():
                    pairs = zip(reference.columns, reference.parent_columns, strict=True)
                    joined = all(_named(parent, b) in self._equal_to({_named(child, a)}) for a, b in pairs)
                    if joined and child is not parent and isinstance(reference.within, WithinTime):
                        yield parent, child, reference.within.microseconds

    def _is_time(self, key: Expr, window: Window) -> bool:
        """Whether a key rounds a stream's time."""
        return columns(key) == {window.stream.timestamp} and _rounds(key)

    def _last_with(self, key: Expr, window: Window, element: Element) -> int:
        own = evaluate(key, dict(zip(window.stream.schema, element.row, strict=True)))
        return self._last_up_to(key, window, own, element.ts)

    def _last_up_to(self, key: Expr, window: Window, own: Value, low: int) -> int:
        high = self._horizon + 1
        while high - low > 1:
            middle = (low + high) // 2
            if _at(key, window, middle) > own:  # type: ignore[operator]
                high = middle
            else:
                low = middle
        return low

    def _elements(self, window: Window):  # type: ignore[no-untyped-def]
        return self._inputs[window.stream.name.lower()].elements

    def _definition(self, name: str) -> StreamDef:
        definition = self._catalog.get(name)
        assert isinstance(definition, StreamDef)
        return definition


def _at(key: Expr, window: Window, instant: int) -> Value:
    """The least key of rows that come at an instant or later."""
    return evaluate(key, {window.stream.timestamp: first_number(instant, window.stream.unit.name)})


def _named(window: Window, name: str) -> Column:
    return next(column for column in window.stream.schema if column.name.lower() == name.lower())


def _resolved(expr: Expr, computed: Mapping[Column, Expr]) -> Expr:
    while (deeper := substitute(expr, dict(computed))) != expr:
        expr = deeper
    return expr


def _conjuncts(expr: Expr) -> list[Expr]:
    return [part for arg in expr.args for part in _conjuncts(arg)] if isinstance(expr, And) else [expr]


def _plain(expr: Expr) -> Column | None:
    """A column, perhaps of whole numbers that were widened."""
    if isinstance(expr, Cast) and expr.arg.type.is_integer and expr.type.is_integer:
        return _plain(expr.arg)
    return expr if isinstance(expr, Column) else None


def _shifted(expr: Expr) -> tuple[Column, int] | None:
    """A column and what is added to it."""
    match expr:
        case Column():
            return expr, 0
        case Arithmetic(Operator.ADD, Column() as column, Literal(int(by))):
            return column, by
        case Arithmetic(Operator.SUBTRACT, Column() as column, Literal(int(by))):
            return column, -by
    return None


def _rounds(expr: Expr) -> bool:
    """Whether an expression of a time never falls as it goes on, by how it is made."""
    match expr:
        case Column():
            return True
        case Call("DATE_TRUNC", (Literal(), arg)) | Call(
            "UNIX_SECONDS" | "UNIX_MILLIS" | "UNIX_MICROS" | "YEAR", (arg,)
        ):
            return _rounds(arg)
        case Call("TIMESTAMP_SECONDS" | "TIMESTAMP_MILLIS" | "TIMESTAMP_MICROS", (arg,)):
            return _rounds(arg)
        case Cast(arg, type_):
            rounds = type_.kind in (Kind.DATE, Kind.BIGINT) or (expr.arg.type.kind is Kind.DATE and expr.zone == "UTC")
            return rounds and _rounds(arg)
        case Arithmetic(Operator.DIVIDE | Operator.MULTIPLY, arg, Literal(int(by))):
            return by > 0 and expr.type.is_integer and _rounds(arg)
        case Arithmetic(Operator.SUBTRACT, arg, Arithmetic(Operator.MODULO, same, Literal(int(by)))):
            positive = (
                isinstance(same, Arithmetic)
                and same.op is Operator.ADD
                and same.right == Literal(by, arg.type)
                and same.left == Arithmetic(Operator.MODULO, arg, Literal(by, arg.type))
            )
            return by > 0 and (arg == same or positive) and _rounds(arg)
        case Arithmetic(Operator.ADD | Operator.SUBTRACT, arg, Literal(int())) | Arithmetic(
            Operator.ADD, Literal(int()), arg
        ):
            return _rounds(arg)
        case Arithmetic(Operator.MULTIPLY, Literal(int(by)), arg):
            return by > 0 and expr.type.is_integer and _rounds(arg)
        case Arithmetic(Operator.ADD, left, right):
            return expr.type.is_integer and _rounds(left) and _rounds(right)
    return False


_Tree: TypeAlias = "_Block | tuple[_Tree, ...]"
_Rows: TypeAlias = Mapping[str, Element]
