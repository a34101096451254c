"""A bag of rows: insertions get a slot, deletions find one that holds an equal row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import row_hash
from penstock.kernels.index import first, following, link, same, unlink
from penstock.kernels.jit import kernel

Ints = NDArray[np.int64]


@kernel
def place(signs: Ints, rows: Ints, fresh: Ints, stored: Ints, heads: int, mask: int, links: int) -> Ints:
    """The slot of each row: a fresh one for an insertion, that of an equal row for a deletion (-1: there is none)."""
    columns = np.arange(rows.shape[1])
    slots = np.empty(len(signs), np.int64)
    used = 0
    for i in range(len(signs)):
        hash_ = row_hash(rows, i, columns)
        if signs[i] > 0:
            slot = fresh[used]
            used += 1
            stored[slot] = rows[i]
            link(heads, mask, links, hash_, slot)
        else:
            slot = first(heads, mask, hash_)
            while slot >= 0 and not same(stored, slot, rows, i):
                slot = following(links, slot)
            if slot >= 0:
                unlink(heads, links, slot)
        slots[i] = slot
    return slots
