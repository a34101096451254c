"""Netting: the changes of one instant as bags, so that what goes and comes again at one instant does not show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import same
from penstock.kernels.jit import kernel

Ints = NDArray[np.int64]


@kernel
def net(times: Ints, weights: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """The positions of rows whose weights at their instant do not add up to 0, and those sums. `times` is sorted."""
    kept = np.empty(len(times), np.int64)
    sums = np.empty(len(times), np.int64)
    # Not literals: a kernel that is called with a literal is compiled for literals first, and then once more.
    count = start = int(np.int64(0))
    while start < len(times):
        end = start + 1
        while end < len(times) and times[end] == times[start]:
            end += 1
        if end == start + 1:
            if weights[start] != 0:
                kept[count] = start
                sums[count] = weights[start]
                count += 1
        else:
            count = _net_instant(weights, rows, start, end, kept, sums, count)
        start = end
    return kept[:count], sums[:count]


@kernel
def _net_instant(weights: Ints, rows: Ints, start: int, end: int, kept: Ints, sums: Ints, count: int) -> int:
    size = 1
    while size < 2 * (end - start):
        size *= 2
    table = np.empty(size, np.int64)
    for place in range(size):
        table[place] = -1
    first = count
    for i in range(start, end):
        at = prefix_hash(rows, i, rows.shape[1]) & (size - 1)
        while table[at] >= 0 and not same(rows, kept[table[at]], rows, i):
            at = (at + 1) & (size - 1)
        if table[at] < 0:
            table[at] = count
            kept[count] = i
            sums[count] = weights[i]
            count += 1
        else:
            sums[table[at]] += weights[i]
    left = first
    for i in range(first, count):
        if sums[i] != 0:
            kept[left] = kept[i]
            sums[left] = sums[i]
            left += 1
    return left
