"""EMIT ON CLOSE, from its definition: at each instant, which groups closed then, and what they hold.

A group is closed at t if each stream that it reads is, for the group's keys. A stream is closed
- by a punctuation of it up to t, all of whose columns are equal to keys, or NULL as they are;
- by time, if a key rounds its time, and the key of the next instant is greater;
- r after another stream was, if its rows come at most r after those that they join: by a condition on both times, or
  because they are referred to within r;
- if by UNIQUE the keys name one row of it, or a row that they name does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

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
from penstock.algebra.relations import Aggregate, Join, Project, Relation, Select, Window, walk_relations
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
    while isinstance(groups, Select | Project):
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
    assert isinstance(relation, Select | Project)
    below = [dict(zip(relation.input.schema, one, strict=True)) for one in _above(relation.input, groups, row)]
    if isinstance(relation, Select):
        return [tuple(one.values()) for one in below if holds(relation.predicates, one)]
    return [tuple(evaluate(output.expr, one) for output in relation.outputs) for one in below]


class _Closing:
    def __init__(self, groups: Aggregate, catalog: Catalog, inputs: Inputs, horizon: int) -> None:
        self._catalog, self._inputs, self._horizon = catalog, inputs, horizon
        nodes = list(walk_relations(groups.input))
        computed = {o.column: o.expr for node in nodes if isinstance(node, Project) for o in node.outputs}
        self._windows = [node for node in nodes if isinstance(node, Window)]
        self._keys = [_resolved(key.expr, computed) for key in groups.keys]
        self._conditions = [
            _resolved(part, computed)
            for node in nodes
            if isinstance(node, Select | Join)
            for predicate in (node.predicates if isinstance(node, Select) else node.on)
            for part in _conjuncts(predicate)
        ]
        self._follows = list(self._following())

    def instants(self) -> list[int]:
        """All at which a group may come or close."""
        found = {element.ts for name in self._inputs for element in self._inputs[name].elements}
        for window, key in product(self._windows, self._keys):
            if self._is_time(key, window):
                found |= {self._last_with(key, window, element) for element in self._elements(window)}
        for _ in self._windows:
            found |= {t + reach for t in found for _, _, reach in self._follows}
        return sorted(t for t in found if 0 <= t <= self._horizon)

    def is_closed(self, key: Row, t: int) -> bool:
        return all(
            self._is_named(window) or self._is_stream_closed(window, key, t, frozenset()) for window in self._windows
        )

    def _is_stream_closed(self, window: Window, key: Row, t: int, asked: frozenset[str]) -> bool:
        if t < 0:
            return False
        by_time = any(
            self._is_time(expr, window) and value is not None and _at(expr, window, t + 1) > value  # type: ignore[operator]
            for expr, value in zip(self._keys, key, strict=True)
        )
        return by_time or self._is_punctuated(window, key, t) or self._follows_closed(window, key, t, asked)

    def _follows_closed(self, window: Window, key: Row, t: int, asked: frozenset[str]) -> bool:
        asked |= {window.stream.occurrence}
        return any(
            self._is_stream_closed(other, key, t - reach, asked)
            for later, other, reach in self._follows
            if later is window and other.stream.occurrence not in asked
        )

    def _is_punctuated(self, window: Window, key: Row, t: int) -> bool:
        definition = self._definition(window.stream.name)
        for scheme in definition.constraints:
            if not isinstance(scheme, Punctuated) or scheme.lifespan is not None:
                continue
            values = [self._value_of(_named(window, name), key) for name in scheme.columns]
            if all(values):  # each is known, as (value,)
                wanted = tuple(value[0] for value in values if value)
                if any(ts <= t and punctuation == wanted for ts, punctuation in self._punctuations(definition, scheme)):
                    return True
        return False

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

    def _is_named(self, window: Window) -> bool:
        """Whether the keys name a row of a stream, by UNIQUE."""
        known = self._equal_to({key for key in self._keys if isinstance(key, Column)})
        named, before = set[str](), None
        while named != before:
            before = set(named)
            for other in self._windows:
                uniques = (c for c in self._definition(other.stream.name).constraints if isinstance(c, Unique))
                if any(all(_named(other, name) in known for name in unique.columns) for unique in uniques):
                    named.add(other.stream.occurrence)
                    known = self._equal_to(known | set(other.stream.schema))
        return window.stream.occurrence in named

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
        low, high = element.ts, self._horizon + 1
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
    match expr:
        case Column():
            return True
        case Call("DATE_TRUNC", (Literal(), arg)) | Call("UNIX_SECONDS" | "UNIX_MILLIS" | "UNIX_MICROS", (arg,)):
            return _rounds(arg)
        case Call("TIMESTAMP_SECONDS" | "TIMESTAMP_MILLIS" | "TIMESTAMP_MICROS", (Column(),)):
            return True
        case Cast(arg, type_):
            return type_.kind is Kind.DATE and _rounds(arg)
        case Arithmetic(Operator.DIVIDE, arg, Literal(int(by))):
            return by > 0 and expr.type.is_integer and _rounds(arg)
    return False
