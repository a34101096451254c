"""Rows into slots."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]


@lean
def scatter(rows: Ints, starts: Ints, slots: Ints, stored: Ints, stored_starts: Ints) -> None:
    """Puts each row, and its start, into its slot."""
    for i in range(len(slots)):
        for c in range(rows.shape[1]):
            stored[slots[i], c] = rows[i, c]
        stored_starts[slots[i]] = starts[i]
