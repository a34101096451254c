"""Groups, and counters that say whether they are certain, by key: what shows of each, as either of them changes.

Of a key the state has whether there is a group and a result of the counters, what was shown last, and the group's row.
Changes are taken at their instants, deletions first, so that of a group one row is there after each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

#: Words of a key's state: whether it has a group, and a result; whether that is certain; what was shown of both, and
#: whether it changed at this instant. Behind them are the row of the group, and the one that was shown.
HAS_GROUP, HAS_RESULT, CERTAIN, IS_SHOWN, SHOWN_CERTAIN, CHANGED, ROW = range(7)

#: Words of an output before the row: its time, weight, slot, whether certain.
AT, WEIGHT, SLOT, IS_CERTAIN, OUT_ROW = range(5)


@lean
def certify(
    ts: Ints,
    are_groups: Ints,
    weights: Ints,
    slots: Ints,
    rows: Ints,
    nothing: Ints,
    emits: bool,
    state: Ints,
    out: Ints,
) -> int:
    """Takes changes in the order of time, and gives how many lines of `out` it wrote, at most two for each.

    `nothing` is the row of a group that has none. If results are emitted, each shows once, when it comes.
    """
    count, i, width = 0, 0, len(nothing)
    while i < len(ts):
        end = i
        while end < len(ts) and ts[end] == ts[i]:
            _apply(end, are_groups, weights, slots, rows, width, state)
            end += 1
        for k in range(i, end):
            slot = slots[k]
            if state[slot, CHANGED] == 0:
                continue
            state[slot, CHANGED] = 0
            if emits:
                if are_groups[k] == 0:
                    _choose(slot, nothing, state)
                    count = _put(ts[i], 1, slot, width, state, out, count)
                else:
                    state[slot, CHANGED] = 1  # the result of the same instant may come behind it
                continue
            if _is_as_shown(slot, nothing, state):
                continue
            if state[slot, IS_SHOWN] != 0:
                count = _put(ts[i], -1, slot, width, state, out, count)
            state[slot, IS_SHOWN] = state[slot, HAS_RESULT]
            if state[slot, HAS_RESULT] != 0:
                _choose(slot, nothing, state)
                count = _put(ts[i], 1, slot, width, state, out, count)
        i = end
    return count


@lean
def _apply(k: int, are_groups: Ints, weights: Ints, slots: Ints, rows: Ints, width: int, state: Ints) -> None:
    slot, there = slots[k], 1 if weights[k] > 0 else 0
    state[slot, CHANGED] = 1
    if are_groups[k] == 0:
        state[slot, HAS_RESULT] = there
        if there:
            state[slot, CERTAIN] = rows[k, 0]
        return
    state[slot, HAS_GROUP] = there
    if there:
        for word in range(width):
            state[slot, ROW + word] = rows[k, word]


@lean
def _is_as_shown(slot: int, nothing: Ints, state: Ints) -> bool:
    """Whether what shows of a key does not change."""
    if state[slot, IS_SHOWN] != state[slot, HAS_RESULT] or state[slot, IS_SHOWN] == 0:
        return bool(state[slot, IS_SHOWN] == state[slot, HAS_RESULT])
    if state[slot, SHOWN_CERTAIN] != state[slot, CERTAIN]:
        return False
    width, has_group = len(nothing), state[slot, HAS_GROUP] != 0
    for word in range(width):
        if state[slot, ROW + width + word] != (state[slot, ROW + word] if has_group else nothing[word]):
            return False
    return True


@lean
def _choose(slot: int, nothing: Ints, state: Ints) -> None:
    """Makes what is there of a key what is shown of it."""
    width, has_group = len(nothing), state[slot, HAS_GROUP] != 0
    state[slot, SHOWN_CERTAIN] = state[slot, CERTAIN]
    for word in range(width):
        state[slot, ROW + width + word] = state[slot, ROW + word] if has_group else nothing[word]


@lean
def _put(t: int, weight: int, slot: int, width: int, state: Ints, out: Ints, count: int) -> int:
    """Puts out what is shown of a key."""
    out[count, AT], out[count, WEIGHT], out[count, SLOT] = t, weight, slot
    out[count, IS_CERTAIN] = state[slot, SHOWN_CERTAIN]
    for word in range(width):
        out[count, OUT_ROW + word] = state[slot, ROW + width + word]
    return count + 1
