"""What a run keeps: rows, interned values and the used entries of all arrays, early and late in one run.

A run of 4 N rows has a run of N rows in it, so one run tells both: the most that is kept in the steps before row N is
compared with the most in the steps before row 4 N.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.catalog import Catalog, StreamDef
from penstock.engines.embedded import EmbeddedEngine
from penstock.operators import ending, evidence_purge, punctuation_purge
from penstock.sql import Script
from penstock.synopsis import firsts, punctuated, recent
from penstock.synopsis.dictionary import Dictionary
from tests.engines.comparing import table

#: Below these sizes nothing is looked through, because it is not worth while; here it is.
_SIZES = (
    (ending, "FEW_GROUPS", 8),
    (evidence_purge, "FEW", 8),
    (punctuation_purge, "FEW", 8),
    (firsts, "FEW", 8),
    (punctuated, "ROOM", 16),
    (recent, "ROOM", 16),
    (Dictionary, "least_new", 64),
    (Dictionary, "words_per_new", 10**9),
)


@contextmanager
def small_sizes() -> Iterator[None]:
    """What is forgotten in bulk is forgotten in small bulks, so that short runs show it."""
    before = [(place, name, getattr(place, name)) for place, name, _ in _SIZES]
    try:
        for place, name, size in _SIZES:
            setattr(place, name, size)
        yield
    finally:
        for place, name, size in before:
            setattr(place, name, size)


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


def steps_of(
    streams: Sequence[StreamDef], data: Mapping[str, Sequence[Sequence[Any]]], time: str, every: int
) -> list[Batches]:
    """The rows of so many microseconds by step, in the order of their arrival. A late one comes with those before it."""
    found: dict[int, list[tuple[str, pa.RecordBatch]]] = {}
    for stream in streams:
        rows = data.get(stream.name, ())
        if not rows:
            continue
        place = [attribute.name for attribute in stream.attributes if not attribute.virtual].index(time)
        arrived = np.maximum.accumulate(np.array([row[place] for row in rows])) // every
        batch = table(stream, rows).combine_chunks().to_batches()[0]
        numbers, starts = np.unique(arrived, return_index=True)
        ends = [*starts[1:].tolist(), len(rows)]
        for number, start, end in zip(numbers.tolist(), starts.tolist(), ends, strict=True):
            found.setdefault(number, []).append((stream.name, batch.slice(start, end - start)))
    return [found[number] for number in sorted(found)]


@dataclass(frozen=True, slots=True)
class Growth:
    """The most that was kept early and late in a run, of what grew."""

    what: str
    early: int
    late: int

    def __str__(self) -> str:
        return f"{self.what}: {self.early} -> {self.late}"


def run_growth(
    script: Script, steps: Sequence[Batches], tables: Mapping[str, pa.Table], cells: int, early: slice, late: slice
) -> list[Growth]:
    """What grows in a run of these steps."""
    with small_sizes():
        engine = EmbeddedEngine(script.queries[0], script.catalog, tables, cells)
        sampled: dict[int, Held] = {}
        wanted = {*range(*early.indices(len(steps))), *range(*late.indices(len(steps)))}
        for number, batches in enumerate(steps):
            for name, batch in batches:
                if name in engine.streams:
                    engine.push(name, batch)
            engine.advance()
            if number in wanted:
                sampled[number] = held(engine)
    first = [sampled[n] for n in range(*early.indices(len(steps)))]
    last = [sampled[n] for n in range(*late.indices(len(steps)))]
    return list(_growths(first, last))


def _growths(first: Sequence[Held], last: Sequence[Held]) -> Iterator[Growth]:
    most = lambda helds: max(sum(each.rows.values()) for each in helds)
    yield from _if_grown("rows", most(first), most(last))
    yield from _if_grown("values", max(h.values for h in first), max(h.values for h in last))
    names = dict.fromkeys(n for each in last for n in each.used if not n.endswith((".free", "heads", "links")))
    for name in names:
        early, late = (max(each.used.get(name, 0) for each in helds) for helds in (first, last))
        if late > 1.3 * early + 60:
            yield Growth(f"used {name}", early, late)
        a, b = max(h.room.get(name, 0) for h in first), max(h.room.get(name, 0) for h in last)
        if b >= 3 * max(a, 2048):
            yield Growth(f"room {name}", a, b)


def _if_grown(what: str, early: int, late: int) -> Iterator[Growth]:
    if late > 1.06 * early + 45:
        yield Growth(what, early, late)
