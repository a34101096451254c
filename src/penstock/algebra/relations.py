"""The algebra: streams, windows that turn them into relations, SQL over relations, and the way back to streams.

CQL's abstract semantics (thesis 2.1): a stream is a bag of timestamped tuples, a relation a bag that varies with time.
Each node says what its relation holds at an instant, as a function of its inputs at that instant. Nodes are immutable
and check themselves when they are built: a column that an input does not have, or two inputs that share a scope,
cannot be.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from penstock.algebra.expressions import AlgebraError, Column, Expr, columns, require
from penstock.algebra.functions import AggregateFunction, aggregate_type
from penstock.algebra.join_trees import TreeJoin
from penstock.algebra.zones import DEFAULT
from penstock.effort import spend
from penstock.types import BOOLEAN, Kind, TimeUnit, Type

Schema = tuple[Column, ...]

#: To look a column up takes so much less than to visit an expression.
_COLUMNS_IN_A_STEP = 4


class Relation:
    """What all nodes share: a schema, inputs, and a copy of themselves over other inputs."""

    __slots__ = ("_known_schema",)
    _known_schema: Schema

    @property
    def schema(self) -> Schema:
        """The columns, which everybody asks for: they are put together once."""
        try:
            return self._known_schema
        except AttributeError:
            object.__setattr__(self, "_known_schema", self._schema())
            return self._known_schema

    def _schema(self) -> Schema:
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return ()

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Relation:
        require(not inputs, f"{type(self).__name__} has no inputs")
        return self


@dataclass(frozen=True, slots=True)
class Stream:
    """One occurrence of a declared stream in a query. Its columns have the occurrence's name as their scope."""

    name: str
    occurrence: str
    schema: Schema
    timestamp: Column
    #: What a BIGINT timestamp counts; a DATE counts days. Instants are microseconds.
    unit: TimeUnit = TimeUnit.MICROSECONDS

    def __post_init__(self) -> None:
        _require_own_columns(self.schema, self.occurrence)
        require(self.timestamp in self.schema, "a stream is timestamped by one of its columns")
        units = {Kind.BIGINT: tuple(TimeUnit), Kind.DATE: (TimeUnit.DAYS,)}
        counted = units.get(self.timestamp.type.kind, (TimeUnit.MICROSECONDS,))
        require(self.unit in counted, "a BIGINT counts in units, a DATE days")


@dataclass(frozen=True, slots=True)
class Unbounded:
    """`[UNBOUNDED]`: all rows so far."""


