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
def mark_new(signs: Ints, slots: Ints, marks: Halves) -> None:
    """Rows that come are to be looked at, whatever was to be done with those that had their slots."""
    for i in range(len(slots)):
        if signs[i] > 0:
            marks[slots[i]] = LOOK_AT


@lean
def due(marks: Halves, lives: Halves, waits: Ints, clocks: Ints, looked_at: Ints, dropped: Ints) -> tuple[int, int]:
    """How many rows that are there are to be looked at, and how many dropped; no mark is left.

    Rows that wait for a value that a clock has reached are looked at, too. `waits` has a column for each clock.
    """
    looks, drops = 0, 0
    for slot in range(len(lives)):
        mark = marks[slot]
        if lives[slot] != 0:
            is_due = mark == LOOK_AT
            for clock in range(len(clocks)):
                is_due |= waits[slot, clock] <= clocks[clock]
            looked_at[looks] = slot
            looks += is_due & (mark != DROP)
            dropped[drops] = slot
            drops += mark == DROP
        marks[slot] = 0
    return looks, drops
