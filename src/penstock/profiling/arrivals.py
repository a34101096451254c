"""Rows in the order in which the engines take them: by time, and rows of one instant as they arrived.

Files hold rows in the order of arrival. How late rows may come is declared, or it is found out on the way: then many
rows are held back, more than any row has been overtaken by. Streams are read side by side, up to one instant, so that
only few rows of each are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.catalog import Attribute, StreamDef
from penstock.engines.ingest import instants_of
from penstock.engines.lateness import NEVER, Progress, earliest, on_time
from penstock.errors import PenstockError
from penstock.profiling.words import Bools, Words, column_words
from penstock.synopsis.adherence import RequiredK
from penstock.synopsis.memory import Ints
from penstock.types import duration_text

#: Rows that are held back of a stream whose delay is not known: no row may be overtaken by more.
HELD_BACK = 1 << 18
#: Rows of a stream that are taken at once, but for those of one instant.
STEP_ROWS = 1 << 15
#: Rows of a stream that may be in memory at one time.
MOST_HELD = 1 << 22

#: After all instants.
END = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Profiled:
    """A stream to look at: which of its columns, and how late its rows may come. None: to be found out."""

    definition: StreamDef
    columns: Sequence[Attribute]
    delay: int | None
    #: Whether its types are not declared, but taken from the first rows.
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class ReadRows:
    times: Ints
    columns: tuple[Words, ...]

    def __len__(self) -> int:
        return len(self.times)

    def take(self, which: slice | Ints | Bools) -> ReadRows:
        return ReadRows(self.times[which], tuple(column.take(which) for column in self.columns))


def together(parts: Sequence[ReadRows]) -> ReadRows:
    """Several parts as one, one behind the other."""
    if len(parts) == 1:
        return parts[0]
    columns = tuple(
        Words(np.concatenate([c.words for c in column]), np.concatenate([c.nulls for c in column]))
        for column in zip(*(part.columns for part in parts), strict=True)
    )
    return ReadRows(np.concatenate([part.times for part in parts]), columns)


class UntakenArrivals:
    """One stream: what of it has been read and not yet taken."""

    def __init__(self, stream: Profiled, batches: Iterator[pa.RecordBatch]) -> None:
        definition = stream.definition
        self._name = definition.name
        self._clock = next(a for a in definition.attributes if a.name == definition.timestamp)
        self._unit = definition.unit
        self._columns = stream.columns
        self._batches = batches
        self._delay = stream.delay
        self._held = ReadRows(np.zeros(0, np.int64), ())
        self._new: list[ReadRows] = []
        self._count = 0
        #: No row with an earlier time than this comes any more.
        self.frontier = NEVER
        self.progress = Progress()
        #: How much later than newer ones rows come.
        self.lateness = RequiredK()

    def read(self) -> None:
        """Reads one more batch."""
        batch = next(self._batches, None)
        if batch is None:
            self.frontier = END
            return
        rows = ReadRows(
            instants_of(column_words(batch.column(self._clock.name), self._clock.type).words[:, 0], self._unit),
            tuple(column_words(batch.column(a.name), a.type) for a in self._columns),
        )
        self._hold(rows, batch.column(self._clock.name))

    def step_to(self, bound: int) -> int:
        """An instant up to which there are not too many rows, and no later than the bound."""
        self._sort()
        times = self._held.times[: STEP_ROWS + 1]
        if len(times) <= STEP_ROWS:
            return bound
        # Behind the first instant at least.
        return min(bound, max(int(times[-1]), int(times[0]) + 1))

    def take_before(self, instant: int) -> ReadRows | None:
        """All rows with earlier times, in order, once the frontier has reached that instant."""
        cut = int(np.searchsorted(self._held.times, instant, side="left"))
        if cut == 0:
            return None
        taken = self._held.take(slice(0, cut))
        self._held = self._held.take(slice(cut, None))
        self._count -= cut
        return taken

    def _hold(self, rows: ReadRows, clock: pa.Array) -> None:
        nulls = np.asarray(clock.is_null().to_numpy(zero_copy_only=False)) if clock.null_count else None
        newest_before = self.progress.newest
        kept = on_time(rows.times, nulls, self.progress, END if self._delay is None else self._delay, None)
        if not kept.all():
            rows = rows.take(kept)
        if len(rows):
            if self._delay is None:
                self._note_lateness(rows.times, newest_before)
            self._new.append(rows)
            self._count += len(rows)
        self._advance()
        if self._count > MOST_HELD:
            message = f"{self._name}: more than {MOST_HELD:,} rows wait until their instant is over"
            raise PenstockError(message, "take another column for the time, or a shorter delay")

    def _note_lateness(self, times: Ints, newest: int) -> None:
        newest_so_far = np.maximum.accumulate(np.concatenate(([max(newest, 0)], times)))[:-1]
        self.lateness.observe(np.maximum(newest_so_far - times, 0))
        too_late = times < self.frontier
        if too_late.any():
            late = duration_text(int((newest_so_far - times)[too_late][0]))
            message = f"{self._name}: a row comes {late} late, behind more than {HELD_BACK:,} newer ones"
            hint = "sort the data by time, or give --delay: later rows are then left out, as the engines do"
            raise PenstockError(message, hint)

    def _advance(self) -> None:
        if self._delay is not None:
            self.frontier = max(self.frontier, earliest(self.progress.newest, self._delay))
        elif self._count >= 2 * HELD_BACK:
            self._sort()
            self.frontier = max(self.frontier, int(self._held.times[-HELD_BACK]))

    def _sort(self) -> None:
        if not self._new:
            return
        rows = together([self._held, *self._new] if len(self._held) else self._new)
        self._new = []
        if (rows.times[1:] < rows.times[:-1]).any():
            rows = rows.take(np.argsort(rows.times, kind="stable"))
        self._held = rows


def in_step(
    streams: Sequence[UntakenArrivals], read: Callable[[], None] = lambda: None
) -> Iterator[list[ReadRows | None]]:
    """Rows of all streams, up to one instant at a time. The stream that holds the others up is read next.

    `read` is called whenever something has been.
    """
    taken = NEVER
    while taken < END:
        last = min(streams, key=lambda stream: stream.frontier)
        if last.frontier < END:
            last.read()
            read()
        bound = min(stream.frontier for stream in streams)
        while taken < bound:
            taken = min(stream.step_to(bound) for stream in streams)
            rows = [stream.take_before(taken) for stream in streams]
            if any(part is not None for part in rows):
                yield rows
