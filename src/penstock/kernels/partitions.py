"""Partitioned windows: the latest n rows for each value of some columns (thesis 2.1.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import row_hash
from penstock.kernels.index import first, following, link
from penstock.kernels.jit import kernel

Ints = NDArray[np.int64]


@kernel
def slide_partitions(
    count: int,
    slots: Ints,
    rows: Ints,
    columns: Ints,
    null_columns: Ints,
    null_masks: Ints,
    keys: Ints,
    partitions: Ints,
    later: Ints,
    heads: int,
    mask: int,
    links: int,
    registers: Ints,
) -> Ints:
    """For each new row, in order, the slot of the row that it pushes out, or -1.

    `slots` has -1 for rows that are counted and not stored. `columns` of `rows` are the partition's values, and
    `null_masks` of `null_columns` their null bits. A partition has its key, and in `partitions` how many rows of it
    have arrived, its oldest slot, or -1, and its latest. `later` has by slot the row's number in its partition, and the
    slot of the next one. There is room for as many new partitions as there are rows. `registers[0]` counts partitions.
    """
    width = keys.shape[1]
    everything = np.arange(width)
    pushed = np.full(len(slots), -1, np.int64)
    for i in range(len(slots)):
        slot = slots[i]
        # The key is written where a new partition would be; it stays there if the partition is new.
        new = registers[0]
        for c in range(len(columns)):
            keys[new, c] = rows[i, columns[c]]
        for c in range(len(null_columns)):
            keys[new, len(columns) + c] = rows[i, null_columns[c]] & null_masks[c]
        hash_ = row_hash(keys, new, everything)
        found = first(heads, mask, hash_)
        while found >= 0:
            equal = True
            for c in range(width):
                if keys[found, c] != keys[new, c]:
                    equal = False
                    break
            if equal:
                break
            found = following(links, found)
        if found < 0:
            found = new
            registers[0] += 1
            link(heads, mask, links, hash_, found)
            partitions[found, 0] = 0
            partitions[found, 1] = -1
        number = partitions[found, 0]
        partitions[found, 0] += 1
        if slot >= 0:
            later[slot, 0] = number
            if partitions[found, 1] < 0:
                partitions[found, 1] = slot
            else:
                later[partitions[found, 2], 1] = slot
            partitions[found, 2] = slot
        oldest = partitions[found, 1]
        if oldest >= 0 and later[oldest, 0] + count <= number:
            pushed[i] = oldest
            partitions[found, 1] = -1 if oldest == partitions[found, 2] else later[oldest, 1]
    return pushed
