"""SQL over relations: selection, projection, joins, groups and set operations.

Each node says what its relation holds at an instant, as a function of its inputs at that instant.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Self

from penstock.algebra.expressions import AlgebraError, Column, Expr, require
from penstock.algebra.functions import AggregateFunction, aggregate_type
from penstock.algebra.relations.relation import Relation, Schema, require_columns, require_distinct, require_predicates
from penstock.types import Kind, Type


@dataclass(frozen=True, slots=True)
class Select(Relation):
    """The rows for which every predicate is true."""

    input: Relation
    predicates: tuple[Expr, ...]

    def __post_init__(self) -> None:
        require(bool(self.predicates), "a selection has a predicate")
        require_predicates(self.predicates, self.input.schema)

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
        require_columns((output.expr for output in self.outputs), self.input.schema)
        require_distinct(self.schema)

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
        require_distinct(self.schema)
        require_predicates(self.on, self.schema)

    def _schema(self) -> Schema:
        return tuple(column for operand in self.operands for column in operand.schema)

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.operands

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Join:
        return Join(inputs, self.on)


@dataclass(frozen=True, slots=True)
class _Matched(Relation):
    """What semi-joins and anti-joins share: of the left side rows, of the right side whether one matches."""

    left: Relation
    right: Relation
    on: tuple[Expr, ...]

    def __post_init__(self) -> None:
        require_distinct(self.left.schema + self.right.schema)
        require_predicates(self.on, self.left.schema + self.right.schema)

    def _schema(self) -> Schema:
        return self.left.schema

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.left, self.right

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Self:
        left, right = inputs
        return type(self)(left, right, self.on)


@dataclass(frozen=True, slots=True)
class SemiJoin(_Matched):
    """The rows of `left` for which some row of `right` makes every predicate true."""


@dataclass(frozen=True, slots=True)
class AntiJoin(_Matched):
    """The rows of `left` for which no row of `right` makes every predicate true."""


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
        require_distinct(self.schema)
        require_predicates(self.on, self.schema)

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
        require_columns((key.expr for key in self.keys), self.input.schema)
        require_columns((a.argument for a in self.aggregations if a.argument is not None), self.input.schema)
        require_distinct(self.schema)

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
        require_distinct(self.columns)

    def _schema(self) -> Schema:
        return self.columns

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.left, self.right

    def with_inputs(self, inputs: tuple[Relation, ...]) -> SetOp:
        left, right = inputs
        return SetOp(self.op, self.all, left, right, self.columns)


def _types(schema: Schema) -> tuple[Type, ...]:
    return tuple(column.type for column in schema)
