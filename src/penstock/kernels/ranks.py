"""The places of values among sorted ones, where the values are mostly sorted, too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import kernel, lean

Ints = NDArray[np.int64]


@kernel
def ranks(ordered: Ints, values: Ints, start: int, after: bool) -> Ints:
    """Counted from `start`, how many of the ordered values are below each value; with `after`, or equal to it.

    Each search begins where the last one ended and doubles its steps (Bentley, Yao 1976), so that values in order take
    about a step each.
    """
    found = np.empty(len(values), np.int64)
    at = 0
    for i in range(len(values)):
        if at > 0 and not _is_before(ordered, at - 1, values[i], after):
            at = 0
        step = 1
        while _is_before(ordered, at + step - 1, values[i], after):
            at += step
            step *= 2
        while step > 0:
            if _is_before(ordered, at + step - 1, values[i], after):
                at += step
            step >>= 1
        found[i] = start + at
    return found


@lean
def stamp(ordered: Ints, start: int, ts: Ints, slots: Ints, stamps: Ints) -> None:
    """Notes with rows, by slot, how many of the ordered values are not above their times, from `start` on.

    Times are in order.
    """
    at = 0
    for i in range(len(ts)):
        while at < len(ordered) and ordered[at] <= ts[i]:
            at += 1
        stamps[slots[i]] = start + at


@lean
def _is_before(ordered: Ints, place: int, value: int, after: bool) -> bool:
    if place >= len(ordered):
        return False
    return bool(ordered[place] < value or (after and ordered[place] == value))
