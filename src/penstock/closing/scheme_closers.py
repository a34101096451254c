"""What closes a stream's values under its window: watermarks, punctuations, and what k-constraints and keys promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from penstock.algebra.expressions import Column
from penstock.algebra.relations import PartitionRows, Range, Rows, Unbounded, Window
from penstock.catalog import (
    Catalog,
    Clustered,
    Constraint,
    Ordered,
    Punctuated,
    Reference,
    StreamDef,
    Unique,
    WithinRows,
    WithinTime,
)
from penstock.closing.bounds import NONE, Bound, BoundKind, plural
from penstock.closing.declarations import constraint_text, within_text
from penstock.closing.declared_k import rows_from_rate
from penstock.closing.punctuation import Scheme
from penstock.effort import spend
from penstock.types import duration_text


@dataclass(frozen=True, slots=True)
class SchemeCloser:
    """One way in which changes of an operand end: a scheme, what it leaves open, and the declaration behind it.

    Some close only values that have been seen: after UNIQUE the value's one row, after CLUSTERED BY its last one.
    """

    scheme: Scheme
    open: Bound
    leans_on: tuple[str, ...] = ()
    only_seen: bool = False
    #: How long after a time a watermark passes it.
    late: int = 0


def window_closers(window: Window, name: str, catalog: Catalog) -> Iterator[SchemeCloser]:
    """How the changes of a stream under its window end: rows that come, and rows that leave.

    Rows leave a window of time in time. They leave a window of rows whenever others come, so it closes nothing; and a
    partition changes only with rows of its own.
    """
    if isinstance(window.spec, Rows):
        return
    stream = window.stream
    definition = catalog.get(stream.name)
    assert isinstance(definition, StreamDef)
    if isinstance(window.spec, Unbounded | Range):
        width = window.spec.width + (window.spec.slide or 0) if isinstance(window.spec, Range) else 0
        late = width + definition.delay
        scheme = Scheme(name, (), order=str(stream.timestamp))
        yield SchemeCloser(scheme, arrivals_in(late, name), (watermark_text(definition),), late=late)
    named = {column.name.lower(): column for column in stream.schema}
    spend(1 + len(definition.constraints))
    for constraint in definition.constraints:
        closer = _closer(constraint, window, name, definition, named, catalog)
        if closer is not None:
            yield closer


def _closer(
    constraint: Constraint,
    window: Window,
    name: str,
    definition: StreamDef,
    named: Mapping[str, Column],
    catalog: Catalog,
) -> SchemeCloser | None:
    match constraint:
        case Punctuated(lifespan=int()):
            # After it the values may come again: they would join stored rows, and their groups would have to go on.
            return None
        case Punctuated(columns) | Clustered(columns) | Unique(columns):
            own = [named[column.lower()] for column in columns]
        case Ordered(column) if not isinstance(window.spec, PartitionRows):
            own = [named[column.lower()]]
        case _:
            return None
    if isinstance(window.spec, PartitionRows) and not set(own) <= set(window.spec.by):
        return None
    scheme = Scheme(name, tuple(map(str, own)))
    leans_on: tuple[str, ...] = (f"{definition.name}: {constraint_text(constraint)}",)
    noun = " and ".join(_plural(column) for column in own)
    match constraint:
        case Punctuated():
            return SchemeCloser(scheme, Bound(BoundKind.OPEN, f"{noun} not yet closed"), leans_on)
        case Unique():
            return SchemeCloser(scheme, NONE, leans_on, only_seen=True)
        case Clustered(_, within) | Ordered(_, within):
            if (counted := rows_from_rate(constraint, definition, catalog)) is not None:
                within, leans_on = counted.within, leans_on + counted.leans_on
            size = within.k + 1 if isinstance(within, WithinRows) else None
            words = f"{noun} of the last {within_text(within)}"
            return SchemeCloser(scheme, Bound(BoundKind.K, words, size), leans_on, only_seen=True)
    raise AssertionError(f"{constraint} closes nothing")


def _plural(column: Column) -> str:
    return plural(column.name) if len(column.name) > 1 else f"values of {column.name}"


def watermark_text(definition: StreamDef) -> str:
    late = f" DELAY {duration_text(definition.delay)}" if definition.delay else ""
    unit = "" if definition.written_unit is None else f" {definition.written_unit.name}"
    return f"{definition.name}: TIMESTAMP BY {definition.timestamp}{unit}{late}"


def arrivals_in(time: int, occurrence: str) -> Bound:
    """The rows of an occurrence that arrive in a time."""
    return Bound(BoundKind.WINDOW, f"{duration_text(time)} of {occurrence}" if time else f"one instant of {occurrence}")


def refers(child: Window, parent: Window, reference: Reference, same: Callable[[Column], object]) -> bool:
    """Whether rows of two occurrences that join agree on the columns of a reference between them."""
    if child is parent:
        return False
    mine = {column.name.lower(): column for column in child.stream.schema}
    theirs = {column.name.lower(): column for column in parent.stream.schema}
    pairs = zip(reference.columns, reference.parent_columns, strict=True)
    return all(same(mine[a.lower()]) == same(theirs[b.lower()]) for a, b in pairs)


def guard(child: str, parent: Window, reference: Reference, definition: StreamDef) -> SchemeCloser:
    """Rows of a child wait so long for those that they refer to. How many rows wait with them nobody says here."""
    name = parent.stream.occurrence
    within = reference.within
    words = f"rows of {child} during {within_text(within)}{'' if isinstance(within, WithinTime) else f' of {name}'}"
    leans_on = (f"{definition.name}: {constraint_text(reference)}",)
    return SchemeCloser(Scheme(name, ()), Bound(BoundKind.K, words), leans_on)
