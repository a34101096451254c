"""Holes in a queue, where slots were taken out of its middle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]
Halves = NDArray[np.int32]

#: In place of a slot.
HOLE = -1


@lean
def dig(slots: Ints, places: Halves, lines: Halves) -> None:
    """Leaves a hole at the place of each slot."""
    for i in range(len(slots)):
        lines[places[slots[i]]] = HOLE


@lean
def close_up(lines: Halves, left: int, places: Halves) -> int:
    """Moves the slots from `left` on to the start, without the holes between them. Gives how many there are."""
    count = 0
    for i in range(left, len(lines)):
        slot = lines[i]
        if slot != HOLE:
            lines[count] = slot
            places[slot] = count
            count += 1
    return count
