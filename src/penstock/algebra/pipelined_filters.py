"""Pipelined filters: a stack of semi-joins and anti-joins whose rows are judged once (thesis, chapter 4).

A filter asks whether a row has a match in a *side*, a relation of keys. Filters commute, so the order in which they are
asked is not part of this value: it is a choice of the operator.

    s0 ──▶ a IN s1 [ROWS 10] ──▶ b NOT IN s2 [RANGE 1 HOUR] ──▶ EXISTS in t ──▶ [NOW]
           side 0                side 1                         side 2         window
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.algebra.expressions import Column, Expr, columns, require
from penstock.algebra.relations import Range, Relation, Schema


@dataclass(frozen=True, slots=True)
class MembershipFilter:
    """Passes the rows that have a match in a side, or those that have none."""

    wants_match: bool
    side: int
    #: The columns of the row that have to equal the side's columns, one by one. A NULL equals nothing.
    columns: Schema
    #: Predicates of the row alone. A row of which one is not true has no match.
    where: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class PipelinedFilters(Relation):
    """The rows of `left` that pass all filters.

    With a `window` each row that is inserted into `left` is judged at its own instant, and a row that passes is there
    as long as the window has it; what `left` deletes is not read. Without one each change of `left` is judged.
    """

    left: Relation
    sides: tuple[Relation, ...]
    filters: tuple[MembershipFilter, ...]
    window: Range | None = None

    def __post_init__(self) -> None:
        require(bool(self.filters), "there is a filter")
        for each in self.filters:
            own = [column.type for column in self.sides[each.side].schema]
            require([column.type for column in each.columns] == own, "a filter compares values of the same types")
            read = {*each.columns, *(column for expr in each.where for column in columns(expr))}
            require(read <= set(self.left.schema), "a filter reads the row that it judges")

    def _schema(self) -> Schema:
        return self.left.schema

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.left, *self.sides)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> PipelinedFilters:
        return replace(self, left=inputs[0], sides=inputs[1:])

    def compared(self, each: MembershipFilter) -> tuple[tuple[Column, Column], ...]:
        """The pairs of columns that a filter compares, of the row and of its side."""
        return tuple(zip(each.columns, self.sides[each.side].schema, strict=True))

    def only(self, some: tuple[MembershipFilter, ...]) -> PipelinedFilters:
        """The same with some of its filters, and the sides that they ask."""
        asked = sorted({each.side for each in some})
        filters = tuple(replace(each, side=asked.index(each.side)) for each in some)
        return replace(self, sides=tuple(self.sides[side] for side in asked), filters=filters)
