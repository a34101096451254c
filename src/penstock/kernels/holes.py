"""Holes in a queue, where slots were taken out of its middle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]

#: In place of a slot.
HOLE = -1


@lean
def put(slots: Ints, right: int, lines: Int32s, places: Int32s) -> None:
    """Puts slots into lines, from one on."""
    for i in range(len(slots)):
        lines[right + i] = slots[i]
        places[slots[i]] = right + i


@lean
def leave(lines: Int32s, left: int, right: int, times: Ints, until: int, goers: Ints) -> tuple[int, int]:
    """The slots from a line on whose times, which never decrease, are before `until`.

    Gives how many there are, and the line behind them.
    """
    count = 0
    while left < right:
        slot = lines[left]
        if slot != HOLE:
            if times[slot] >= until:
                break
            goers[count] = slot
            count += 1
        left += 1
    return count, left


@lean
def dig(slots: Ints, places: Int32s, lines: Int32s) -> None:
    """Leaves a hole at the place of each slot."""
    for i in range(len(slots)):
        lines[places[slots[i]]] = HOLE


@lean
def close_up(lines: Int32s, left: int, places: Int32s) -> int:
    """Moves the slots from `left` on to the start, without the holes between them. Gives how many there are."""
    count = 0
    for i in range(left, len(lines)):
        slot = lines[i]
        if slot != HOLE:
            lines[count] = slot
            places[slot] = count
            count += 1
    return count
