"""Lateness: a row is late if an earlier row of its stream is newer by more than the stream's delay.

Lateness depends on arrival order alone. A segment of arrivals can be judged by itself, against its own newest row, and
again when the rows before it are known: a row is late if either judgement says so.

The one exception is a stream that was idle (`idleness`): rows of instants that were closed without it are late, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.synopsis.memory import Ints

#: Before the first row there is nothing to be late against.
NEVER = -(2**63)

#: The last instant that a row may have, after the year 148,000: what is added to it still fits 64 bits.
LAST_INSTANT = 2**62 - 1


@dataclass(slots=True)
class Progress:
    """How far a stream, or a segment of it, has been read."""

    newest: int = NEVER
    rows: int = 0
    late_rows: int = 0
    #: Rows without a timestamp, or with one before 1970 or after the last instant; and those with NULL in a column
    #: that is NOT NULL.
    bad_rows: int = 0
    #: The instant of the first row that has one.
    first: int = NEVER
    #: Rows on which a user function failed and gave NULL.
    function_errors: int = 0
    #: The first instant that was not closed when the stream was idle last.
    closed: int = 0


def earliest(newest: int, delay: int) -> int:
    """Returns the least timestamp that is on time after a row as new as `newest`.

    >>> earliest(100, 30)
    70
    """
    return NEVER if newest == NEVER else newest - delay


def on_time(
    ts: Ints, nulls: NDArray[np.bool_] | None, progress: Progress, delay: int, horizon: int | None
) -> NDArray[np.bool_]:
    """Returns which of the next rows exist and are not late, and updates `progress`.

    `nulls` are the rows that lack what each row has to have.

    >>> on_time(np.array([5, 9, 3, 8]), None, Progress(), 2, None).tolist()
    [True, True, False, True]
    """
    if len(ts) and nulls is None and horizon is None and _goes_on(ts, progress):
        progress.rows += len(ts)
        progress.newest = int(ts[-1])
        progress.first = int(ts[0]) if progress.first == NEVER else progress.first
        return np.ones(len(ts), np.bool_)
    bad = (ts < 0) | (ts > LAST_INSTANT)
    if nulls is not None:
        bad |= nulls
    exists = ~bad if horizon is None else ~bad & (ts <= horizon)
    newest = np.maximum.accumulate(np.concatenate(([progress.newest], np.where(exists, ts, NEVER))))
    late = exists & ((newest[:-1] != NEVER) & (ts < newest[:-1] - delay) | (ts < progress.closed))
    progress.rows += len(ts)
    progress.bad_rows += int(bad.sum())
    if progress.first == NEVER and not bad.all():
        progress.first = int(ts[int(bad.argmin())])
    progress.late_rows += int(late.sum())
    progress.newest = int(newest[-1])
    on_time: NDArray[np.bool_] = exists & ~late
    return on_time


def _goes_on(ts: Ints, progress: Progress) -> bool:
    """Returns whether rows are in the order of time and not earlier than any row before, as in most streams."""
    return bool(ts[0] >= max(progress.closed, progress.newest) and ts[-1] <= LAST_INSTANT and (ts[1:] >= ts[:-1]).all())
