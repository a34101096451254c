"""What a run keeps: rows, interned values and the used entries of all arrays, early and late in one run.

A run of 4 N rows has a run of N rows in it, so one run tells both: the most that is kept in the steps before row N is
compared with the most in the steps before row 4 N. In between, before 2 N and 3 N, what grows shows as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.catalog import StreamDef
from penstock.engines.embedded import EmbeddedEngine
from penstock.operators.groups import ending
from penstock.retention import evidence_purge, no_components, punctuation_purge
from penstock.sql import Script
from penstock.synopsis import firsts, punctuated, recent
from penstock.synopsis.dictionary import Dictionary
from tests.engines.comparing import table

#: Sizes up to which something is kept, or not worth while to examine; and up to which groups always are.
_SIZES: tuple[tuple[Any, str, Any], ...] = (
    (ending, "FEW_GROUPS", 1 << 30),
    (evidence_purge, "FEW", 8),
    (no_components, "FEW_KEYS", 8),
    (punctuation_purge, "FEW", 8),
    (firsts, "FEW", 8),
    (punctuated, "ROOM", 16),
    (recent, "ROOM", 16),
)


#: A dictionary is swept after every step.
_SWEPT: tuple[tuple[Any, str, Any], ...] = ((Dictionary, "is_sweep_due", True),)


def small_sizes() -> AbstractContextManager[None]:
    """What is forgotten in bulk is forgotten in small bulks, so that short runs show it."""
    return _changed((*_SIZES, *_SWEPT))


def swept() -> AbstractContextManager[None]:
    """Only interned values that nobody holds go at once."""
    return _changed(_SWEPT)


@contextmanager
def _changed(settings: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    before = [(place, name, getattr(place, name)) for place, name, _ in settings]
    try:
        for place, name, value in settings:
            setattr(place, name, value)
        yield
    finally:
        for place, name, value in before:
            setattr(place, name, value)


@dataclass(frozen=True, slots=True)
class Held:
    """After a step: by operator its rows, all interned values, and by array its used entries and its capacity."""

    rows: Mapping[str, int]
    values: int
    used: Mapping[str, int]
    room: Mapping[str, int]


def held(engine: EmbeddedEngine) -> Held:
    rows: dict[str, int] = {}
    used: dict[str, int] = {}
    room: dict[str, int] = {}
    for machines in engine._machines:
        for machine in machines:
            for gauge in machine.gauges:
                name = f"{machine.fragment.number}:{gauge.name}"
                rows[name] = rows.get(name, 0) + gauge.state_rows()
            for key, entry in machine._memory._entries.items():
                name = f"{machine.fragment.number}:{key}"
                used[name] = used.get(name, 0) + int(np.count_nonzero(entry.data.any(axis=1)))
                room[name] = room.get(name, 0) + entry.data.size
    return Held(rows, len(engine._dictionary), used, room)


Batches = Sequence[tuple[str, pa.RecordBatch]]


def steps_of(streams: Sequence[StreamDef], data: Mapping[str, Sequence[Sequence[Any]]], every: int) -> list[Batches]:
    """The rows of so many microseconds by step, in the order of arrival; late ones come with those before them."""
    found: dict[int, list[tuple[str, pa.RecordBatch]]] = {}
    for stream in streams:
        rows = data.get(stream.name, ())
        if not rows:
            continue
        place = [attribute.name for attribute in stream.attributes if not attribute.virtual].index(stream.timestamp)
        arrived = np.maximum.accumulate(np.array([row[place] for row in rows])) // every
        batch = table(stream, rows).combine_chunks().to_batches()[0]
        numbers, starts = np.unique(arrived, return_index=True)
        ends = [*starts[1:].tolist(), len(rows)]
        for number, start, end in zip(numbers.tolist(), starts.tolist(), ends, strict=True):
            found.setdefault(number, []).append((stream.name, batch.slice(start, end - start)))
    return [found[number] for number in sorted(found)]


@dataclass(frozen=True, slots=True)
class Growth:
    """The most that was kept early and late in a run, of something that grew."""

    what: str
    early: int
    late: int

    @property
    def is_sure(self) -> bool:
        """What is examined when there is twice as much of it, and in bulk, may be found to be so many times as much.

        What was not there at all early may have begun late.
        """
        return self.early > 0 and self.late > 2.5 * self.early + 40

    def __str__(self) -> str:
        return f"{self.what}: {self.early} -> {self.late}"


#: Steps at the end of each quarter of a run that are compared.
SEEN = 5


def run_growth(
    script: Script,
    steps: Sequence[Batches],
    tables: Mapping[str, pa.Table],
    cells: int,
    *,
    small: bool = True,
    longer: int = 1,
) -> list[Growth]:
    """What grows from quarter to quarter of a run that is so many times longer than the usual."""
    quarters: list[list[Held]] = [[], [], [], []]
    ends = [len(steps) * number // 4 for number in (1, 2, 3, 4)]
    with small_sizes() if small else swept():
        engine = EmbeddedEngine(script.queries[0], script.catalog, tables, cells)
        for number, batches in enumerate(steps):
            for name, batch in batches:
                if name in engine.streams:
                    engine.push(name, batch)
            engine.advance()
            for quarter, end in zip(quarters, ends, strict=True):
                if end - SEEN <= number < end:
                    quarter.append(held(engine))
        engine.finish()
        quarters[-1].append(held(engine))
    return list(growths(quarters, longer))


def growths(quarters: Sequence[Sequence[Held]], longer: int = 1) -> Iterator[Growth]:
    """What may be growth: a leak of an entry per 50 rows of input is 80 rows from N to 4 N; noise is less, or falls.

    In a longer run a leak is so many times as large, and noise is not. Arrays have as many used entries as were ever
    used at once, which varies more, and as much room as a power of two.
    """
    yield from _grown("rows", _most(quarters, lambda each: sum(each.rows.values())), 1.06, 40 * longer)
    yield from _grown("values in the dictionary", _most(quarters, lambda each: each.values), 1.06, 40 * longer)
    for name in dict.fromkeys(name for quarter in quarters for each in quarter for name in each.used):
        if not name.endswith(_DERIVED):
            used = _most(quarters, lambda each: each.used.get(name, 0))  # noqa: B023
            yield from _grown(f"used entries of {name}", used, 1.3, 60 * longer)
        room = _most(quarters, lambda each: each.room.get(name, 0))  # noqa: B023
        if room[-1] >= 3 * max(room[0], 2048):
            yield Growth(f"words of {name}", room[0], room[-1])


def _grown(what: str, most: Sequence[int], factor: float, more: int) -> Iterator[Growth]:
    """What grows does so in every quarter."""
    if most[-1] > factor * most[0] + more and all(before < after for before, after in pairwise(most)):
        yield Growth(what, most[0], most[-1])


#: Arrays of free places, of places of entries in others, and of queues that move through theirs.
_DERIVED = (".free", "heads", "links", ".waiting", ".runs")


def _most(quarters: Sequence[Sequence[Held]], count: Callable[[Held], int]) -> list[int]:
    return [max(map(count, quarter)) for quarter in quarters]
