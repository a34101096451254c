"""Combinations of some inputs of a join, extended by the rows of one more: a step of the join's pipeline, for all.

Unlike `mjoin` it takes every row that an index has, also those that come or go in this step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import first, following
from penstock.kernels.jit import kernel

Ints = NDArray[np.int64]


@kernel
def extended(
    bound: Ints, keys: Ints, target: int, rows: Ints, columns: Ints, heads: int, mask: int, links: int
) -> Ints:
    """The combinations with each row of the target that has their key in its columns.

    `bound` has a line per combination, of a slot for each input; `keys` has their keys.
    """
    count = 0
    out = np.empty((max(64, len(bound)), bound.shape[1]), np.int64)
    for i in range(len(bound)):
        slot = first(heads, mask, prefix_hash(keys, i, keys.shape[1]))
        while slot >= 0:
            same = True
            for c in range(len(columns)):
                same &= rows[slot, columns[c]] == keys[i, c]
            if same:
                if count == len(out):
                    out = np.concatenate((out, np.empty_like(out)))
                out[count] = bound[i]
                out[count, target] = slot
                count += 1
            slot = following(links, slot)
    return out[:count]
