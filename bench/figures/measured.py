"""A run of an experiment: what its join keeps as rows go by."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from penstock.engines.embedded import EmbeddedEngine
from penstock.sql import bind_text
from penstock.workloads.constraints import Ints, StreamTables


@dataclass(slots=True)
class Run:
    """After each piece: rows so far, and what is kept of them."""

    rows: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    results: int = 0
    seconds: float = 0.0


def run(script: str, tables: StreamTables, pushed: int) -> Run:
    """Pushes streams side by side in pieces of so many rows. Seconds are CPU time of this process."""
    bound = bind_text(script).checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog)
    found = Run()
    for count, piece in pieces(tables, pushed):
        start = time.process_time()
        for stream, batch in piece.items():
            engine.push(stream, batch)
        found.results += engine.advance().num_rows
        found.seconds += time.process_time() - start
        found.rows.append(count)
        found.kept.append(engine.state()[0])
    found.results += engine.finish().num_rows
    return found


@dataclass(frozen=True, slots=True)
class Watch:
    """What a monitor said after a piece: rows so far, and k; None where the constraint is not used."""

    rows: int
    k: int | None


def watched_run(script: str, tables: StreamTables, pushed: int) -> tuple[list[Watch], Ints, float]:
    """What the first monitor says after each piece, the times of the results, and how many it thinks are missing."""
    bound = bind_text(script).checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog)
    said, times = [], []
    for count, piece in pieces(tables, pushed):
        for stream, batch in piece.items():
            engine.push(stream, batch)
        times.append(engine.advance()["_ts"].to_numpy())
        for first in engine.totals().constraints[:1]:
            said.append(Watch(count, first.k if first.used else None))
    times.append(engine.finish()["_ts"].to_numpy())
    lost = max((one.false_negatives for one in engine.totals().constraints), default=0.0)
    return said, np.concatenate(times).astype(np.int64), lost


def pieces(tables: StreamTables, pushed: int) -> Iterator[tuple[int, Mapping[str, pa.RecordBatch]]]:
    """How many rows there were in all after each piece, and its batch of each stream."""
    times = {name: table["ts"].to_numpy() for name, table in tables.items()}
    whole = {name: table.combine_chunks() for name, table in tables.items()}
    everything = np.sort(np.concatenate(list(times.values())))
    starts = dict.fromkeys(tables, 0)
    for count in [*range(pushed, len(everything), pushed), len(everything)]:
        piece = {}
        for name, table in whole.items():
            end = int(np.searchsorted(times[name], everything[count - 1], side="right"))
            if end > starts[name]:
                piece[name] = table.slice(starts[name], end - starts[name]).to_batches()[0]
            starts[name] = end
        yield count, piece
