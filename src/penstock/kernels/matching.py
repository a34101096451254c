"""Semi-joins and anti-joins: a row of the left input shows, or does not, as long as it has a match."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import kernel

Ints = NDArray[np.int64]


@kernel
def match(
    wants_match: bool, times: Ints, kinds: Ints, signs: Ints, slots: Ints, state: Ints
) -> tuple[Ints, Ints, Ints]:
    """Counts matches in the order of time and gives the changes of what shows: times, weights, slots.

    An event is a left row that comes or goes (kind 0), or a match of it that does (kind 1). `state` has a row per slot:
    how many rows are there, how many matches they have, how many showed before this instant, whether it is touched.
    """
    touched = np.empty(len(times), np.int64)
    out_times = np.empty(len(times), np.int64)
    out_signs = np.empty(len(times), np.int64)
    out_slots = np.empty(len(times), np.int64)
    count = 0
    start = 0
    while start < len(times):
        end, touching = start, 0
        while end < len(times) and times[end] == times[start]:
            slot = slots[end]
            if state[slot, 3] == 0:
                state[slot, 3] = 1
                state[slot, 2] = state[slot, 0] if (state[slot, 1] > 0) == wants_match else 0
                touched[touching] = slot
                touching += 1
            state[slot, kinds[end]] += signs[end]
            end += 1
        for i in range(touching):
            slot = touched[i]
            shows = state[slot, 0] if (state[slot, 1] > 0) == wants_match else 0
            if shows != state[slot, 2]:
                out_times[count] = times[start]
                out_signs[count] = shows - state[slot, 2]
                out_slots[count] = slot
                count += 1
            state[slot, 3] = 0
        start = end
    # Copies: views would keep all of the room for as long as the changes are kept.
    return out_times[:count].copy(), out_signs[:count].copy(), out_slots[:count].copy()
