"""What constraints mean, row by row and with nested loops: the definitions of thesis 6.2, over Python values.

A stream is its rows, each a tuple of a time and its values, in the order of time; rows of one instant as they arrived.
NULLs are alike for keys and clusters, refer to nothing, and are in any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.catalog import Clustered, Constraint, NotNull, Ordered, Reference, Unique, WithinRows, WithinTime

Row = tuple[int, dict[str, Any]]
Streams = Mapping[str, Sequence[Row]]

#: Of a row that requires something: k in rows, and in time.
Required = tuple[int, int]


def by_time(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row[0])


def holds(constraint: Constraint, stream: str, streams: Streams) -> bool:
    """Whether all rows adhere to a constraint."""
    match constraint:
        case NotNull(columns):
            return all(values[name] is not None for _, values in streams[stream] for name in columns)
        case Unique(columns):
            return repeated(streams[stream], columns) == 0
        case Clustered(_, within) | Ordered(_, within) | Reference(within=within):
            needed = [k for k in required(constraint, stream, streams) if k is not None]
            match within:
                case WithinRows(k):
                    return all(rows <= k for rows, _ in needed)
                case WithinTime(time):
                    return all(span <= time for _, span in needed)
    raise AssertionError(constraint)


def repeated(rows: Sequence[Row], columns: Sequence[str]) -> int:
    seen = [tuple(_alike(values[name]) for name in columns) for _, values in rows]
    return sum(value in seen[:place] for place, value in enumerate(seen))


def required(constraint: Constraint, stream: str, streams: Streams) -> list[Required | None]:
    """What each row that arrives requires, if anything."""
    match constraint:
        case Ordered(column):
            return list(_scrambling(streams[stream], column))
        case Clustered(columns):
            return list(_clustering(streams[stream], columns))
        case Reference((column,), parent, (other,)) if parent == stream:
            return list(_own(streams[stream], column, other))
        case Reference((column,), parent, (other,)):
            return list(_joining(streams[stream], column, streams[parent], other))
    raise AssertionError(constraint)


def lateness(rows: Sequence[Row]) -> int:
    """How late the latest row comes, of rows as they arrived."""
    times = [at for at, _ in rows]
    return max((max(times[: place + 1]) - at for place, at in enumerate(times)), default=0)


def _most(distances: Sequence[Required]) -> Required | None:
    if not distances:
        return None
    return max(rows for rows, _ in distances), max(span for _, span in distances)


def _scrambling(rows: Sequence[Row], column: str) -> Iterator[Required | None]:
    for i, (at, values) in enumerate(rows):
        yield _most([(i - j, at - then) for j, (then, o) in enumerate(rows[:i]) if _larger(o[column], values[column])])


def _clustering(rows: Sequence[Row], columns: Sequence[str]) -> Iterator[Required | None]:
    keys = [tuple(_alike(values[name]) for name in columns) for _, values in rows]
    for i, (at, _) in enumerate(rows):
        same = [j for j in range(i) if keys[j] == keys[i]]
        yield _most([(sum(key != keys[i] for key in keys[j + 1 : i]), at - rows[j][0]) for j in same])


def _joining(child: Sequence[Row], column: str, parent: Sequence[Row], other: str) -> Iterator[Required | None]:
    """Of one instant the rows that refer come first: no order of streams requires more."""
    for place, (at, values) in enumerate(parent):
        before = [then for then, own in child if then <= at and _joins(own[column], values[other])]
        yield _most([(sum(t >= then for t, _ in parent[: place + 1]), at - then) for then in before])


def _own(rows: Sequence[Row], column: str, other: str) -> Iterator[Required | None]:
    for i, (at, values) in enumerate(rows):
        before = [j for j in range(i) if _joins(rows[j][1][column], values[other])]
        yield _most([(i - j, at - rows[j][0]) for j in before])


def _joins(left: Any, right: Any) -> bool:
    return left is not None and right is not None and bool(_alike(left) == _alike(right))


def _larger(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return False
    if isinstance(left, float) and math.isnan(left):
        return not math.isnan(right)
    return bool(left > right)


def _alike(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value
