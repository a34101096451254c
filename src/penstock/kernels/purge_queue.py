"""Marks of rows, by slot: what the next purge is to do with them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]

#: Marks, the stronger ones larger.
EXAMINE, DROP = 1, 2


@lean
def mark_new(slots: Ints, marks: Int32s) -> None:
    """Makes candidates of arriving rows, whatever was to be done with the rows that had their slots."""
    for i in range(len(slots)):
        marks[slots[i]] = EXAMINE


@lean
def due(marks: Int32s, visibility: Int32s, waits: Ints, clocks: Ints, examined: Ints, dropped: Ints) -> tuple[int, int]:
    """How many rows that are there are to be examined, and how many dropped; no mark is left.

    Rows that wait for a value that a clock has reached are examined, too. `waits` has a column for each clock.
    """
    candidates, drops = 0, 0
    for slot in range(len(visibility)):
        # Which rows are there is as good as random, so nothing is decided by it.
        is_there, mark = visibility[slot] != 0, marks[slot]
        is_due = mark == EXAMINE
        for clock in range(len(clocks)):
            is_due |= waits[slot, clock] <= clocks[clock]
        examined[candidates], dropped[drops] = slot, slot
        candidates += is_there & is_due & (mark != DROP)
        drops += is_there & (mark == DROP)
        marks[slot] = 0
    return candidates, drops
