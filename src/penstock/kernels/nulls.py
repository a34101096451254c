"""Null bits of stored rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import kernel

Ints = NDArray[np.int64]


@kernel
def has_null(rows: Ints, slots: Ints, words: Ints, masks: Ints) -> NDArray[np.bool_]:
    """Whether any of the columns whose bits `masks` pick from `words` is NULL in the row of each slot."""
    null = np.zeros(len(slots), np.bool_)
    for w in range(len(words)):
        for i in range(len(slots)):
            null[i] |= rows[slots[i], words[w]] & masks[w] != 0
    return null
