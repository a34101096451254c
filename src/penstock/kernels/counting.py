"""Operators that count: how many copies of each row two inputs hold, and how many the result holds of it.

DISTINCT and the set operators are functions of two counts per row (DISTINCT of one). At the end of each instant the
rows that were touched are looked at once: the result changes by the difference of the function's values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import row_hash
from penstock.kernels.index import first, following, link, same, unlink
from penstock.kernels.jit import kernel

Ints = NDArray[np.int64]

#: What a result holds of a row of which the left input holds l copies and the right r.
DISTINCT, UNION, EXCEPT, EXCEPT_ALL, INTERSECT, INTERSECT_ALL = range(6)


@kernel
def multiplicity(function: int, left: int, right: int) -> int:
    if function == DISTINCT:
        return 1 if left > 0 else 0
    if function == UNION:
        return 1 if left > 0 or right > 0 else 0
    if function == EXCEPT:
        return 1 if left > 0 and right <= 0 else 0
    if function == EXCEPT_ALL:
        return max(0, left - max(0, right))
    if function == INTERSECT:
        return 1 if left > 0 and right > 0 else 0
    return max(0, min(left, right))


@kernel
def count_rows(
    function: int,
    times: Ints,
    weights: Ints,
    sides: Ints,
    rows: Ints,
    stored: Ints,
    counts: Ints,
    heads: int,
    mask: int,
    links: int,
    free: Ints,
    registers: Ints,
) -> tuple[Ints, Ints, Ints]:
    """Counts deltas of two sides in the order of time. Gives the changes: times, weights, and a copy of their rows.

    `stored`, `counts` (left, right, count before this instant, whether touched), `heads`, `mask` and `links` are the
    table; `free[:registers[0]]` are its free slots, of which there are as many as there are deltas at least.
    """
    columns = np.arange(rows.shape[1])
    touched = np.empty(len(times), np.int64)
    out_times = np.empty(len(times), np.int64)
    out_weights = np.empty(len(times), np.int64)
    out_rows = np.empty((len(times), rows.shape[1]), np.int64)
    count = 0
    start = 0
    while start < len(times):
        end, touching = start, 0
        while end < len(times) and times[end] == times[start]:
            hash_ = row_hash(rows, end, columns)
            slot = first(heads, mask, hash_)
            while slot >= 0 and not same(stored, slot, rows, end):
                slot = following(links, slot)
            if slot < 0:
                registers[0] -= 1
                slot = free[registers[0]]
                stored[slot] = rows[end]
                counts[slot] = 0
                link(heads, mask, links, hash_, slot)
                registers[1] += 1
            if counts[slot, 3] == 0:
                counts[slot, 2] = multiplicity(function, counts[slot, 0], counts[slot, 1])
                counts[slot, 3] = 1
                touched[touching] = slot
                touching += 1
            counts[slot, sides[end]] += weights[end]
            end += 1
        for i in range(touching):
            slot = touched[i]
            change = multiplicity(function, counts[slot, 0], counts[slot, 1]) - counts[slot, 2]
            counts[slot, 3] = 0
            if change != 0:
                out_times[count] = times[start]
                out_weights[count] = change
                out_rows[count] = stored[slot]
                count += 1
            if counts[slot, 0] == 0 and counts[slot, 1] == 0:
                unlink(heads, links, slot)
                free[registers[0]] = slot
                registers[0] += 1
                registers[1] -= 1
        start = end
    return out_times[:count], out_weights[:count], out_rows[:count]
