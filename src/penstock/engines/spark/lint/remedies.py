"""What a Spark user can change to make a query safe: a watermark, a range of times in a join, a time among the keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from penstock.algebra.expressions import Arithmetic, Column, Comparator, Compare, Expr, Literal, Operator
from penstock.algebra.relations import (
    Aggregate,
    Join,
    Output,
    Query,
    Relation,
    SemiJoin,
    Stream,
    rewrite_relation,
    streams,
    walk_relations,
)
from penstock.catalog import Catalog
from penstock.engines.spark.lint.analysed import ARRIVAL, with_watermark
from penstock.engines.spark.lint.expressions import bucket
from penstock.register.advice import Advice, Search, Steps
from penstock.register.states import State
from penstock.register.steps import Action, AdviceStep
from penstock.types import BIGINT, HOUR, INTERVAL, MINUTE, TIMESTAMP

_DELAY = 10 * MINUTE


@dataclass(frozen=True, slots=True)
class Remedies:
    """What would make a Spark query safe, where this is what Spark keeps for a query."""

    kept: Callable[[Query, Catalog], tuple[State, ...]]

    def __call__(self, query: Query, catalog: Catalog, unbounded: tuple[State, ...]) -> Advice:
        """Returns the smallest sets of changes that make it safe."""
        search = Search(_Changed(query, catalog, self.kept), dict.fromkeys(_candidates(query.relation)))
        search.explore()
        return search.advice()


@dataclass(frozen=True, slots=True)
class _Changed:
    query: Query
    catalog: Catalog
    kept: Callable[[Query, Catalog], tuple[State, ...]]

    def is_safe(self, steps: Steps) -> bool:
        return all(state.is_safe for state in self.kept(*Action(steps).apply(self.query, self.catalog)))

    def lacking(self, steps: Steps, pool: Steps) -> Iterable[frozenset[AdviceStep]]:
        """Returns nothing: the remedies are tried one by one."""
        return ()

    @property
    def sure(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class AddWatermark:
    """`withWatermark` on a source that has none."""

    occurrence: str
    column: Column

    @property
    def cost(self) -> int:
        return 2

    @property
    def text(self) -> str:
        return f'{self.occurrence}.withWatermark("{self.column.name}", "10 minutes")'

    def apply(self, query: Query, catalog: Catalog) -> tuple[Query, Catalog]:
        return with_watermark(query, catalog, self.column, _DELAY)


@dataclass(frozen=True, slots=True)
class AddTimeCondition:
    """A range of times in the condition of a join."""

    left: Column
    right: Column

    @property
    def cost(self) -> int:
        return 3

    @property
    def text(self) -> str:
        return f"... AND {self.right} BETWEEN {self.left} - INTERVAL 1 HOUR AND {self.left} + INTERVAL 1 HOUR"

    def apply(self, query: Query, catalog: Catalog) -> tuple[Query, Catalog]:
        def rule(node: Relation) -> Relation:
            seen = {column for below in node.inputs for column in below.schema}
            if isinstance(node, Join | SemiJoin) and {self.left, self.right} <= seen:
                return replace(node, on=node.on + tuple(_between(self.left, self.right)))
            return node

        return replace(query, root=rewrite_relation(query.relation, rule)), catalog


@dataclass(frozen=True, slots=True)
class AddTimeKey:
    """The time, or a window of it, among the keys of a grouping or of dropDuplicates."""

    scope: str
    time: Column

    @property
    def cost(self) -> int:
        return 4

    @property
    def text(self) -> str:
        if self.scope.startswith("dedup"):
            return f'dropDuplicatesWithinWatermark([...]), or "{self.time.name}" among the columns of dropDuplicates'
        return f'groupBy(window("{self.time.name}", "10 minutes"), ...)'

    def apply(self, query: Query, catalog: Catalog) -> tuple[Query, Catalog]:
        def rule(node: Relation) -> Relation:
            if isinstance(node, Aggregate) and node.schema[0].scope == self.scope and self.time in node.input.schema:
                key = bucket(self.time, _DELAY)
                window = Output(Column(self.scope, f"window of {self.time}", key.type), key)
                return replace(node, keys=(*node.keys, window))
            return node

        return replace(query, root=rewrite_relation(query.relation, rule)), catalog


def _between(left: Column, right: Column) -> Iterator[Expr]:
    hour = Literal(HOUR, INTERVAL) if left.type == TIMESTAMP else Literal(HOUR, BIGINT)
    yield Compare(Comparator.GE, right, Arithmetic(Operator.SUBTRACT, left, hour))
    yield Compare(Comparator.LE, right, Arithmetic(Operator.ADD, left, hour))


def _candidates(relation: Relation) -> Iterator[AdviceStep]:
    times = {stream.occurrence: _time(stream) for stream in streams(relation)}
    for stream in streams(relation):
        time = times[stream.occurrence]
        if time is not None and stream.timestamp.name == ARRIVAL:
            yield AddWatermark(stream.occurrence, time)
    for node in walk_relations(relation):
        below = [column for column in times.values() if column is not None]
        if isinstance(node, Join | SemiJoin):
            left, right = ([c for c in below if c in side.schema] for side in node.inputs)
            yield from (AddTimeCondition(a, b) for a in left for b in right)
        if isinstance(node, Aggregate):
            yield from (AddTimeKey(node.schema[0].scope, c) for c in below if c in node.input.schema)


def _time(stream: Stream) -> Column | None:
    """Returns the time column of a source: that of its watermark, or the first timestamp."""
    if stream.timestamp.name != ARRIVAL:
        return stream.timestamp
    return next((column for column in stream.schema if column.type == TIMESTAMP), None)
