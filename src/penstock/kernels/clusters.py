"""Clusters of values: when a value has come, and since then more than k rows with others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import kernel

Ints = NDArray[np.int64]


@kernel
def follow(values: Ints, before: Ints, after: Ints, again: int, k: int, words: Ints, ends: Ints) -> int:
    """Follows rows in their order, and gives how many clusters end because their value comes again too late.

    A row has the number of its value, and a clock when its instant began and when it was over. The word of a value is
    the clock up to which rows count as its own, or -1; it grows by `again` with each row. Of clusters that end `ends`
    has the number of the value, and its word.
    """
    count = 0
    began = np.full(len(words), -1, np.int64)
    for i in range(len(values)):
        value = values[i]
        is_late = words[value] >= 0 and before[i] > words[value] + k
        if is_late:
            ends[count, 0] = value
            ends[count, 1] = words[value]
            count += 1
        if words[value] < 0 or is_late:
            words[value] = after[i]
            began[value] = before[i]
        elif began[value] != before[i]:
            words[value] += again  # rows of the instant at which it began are counted already
    return count
