"""Values that are above all before them: what an order leaves to remember of its stream."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

#: The columns of a record.
STAMP, VALUE = range(2)


@lean
def rise(stamps: Ints, values: Ints, highest: int, records: Ints, size: int, below: Ints) -> tuple[int, int]:
    """Adds records of values that are above all before them, and above the `highest` at the start, to so many.

    Gives how many records there are then, and of how many rows the value is below the highest before it: `below` has
    their places.
    """
    count = 0
    for i in range(len(values)):
        below[count] = i
        count += values[i] < highest
        if values[i] > highest:
            highest = values[i]
            records[size, STAMP], records[size, VALUE] = stamps[i], highest
            size += 1
    return size, count
