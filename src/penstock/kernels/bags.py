"""A bag of rows: insertions get a slot, deletions find one that holds an equal row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import row_hash
from penstock.kernels.index import link, same, unlink
from penstock.kernels.jit import kernel

Ints = NDArray[np.int64]


@kernel
def place(signs: Ints, rows: Ints, fresh: Ints, stored: Ints, heads: Ints, links: Ints) -> Ints:
    """The slot of each row: a fresh one for an insertion, that of an equal row for a deletion (-1: there is none)."""
    columns = np.arange(rows.shape[1])
    mask = len(heads) - 1
    slots = np.empty(len(signs), np.int64)
    used = 0
    for i in range(len(signs)):
        bucket = row_hash(rows, i, columns) & mask
        if signs[i] > 0:
            slot = fresh[used]
            used += 1
            stored[slot] = rows[i]
            link(heads, links, bucket, slot)
        else:
            slot = heads[bucket]
            while slot >= 0 and not same(stored, slot, rows, i):
                slot = links[slot, 0]
            if slot >= 0:
                unlink(heads, links, slot)
        slots[i] = slot
    return slots
