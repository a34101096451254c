"""Marks of rows, by slot: what the next purge is to do with them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]
Halves = NDArray[np.int32]

#: Marks, the stronger ones larger.
LOOK_AT, DROP = 1, 2


@lean
def mark_new(slots: Ints, marks: Halves) -> None:
    """Rows that come are to be looked at, whatever was to be done with those that had their slots."""
    for i in range(len(slots)):
        marks[slots[i]] = LOOK_AT


@lean
def due(marks: Halves, lives: Halves, waits: Ints, clocks: Ints, looked_at: Ints, dropped: Ints) -> tuple[int, int]:
    """How many rows that are there are to be looked at, and how many dropped; no mark is left.

    Rows that wait for a value that a clock has reached are looked at, too. `waits` has a column for each clock.
    """
    looks, drops = 0, 0
    for slot in range(len(lives)):
        # Which rows are there is as good as random, so nothing is decided by it.
        is_there, mark = lives[slot] != 0, marks[slot]
        is_due = mark == LOOK_AT
        for clock in range(len(clocks)):
            is_due |= waits[slot, clock] <= clocks[clock]
        looked_at[looks], dropped[drops] = slot, slot
        looks += is_there & is_due & (mark != DROP)
        drops += is_there & (mark == DROP)
        marks[slot] = 0
    return looks, drops
