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


@lean
def above(records: Ints, size: int, column: int, value: int) -> int:
    """How many of the records, which go up in that column, are not above a value: the place of the first that is."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if records[middle, column] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@lean
def passed_by(records: Ints, size: int, values: Ints, some: Ints, stamps: Ints) -> None:
    """Of some values, the stamp of the first record that is above each."""
    for i in range(len(some)):
        stamps[i] = records[above(records, size, VALUE, values[some[i]]), STAMP]
