"""What advice may ask for: to declare something of a stream, or to change the query; and several of that together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from penstock.algebra.copies import written
from penstock.algebra.expressions import Arithmetic, Column, Comparator, Compare, Expr, Literal, Operator
from penstock.algebra.printing import window_text
from penstock.algebra.relations import (
    AntiJoin,
    Distinct,
    Join,
    OuterJoin,
    Query,
    Relation,
    ToStream,
    Window,
    WindowSpec,
    rewrite_relation,
    walk_relations,
)
from penstock.catalog import Catalog, Clustered, Constraint, NotNull, Punctuated, Reference, StreamDef, Unique
from penstock.closing.declarations import constraint_text, name_text
from penstock.types import BIGINT, HOUR, INTERVAL, TIMESTAMP, TimeUnit

#: To declare anything costs less than to change the answer.
CHANGE = 10_000


@dataclass(frozen=True, slots=True)
class Declare:
    """Say something of a stream. `occurrence` is one that it is about."""

    stream: str
    constraint: Constraint

    @property
    def cost(self) -> int:
        """Punctuations have to come from somewhere; a reference promises a time; a key is often known."""
        return {NotNull: 1, Unique: 1, Punctuated: 3, Clustered: 4, Reference: 4}.get(type(self.constraint), 5)

    def apply(self, query: Query, catalog: Catalog) -> tuple[Query, Catalog]:
        return query, _declaring(catalog, {self.stream: [self.constraint]})

    @property
    def text(self) -> str:
        return f"ALTER STREAM {name_text(self.stream)} ADD {constraint_text(self.constraint)};"

    @property
    def named(self) -> str:
        """As a proof names it that leans on it."""
        return f"{self.stream}: {constraint_text(self.constraint)}"


@dataclass(frozen=True, slots=True)
class SetWindow:
    """Read less of a stream, wherever the query reads this occurrence: the answer changes."""

    stream: str
    occurrence: str
    spec: WindowSpec

    @property
    def cost(self) -> int:
        return 10 * CHANGE

    def apply(self, query: Query, catalog: Catalog) -> tuple[Query, Catalog]:
        def rule(node: Relation) -> Relation:
            hit = isinstance(node, Window) and written(node.stream.occurrence) == self.occurrence
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
        return 6 * CHANGE

    def apply(self, query: Query, catalog: Catalog) -> tuple[Query, Catalog]:
        return _mapped(query, Distinct), catalog

    @property
    def text(self) -> str:
        return "SELECT DISTINCT"


@dataclass(frozen=True, slots=True)
class AddTimeRange:
    """Let only rows join whose times are close: the answer changes. Watermarks then end every wait."""

    left: Column
    right: Column
    unit: TimeUnit = TimeUnit.MICROSECONDS

    @property
    def cost(self) -> int:
        return 8 * CHANGE

    def apply(self, query: Query, catalog: Catalog) -> tuple[Query, Catalog]:
        def rule(node: Relation) -> Relation:
            if isinstance(node, Join | AntiJoin | OuterJoin) and (columns := self._columns(node)) is not None:
                return replace(node, on=node.on + tuple(self._predicates(*columns)))
            return node

        return _mapped(query, lambda relation: rewrite_relation(relation, rule)), catalog

    def can_be_written(self, query: Query) -> bool:
        """Whether both times can be named in one FROM, and not only in normal form, where views have melted."""
        return any(
            isinstance(node, Join | OuterJoin) and self._columns(node) is not None
            for node in walk_relations(query.relation)
        )

    def _columns(self, join: Join | AntiJoin | OuterJoin) -> tuple[Column, Column] | None:
        """The two times in a join that is the first in which they meet; of copies, those of the copies.

        An anti-join counts if it is a case of an outer join: a condition of NOT EXISTS stands elsewhere in the text.
        """
        places: dict[Column, int] = {}
        found: dict[Column, Column] = {}
        for number, below in enumerate(join.inputs):
            for column in below.schema:
                own = replace(column, scope=written(column.scope))
                if not isinstance(join, AntiJoin) or own != column:
                    places[own], found[own] = number, column
        if {self.left, self.right} <= found.keys() and places[self.left] != places[self.right]:
            return found[self.left], found[self.right]
        return None

    def _predicates(self, left: Column, right: Column) -> Iterator[Expr]:
        hour = Literal(HOUR, INTERVAL) if left.type == TIMESTAMP else Literal(self.unit.least(HOUR), BIGINT)
        yield Compare(Comparator.GE, right, Arithmetic(Operator.SUBTRACT, left, hour))
        yield Compare(Comparator.LE, right, Arithmetic(Operator.ADD, left, hour))

    @property
    def text(self) -> str:
        hour = "INTERVAL 1 HOUR" if self.left.type == TIMESTAMP else str(self.unit.least(HOUR))
        left, right = (f"{name_text(each.scope)}.{name_text(each.name)}" for each in (self.left, self.right))
        return f"{right} BETWEEN {left} - {hour} AND {left} + {hour}"


class AdviceStep(Protocol):
    """Something to declare or to change."""

    @property
    def cost(self) -> int: ...

    @property
    def text(self) -> str: ...

    def apply(self, query: Query, catalog: Catalog) -> tuple[Query, Catalog]: ...


@dataclass(frozen=True, slots=True)
class Action:
    """What to declare or to change, all of it."""

    steps: tuple[AdviceStep, ...]

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


def _mapped(query: Query, change: Callable[[Relation], Relation]) -> Query:
    root = query.root
    return replace(query, root=replace(root, input=change(root.input)) if isinstance(root, ToStream) else change(root))
