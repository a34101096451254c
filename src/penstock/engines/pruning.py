"""Pruning: rows of which statistics say that no filter passes them are read by few columns, or by their time alone.

A row that nobody reads still counts: it may be late or bad, it moves the watermark, and it is an instant of RSTREAM. So
of rows that are pruned the time and all columns that are NOT NULL are read, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.operators.filters.bounds import Bounds

_MARK = {b"penstock": b"pruned"}


@dataclass(frozen=True, slots=True)
class Pruning:
    """What some queries read of a stream."""

    #: The columns that are read of every row.
    always: frozenset[str]
    #: The columns that cheap filters test.
    tested: frozenset[str]
    #: Whether a row may be read whose tested columns are within bounds, by name.
    may_read: Callable[[Mapping[str, Bounds]], bool]


def pruning_together(some: Iterable[Pruning | None]) -> Pruning | None:
    """Returns what several queries read; None where one of them reads or counts every row."""
    parts = list(some)
    each = [part for part in parts if part is not None]
    if not each or len(each) < len(parts):
        return None
    always = frozenset[str]().union(*(part.always for part in each))
    tested = frozenset[str]().union(*(part.tested for part in each))
    return Pruning(always, tested, lambda bounds: any(part.may_read(bounds) for part in each))


def marked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Marks a batch whose rows no filter passes, and that has only some columns."""
    return batch.replace_schema_metadata(_MARK)


def is_pruned(batch: pa.RecordBatch) -> bool:
    return bool(batch.schema.metadata == _MARK)
