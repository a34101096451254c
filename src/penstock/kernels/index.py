"""A hash index over the slots of a row store: buckets of doubly linked slots, each taken out in constant time.

`heads` has a power of two of buckets. `links` has a row per slot: the next slot of its bucket, the one before, each -1
at the end. The before of a first slot is -2 - bucket; -1 there says that the slot is not in the index.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import row_hash
from penstock.kernels.jit import kernel

Ints = NDArray[np.int64]


@kernel
def link(heads: Ints, links: Ints, bucket: int, slot: int) -> None:
    """Puts a slot at the front of a bucket."""
    first = heads[bucket]
    links[slot, 0] = first
    links[slot, 1] = -2 - bucket
    if first >= 0:
        links[first, 1] = slot
    heads[bucket] = slot


@kernel
def unlink(heads: Ints, links: Ints, slot: int) -> None:
    """Takes a slot out of its bucket, if it is in one."""
    after, before = links[slot, 0], links[slot, 1]
    if before == -1:
        return
    if before >= 0:
        links[before, 0] = after
    else:
        heads[-2 - before] = after
    if after >= 0:
        links[after, 1] = before
    links[slot, 1] = -1


@kernel
def relink(heads: Ints, links: Ints, rows: Ints, columns: Ints, slots: Ints) -> None:
    """Fills an empty index with slots."""
    mask = len(heads) - 1
    for i in range(len(slots)):
        link(heads, links, row_hash(rows, slots[i], columns) & mask, slots[i])


@kernel
def same(rows: Ints, row: int, others: Ints, other: int) -> bool:
    """Whether two rows are word for word the same."""
    for c in range(rows.shape[1]):
        if rows[row, c] != others[other, c]:
            return False
    return True