@dataclass(frozen=True, slots=True)
class Range:
    """`[RANGE w]` at t: rows with t-w <= ts <= t. With SLIDE m: the same at floor(t/m)*m. In microseconds."""

    width: int
    slide: int | None = None

    def __post_init__(self) -> None:
        require(self.width >= 0 and (self.slide is None or self.slide > 0), "a window does not reach forward")

    @property
    def lag(self) -> int:
        """How long after its time a row enters the window, at most."""
        return 0 if self.slide is None else self.slide - 1

    @property
    def stay(self) -> int:
        """How long after it has entered a row is in the window, at most.

        >>> Range(5).stay, Range(5, 3).stay, Range(6, 3).stay
        (5, 5, 8)
        """
        return self.width if self.slide is None else (self.width // self.slide + 1) * self.slide - 1


@dataclass(frozen=True, slots=True)
class Rows:
    """`[ROWS n]`: the n rows with the largest (ts, arrival)."""

    count: int

    def __post_init__(self) -> None:
        require(self.count > 0, "a window holds a row")


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """`[PARTITION BY ... ROWS n]`: `[ROWS n]` of the rows with each value of `by`; NULLs are one value."""

    by: tuple[Column, ...]
    count: int

    def __post_init__(self) -> None:
        require(self.count > 0 and bool(self.by), "a partitioned window has columns and holds a row")


WindowSpec = Unbounded | Range | Rows | PartitionRows

NOW = Range(0)


@dataclass(frozen=True, slots=True)
class Window(Relation):
    stream: Stream
    spec: WindowSpec

    def __post_init__(self) -> None:
        if isinstance(self.spec, PartitionRows):
            require(set(self.spec.by) <= set(self.stream.schema), "a window is partitioned by the stream's columns")

    def _schema(self) -> Schema:
        return self.stream.schema


@dataclass(frozen=True, slots=True)
class Table(Relation):
    """One occurrence of a static table: the same bag at every instant."""

    name: str
    occurrence: str
    columns: Schema

    def __post_init__(self) -> None:
        _require_own_columns(self.columns, self.occurrence)

    def _schema(self) -> Schema:
        return self.columns


@dataclass(frozen=True, slots=True)
class Select(Relation):
    """The rows for which every predicate is true."""

    input: Relation
    predicates: tuple[Expr, ...]

    def __post_init__(self) -> None:
        require(bool(self.predicates), "a selection has a predicate")
        _require_predicates(self.predicates, self.input.schema)

    def _schema(self) -> Schema:
        return self.input.schema

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Select:
        (below,) = inputs
        return Select(below, self.predicates)


@dataclass(frozen=True, slots=True)
class Output:
    """A column and the expression that computes it."""

    column: Column
    expr: Expr

    def __post_init__(self) -> None:
        if self.column.type != self.expr.type:
            raise AlgebraError(f"{self.column} is not {self.expr.type}")


@dataclass(frozen=True, slots=True)
class Project(Relation):
    """Duplicate-preserving projection."""

    input: Relation
    outputs: tuple[Output, ...]

    def __post_init__(self) -> None:
        require(bool(self.outputs), "a projection has an output")
        _require_columns((output.expr for output in self.outputs), self.input.schema)
        _require_distinct(self.schema)

    def _schema(self) -> Schema:
        return tuple(output.column for output in self.outputs)

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Project:
        (below,) = inputs
        return Project(below, self.outputs)


@dataclass(frozen=True, slots=True)
class Shared(Project):
    """A relation that several parts of a query read, each under names of its own: it is computed once.

    To whoever does not care it is a projection. No rule moves anything into it, so that all its readers see the very
    same relation.
    """

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Shared:
        (below,) = inputs
        return Shared(below, self.outputs)


@dataclass(frozen=True, slots=True)
class Materialised(Shared):
    """A subresult: a join whose results are kept, as an input of the join above it (thesis 5.3).

    It has all columns of the join, under their own names. No rule merges it into the join above.
    """

    def __post_init__(self) -> None:
        require(all(output.column == output.expr for output in self.outputs), "a subresult renames no column")
        Project.__post_init__(self)

    @staticmethod
    def of(join: Relation) -> Materialised:
        return Materialised(join, tuple(Output(column, column) for column in join.schema))

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Materialised:
        (below,) = inputs
        return Materialised.of(below)


@dataclass(frozen=True, slots=True)
class Join(Relation):
    """The n-way join: all combinations of a row of each input for which every predicate is true."""

    operands: tuple[Relation, ...]
    on: tuple[Expr, ...]

    def __post_init__(self) -> None:
        require(len(self.operands) > 1, "a join has two inputs or more")
        _require_distinct(self.schema)
        _require_predicates(self.on, self.schema)

    def _schema(self) -> Schema:
        return tuple(column for operand in self.operands for column in operand.schema)

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.operands

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Join:
        return Join(inputs, self.on)


@dataclass(frozen=True, slots=True)
class SemiJoin(Relation):
    """The rows of `left` for which some row of `right` makes every predicate true."""

    left: Relation
    right: Relation
    on: tuple[Expr, ...]

    def __post_init__(self) -> None:
        _require_distinct(self.left.schema + self.right.schema)
        _require_predicates(self.on, self.left.schema + self.right.schema)

    def _schema(self) -> Schema:
        return self.left.schema

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.left, self.right

    def with_inputs(self, inputs: tuple[Relation, ...]) -> SemiJoin:
        left, right = inputs
        return SemiJoin(left, right, self.on)


@dataclass(frozen=True, slots=True)
class AntiJoin(Relation):
    """The rows of `left` for which no row of `right` makes every predicate true."""

    left: Relation
    right: Relation
    on: tuple[Expr, ...]

    def __post_init__(self) -> None:
        _require_distinct(self.left.schema + self.right.schema)
        _require_predicates(self.on, self.left.schema + self.right.schema)

    def _schema(self) -> Schema:
        return self.left.schema

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.left, self.right

    def with_inputs(self, inputs: tuple[Relation, ...]) -> AntiJoin:
        left, right = inputs
        return AntiJoin(left, right, self.on)


@dataclass(frozen=True, slots=True)
class OuterJoin(Relation):
    """The combinations for which every predicate is true, and the rows of the sides that are kept which are in none.

    Columns of the side that is missing are NULL. LEFT JOIN keeps the left side, RIGHT JOIN the right, FULL JOIN both.
    """

    left: Relation
    right: Relation
    on: tuple[Expr, ...]
    keeps_left: bool
    keeps_right: bool

    def __post_init__(self) -> None:
        require(self.keeps_left or self.keeps_right, "an outer join keeps a side")
        _require_distinct(self.schema)
        _require_predicates(self.on, self.schema)

    def _schema(self) -> Schema:
        return self.left.schema + self.right.schema

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.left, self.right

    def with_inputs(self, inputs: tuple[Relation, ...]) -> OuterJoin:
        left, right = inputs
        return OuterJoin(left, right, self.on, self.keeps_left, self.keeps_right)

    @property
    def side(self) -> str:
        """The word before JOIN: LEFT, RIGHT or FULL."""
        return "FULL" if self.keeps_left and self.keeps_right else "LEFT" if self.keeps_left else "RIGHT"


@dataclass(frozen=True, slots=True)
class Aggregation:
    """An aggregate and the column that it fills. COUNT(*) has no argument."""

    column: Column
    function: AggregateFunction
    argument: Expr | None
    distinct: bool = False

    def __post_init__(self) -> None:
        typed = aggregate_type(self.function, None if self.argument is None else self.argument.type)
        require(typed is not None and typed == self.column.type, f"{self.function.value} does not give {self.column}")
        require(self.argument is not None or self.function is AggregateFunction.COUNT, "only COUNT takes *")
        require(self.argument is not None or not self.distinct, "there is no COUNT(DISTINCT *)")


@dataclass(frozen=True, slots=True)
class Aggregate(Relation):
    """One row per group; without keys just one row, even of nothing. NULLs are one group."""

    input: Relation
    keys: tuple[Output, ...]
    aggregations: tuple[Aggregation, ...]

    def __post_init__(self) -> None:
        require(bool(self.keys or self.aggregations), "an aggregate has an output")
        _require_columns((key.expr for key in self.keys), self.input.schema)
        _require_columns((a.argument for a in self.aggregations if a.argument is not None), self.input.schema)
        _require_distinct(self.schema)

    def _schema(self) -> Schema:
        return tuple(key.column for key in self.keys) + tuple(a.column for a in self.aggregations)

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Aggregate:
        (below,) = inputs
        return Aggregate(below, self.keys, self.aggregations)


@dataclass(frozen=True, slots=True)
class Repeat(Relation):
    """Each row as often as one of its columns says."""

    input: Relation
    times: Column

    def __post_init__(self) -> None:
        require(
            self.times in self.input.schema and self.times.type.kind is Kind.BIGINT, "rows repeat a number of times"
        )

    def _schema(self) -> Schema:
        return self.input.schema

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Repeat:
        (below,) = inputs
        return Repeat(below, self.times)


@dataclass(frozen=True, slots=True)
class Distinct(Relation):
    """Duplicate elimination; NULLs are alike."""

    input: Relation

    def _schema(self) -> Schema:
        return self.input.schema

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Distinct:
        return Distinct(*inputs)


class SetOperator(Enum):
    UNION = "UNION"
    EXCEPT = "EXCEPT"
    INTERSECT = "INTERSECT"


@dataclass(frozen=True, slots=True)
class SetOp(Relation):
    """UNION, EXCEPT and INTERSECT of sets, or with `all` of bags; columns match by position, NULLs are alike."""

    op: SetOperator
    all: bool
    left: Relation
    right: Relation
    columns: Schema

    def __post_init__(self) -> None:
        shapes = [_types(schema) for schema in (self.left.schema, self.right.schema, self.columns)]
        require(shapes[0] == shapes[1] == shapes[2], f"{self.op.value} of different shapes")
        _require_distinct(self.columns)

    def _schema(self) -> Schema:
        return self.columns

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.left, self.right

    def with_inputs(self, inputs: tuple[Relation, ...]) -> SetOp:
        left, right = inputs
        return SetOp(self.op, self.all, left, right, self.columns)


class StreamKind(Enum):
    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"
    RSTREAM = "RSTREAM"
    ON_CLOSE = "EMIT ON CLOSE"


@dataclass(frozen=True, slots=True)
class ToStream:
    """A relation turned into a stream: what was inserted, what was deleted, all that is there, or groups that close."""

    kind: StreamKind
    input: Relation

    @property
    def schema(self) -> Schema:
        return self.input.schema


#: How far a query may adapt while it runs: not at all, in the orders in which it evaluates, or in all that can change.
ADAPTIVE_MODES = ("off", "orders", "full")


@dataclass(frozen=True, slots=True)
class Approximate:
    """`APPROXIMATE [WITHIN n | WITHIN n PERCENT]`: counts may be intervals that hold the exact ones."""

    #: How wide an interval may be: in rows, or in percent of the count.
    within: Decimal | None = None
    percent: bool = False

    def __str__(self) -> str:
        """The clause as it is written.

        >>> str(Approximate(Decimal(2), percent=True))
        'APPROXIMATE WITHIN 2 PERCENT'
        """
        if self.within is None:
            return "APPROXIMATE"
        return f"APPROXIMATE WITHIN {self.within}{' PERCENT' if self.percent else ''}"


@dataclass(frozen=True, slots=True)
class Query:
    """A named continuous query. Without a ToStream at its root it gives its relation's change log."""

    name: str
    root: Relation | ToStream
    allow_unbounded: bool = False
    #: The time zone that it was bound in, in which texts without one are read.
    zone: str = DEFAULT
    #: What `WITH (adaptive = ...)` says: how far it adapts while it runs, whatever the run's settings are.
    adaptive: str | None = None
    #: Whether counts may be certified intervals.
    approximate: Approximate | None = None
    #: What `WITH (plan = ...)` says: trees of joins by which it is run, each of the join whose inputs it names.
    trees: tuple[TreeJoin, ...] = ()
    #: What `WITH (early = ...)` says: whether results come as soon as their rows are there, where that changes none
    #: (`plan/early.py`), whatever the run's settings are.
    early: bool | None = None
    #: One key in so many is watched for broken assertions. It is a setting of a run, not of the query's text.
    watched_one_in: int = 64

    @property
    def relation(self) -> Relation:
        return self.root.input if isinstance(self.root, ToStream) else self.root

    @property
    def schema(self) -> Schema:
        return self.root.schema


def walk_relations(relation: Relation) -> Iterator[Relation]:
    """The node and all below it, topmost first. What is below a relation that is shared comes once."""
    pending = [relation]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        spend()
        yield node
        if isinstance(node, Shared):
            if id(node.input) in seen:
                continue
            seen.add(id(node.input))
        pending += reversed(node.inputs)


def outermost_groups(relation: Relation) -> tuple[Aggregate, ...]:
    """The groups that a query ends in, below its HAVING and its select list: of UNION ALL those of each side."""
    while isinstance(relation, Select | Project | Repeat):
        relation = relation.input
    if isinstance(relation, SetOp) and relation.op is SetOperator.UNION and relation.all:
        return tuple(groups for side in relation.inputs for groups in outermost_groups(side))
    return (relation,) if isinstance(relation, Aggregate) else ()


def rewrite_relation(relation: Relation, rule: Callable[[Relation], Relation]) -> Relation:
    """The tree with `rule` applied to each node, lowest first. What stays as it is stays the very same object."""
    return _rewritten(relation, rule, {})


def _rewritten(relation: Relation, rule: Callable[[Relation], Relation], shared: dict[int, Relation]) -> Relation:
    """`shared`: what has become of relations that are read several times, by their identity."""
    spend()
    if isinstance(relation, Shared):
        if id(relation.input) not in shared:
            shared[id(relation.input)] = _rewritten(relation.input, rule, shared)
        inputs: tuple[Relation, ...] = (shared[id(relation.input)],)
    else:
        inputs = tuple([_rewritten(node, rule, shared) for node in relation.inputs])
    node = relation if all(map(operator.is_, inputs, relation.inputs)) else relation.with_inputs(inputs)
    rewritten = rule(node)
    return node if rewritten == node else rewritten


def streams(relation: Relation) -> tuple[Stream, ...]:
    """The occurrences of streams below a node, from left to right."""
    return tuple(node.stream for node in walk_relations(relation) if isinstance(node, Window))


def _types(schema: Schema) -> tuple[Type, ...]:
    return tuple(column.type for column in schema)


def _require_columns(exprs: Iterable[Expr], schema: Schema) -> None:
    spend(1 + len(schema) // _COLUMNS_IN_A_STEP)
    missing: set[Column] = set()
    for expr in exprs:
        missing.update((expr,) if isinstance(expr, Column) else columns(expr))
    missing.difference_update(schema)
    if missing:
        raise AlgebraError(f"no column {', '.join(map(str, missing))} in ({', '.join(map(str, schema))})")


def _require_predicates(predicates: tuple[Expr, ...], schema: Schema) -> None:
    require(all(predicate.type == BOOLEAN for predicate in predicates), "a predicate is a boolean")
    _require_columns(predicates, schema)


def _require_distinct(schema: Schema) -> None:
    spend(1 + len(schema) // _COLUMNS_IN_A_STEP)
    names = {(column.scope, column.name) for column in schema}
    if len(names) != len(schema):
        raise AlgebraError(f"a column stands twice in ({', '.join(map(str, schema))})")


def _require_own_columns(schema: Schema, occurrence: str) -> None:
    require(all(column.scope == occurrence for column in schema), f"columns of another scope than {occurrence}")
    _require_distinct(schema)
