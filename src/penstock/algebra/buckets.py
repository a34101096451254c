"""Buckets: what stands for all rows of an input that are alike. A plan finds them in `register/bucket_joins.py`.

Rows are alike that have the same *values*, in whatever is read of them, and join the same *box* of rows of the other
inputs (002, with one counter or skyline per values and box). Numbers are in codes, as kernels read them: a TIMESTAMP in
microseconds, a DECIMAL without its point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.algebra.expressions import Column, Expr, columns
from penstock.algebra.relations import Aggregation, Output


@dataclass(frozen=True, slots=True)
class DifferenceLimit:
    """`left - right <= limit`; None stands for 0."""

    left: Column | None
    right: Column | None
    limit: int


@dataclass(frozen=True, slots=True)
class BoxSide:
    """One side of a row's box: how far an attribute of another input must go from it, or where it must end.

    From above, the least of `column + shift` and of `limit`; from below the greatest.
    """

    #: The attribute, by its number in the space of the box.
    of: int
    is_upper: bool
    terms: tuple[tuple[Column, int], ...]
    #: What constants say: beyond it the row's own values make no difference.
    limit: int | None


@dataclass(frozen=True, slots=True)
class Hole:
    """A value that an attribute of another input must not have: `column + shift`, if it is from `low` to `high`."""

    of: int
    column: Column
    shift: int
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Space:
    """Where boxes lie: attributes of other inputs, what constants say of each, and by how much they differ at most."""

    lows: tuple[int | None, ...]
    highs: tuple[int | None, ...]
    differences: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class TableInterval:
    """Where a value lies among those that a table has: these are as good as constants.

    `column` gets the place, for which before a value, a value and behind all are told apart; or if it is a BOOLEAN,
    whether the value is one of the table's.
    """

    column: Column
    own: Column
    #: The input that holds the table, and an expression over its columns.
    table: int
    of: Expr


@dataclass(frozen=True, slots=True)
class Buckets:
    """How rows of one input are told apart, and which of them count at all."""

    values: tuple[Column, ...]
    sides: tuple[BoxSide, ...]
    holes: tuple[Hole, ...]
    #: What is true of every row that is in a result.
    within: tuple[DifferenceLimit, ...]
    #: The columns that are compared with others: a row with a NULL among them joins nothing.
    compared: tuple[Column, ...]
    #: With a space, only rows are kept whose boxes those of others do not cover: duplicates do not matter.
    space: Space | None
    #: How many there are at most, if somebody knows.
    size: int | None
    #: Columns that are computed for it: outcomes of comparisons with columns of few values, and whether a row counts.
    computed: tuple[Output, ...] = ()
    #: Columns that are found when the tables are there.
    intervals: tuple[TableInterval, ...] = ()
    #: Aggregates above of which each bucket keeps a partial one: of the values of these, nothing else is read.
    totals: tuple[Aggregation, ...] = ()

    @property
    def columns(self) -> frozenset[Column]:
        """The columns that are looked at, or computed of."""
        read = (column for output in self.computed for column in columns(output.expr))
        looked_at = (*self.values, *self.compared, *read, *(interval.own for interval in self.intervals))
        return frozenset(looked_at) - self.added

    @property
    def added(self) -> frozenset[Column]:
        """The columns that the input does not have by itself."""
        return frozenset((*(output.column for output in self.computed), *(s.column for s in self.intervals)))

    @property
    def numbers(self) -> Iterator[int]:
        """The numbers that it reckons with."""
        yield from (difference.limit for difference in self.within)
        yield from (shift for side in self.sides for _, shift in side.terms)
        yield from (side.limit for side in self.sides if side.limit is not None)
        yield from (number for hole in self.holes for number in (hole.shift, hole.low, hole.high) if number is not None)
        if self.space is not None:
            yield from (end for end in (*self.space.lows, *self.space.highs) if end is not None)
            yield from (limit for _, _, limit in self.space.differences)
