"""Rows into slots, and runs of slots."""

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
def unroll(runs: Ints, start: int, slots: Ints) -> None:
    """The slots at the positions from `start` on; `runs` begin with the one that has the first of them."""
    run = 0
    for i in range(len(slots)):
        position = start + i
        if run + 1 < len(runs) and runs[run + 1, 0] <= position:
            run += 1
        slots[i] = runs[run, 1] + position - runs[run, 0]
