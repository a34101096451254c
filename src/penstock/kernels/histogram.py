"""Histograms of numbers from 0 on, whatever their size, in few buckets: each number up to 127 has a bucket of its own,
and every power of two from there on has 64. So a bucket's numbers differ by less than one part in 64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

_EXACT = 128
_HALF = 64

#: Enough for all numbers of 63 bits.
BUCKETS = _EXACT + 56 * _HALF


@lean
def bucket_of(number: int) -> int:
    """The bucket of a number; buckets are in the order of their numbers.

    >>> int(bucket_of(127)), int(bucket_of(128)), int(bucket_of(129)), int(bucket_of(2**63 - 1)) == BUCKETS - 1
    (127, 128, 128, True)
    """
    shifts = 0
    while number >= _EXACT:
        number >>= 1
        shifts += 1
    return number + shifts * _HALF


@lean
def tally(numbers: Ints, counts: Ints, largest: Ints) -> int:
    """Counts numbers, and notes the largest of each bucket. Those below zero are not counted; gives how many are."""
    counted = 0
    for i in range(len(numbers)):
        if numbers[i] >= 0:
            bucket = bucket_of(numbers[i])
            counts[bucket] += 1
            largest[bucket] = max(largest[bucket], numbers[i])
            counted += 1
    return counted
