"""Rows into slots, runs of slots, and slots in the order of time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import kernel, lean

Ints = NDArray[np.int64]


@lean
def scatter(rows: Ints, starts: Ints, slots: Ints, stored: Ints, stored_starts: Ints) -> None:
    """Puts each row, and its start, into its slot."""
    for i in range(len(slots)):
        for c in range(rows.shape[1]):
            stored[slots[i], c] = rows[i, c]
        stored_starts[slots[i]] = starts[i]


@kernel
def gather(rows: Ints, some: Ints, columns: Ints) -> Ints:
    """Those columns of some rows."""
    found = np.empty((len(some), len(columns)), np.int64)
    for i in range(len(some)):
        for c in range(len(columns)):
            found[i, c] = rows[some[i], columns[c]]
    return found


@lean
def run_begins(slots: Ints, begins: Ints) -> int:
    """How many runs of slots that follow each other there are, and the places at which they begin."""
    count = 0
    for i in range(len(slots)):
        if i == 0 or slots[i] != slots[i - 1] + 1:
            begins[count] = i
            count += 1
    return count


@lean
def unroll(runs: Ints, start: int, slots: Ints) -> int:
    """The slots at the positions from `start` on; `runs` begin with the one that has the first of them.

    Gives the number of the run that has the position behind them, or else of the last one.
    """
    run = 0
    for i in range(len(slots)):
        position = start + i
        if run + 1 < len(runs) and runs[run + 1, 0] <= position:
            run += 1
        slots[i] = runs[run, 1] + position - runs[run, 0]
    return run + (run + 1 < len(runs) and runs[run + 1, 0] <= start + len(slots))


@lean
def positions_before(runs: Ints, left: int, right: int, times: Ints, until: int) -> int:
    """The first position from `left` on whose slot has no time before `until`, or `right`; times never decrease."""
    for run in range(len(runs)):
        end = runs[run + 1, 0] if run + 1 < len(runs) else right
        if end <= left or times[runs[run, 1] + end - 1 - runs[run, 0]] < until:
            continue
        low, high = max(left, runs[run, 0]), end
        while low < high:
            middle = (low + high) // 2
            if times[runs[run, 1] + middle - runs[run, 0]] < until:
                low = middle + 1
            else:
                high = middle
        return int(low)
    return right


@lean
def merge(
    leaving_ts: Ints, leaving: Ints, arriving_ts: Ints, arriving: Ints, ts: Ints, signs: Ints, slots: Ints
) -> None:
    """Two sequences in the order of time as one, with the signs -1 and 1; at one instant what leaves comes first."""
    gone = came = 0
    # Without a branch that depends on times, which nobody can predict.
    while gone < len(leaving) and came < len(arriving):
        goes, comes = leaving_ts[gone], arriving_ts[came]
        leaves = int(goes <= comes)
        i = gone + came
        ts[i], signs[i] = min(goes, comes), 1 - 2 * leaves
        slots[i] = leaving[gone] * leaves + arriving[came] * (1 - leaves)
        gone, came = gone + leaves, came + 1 - leaves
    for left in range(gone, len(leaving)):
        ts[left + came], signs[left + came], slots[left + came] = leaving_ts[left], -1, leaving[left]
    for left in range(came, len(arriving)):
        i = len(leaving) + left
        ts[i], signs[i], slots[i] = arriving_ts[left], 1, arriving[left]
