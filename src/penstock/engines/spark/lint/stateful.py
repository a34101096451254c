"""The operators of a Spark query that keep state, as values: what they keep it by, and whether Spark removes it.

`reading.py` makes them of Spark's plans; `bounds.py` says how large their state gets, `remedies.py` what would help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.closing.finite import Count


@dataclass(frozen=True, slots=True)
class Key:
    """A column by which state is kept."""

    name: str
    #: Whether it is an event time or a window of one: Spark removes what the watermark has passed.
    has_watermark: bool = False
    #: How many values it takes, None where they may be infinitely many.
    values: Count | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A watermark that stands still, for which all others of the query wait: Spark removes nothing."""

    time: str
    #: Whether it is set on a window, of which Spark takes another number for the time; else it takes few values.
    is_window: bool


@dataclass(frozen=True, slots=True)
class Times:
    """The event times of the rows that an operator reads."""

    #: Columns with a watermark.
    watermarked: tuple[str, ...] = ()
    #: Columns of type timestamp.
    timestamps: tuple[str, ...] = ()
    #: The watermark of the query that stands still, if one does.
    standing: Standing | None = None
    #: Whether the query sets a watermark only after this operator, which does not help it.
    is_set_above: bool = False
    #: The name of the stream that is read, if it is one.
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class Grouping:
    """An aggregate: a group for every combination of keys."""

    keys: tuple[Key, ...]
    times: Times
    #: The keys of groups whose event time is NULL, which no watermark passes: of CUBE and ROLLUP, or of an outer join.
    timeless: tuple[tuple[Key, ...], ...] = ()
    #: Whether an outer join makes these times NULL, and not CUBE or ROLLUP.
    is_outer: bool = False
    #: Aggregates that keep all values of a group.
    collected: tuple[str, ...] = ()
    #: Whether it is DISTINCT, written as an aggregate.
    is_distinct: bool = False


@dataclass(frozen=True, slots=True)
class Deduplication:
    """`dropDuplicates`: every combination of keys once."""

    keys: tuple[Key, ...]
    times: Times
    timeless: tuple[tuple[Key, ...], ...] = ()
    is_within_watermark: bool = False


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a join of two streams."""

    name: str
    times: Times
    #: What Spark removes of it, as it prints it; None where it removes nothing.
    cleaned: str | None
    #: For how long beyond the watermark its rows are kept, in microseconds, where that is known.
    kept_for: int | None = None
    #: Its columns of the equalities of the join.
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamJoin:
    """A join of two streams: rows of both sides wait for partners."""

    left: Side
    right: Side
    #: What no row can satisfy.
    is_contradiction: bool = False
    #: Whether a range of times is among its conditions.
    has_range: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """LIMIT: a counter."""


@dataclass(frozen=True, slots=True)
class OwnState:
    """A function of the user's with state for every combination of keys."""

    method: str
    keys: tuple[Key, ...]


Stateful: TypeAlias = Grouping | Deduplication | StreamJoin | Limit | OwnState
