"""Outcomes of a predicate by the words that it reads, in a table of sets of four lines: a key is in a line of its set.

A line has the words of its key, and behind them what is known of it. A key that finds its set full takes the place of
another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

#: What is known of a key: nothing, or that the predicate is not true, or true.
UNKNOWN, NOT_TRUE, TRUE = range(3)


#: Lines of a set.
WAYS = 4


@lean
def line_of(keys: Ints, key: int, hash_: int, lines: Ints) -> int:
    """The line that has a key, or a free one of its set, or the one whose key has to go."""
    width = keys.shape[1]
    first = (hash_ & (len(lines) - 1)) & ~(WAYS - 1)
    for way in range(WAYS):
        line = first + way
        if lines[line, width] == UNKNOWN:
            return line
        is_same = True
        for c in range(width):
            if lines[line, c] != keys[key, c]:
                is_same = False
                break
        if is_same:
            return line
    return first + ((hash_ >> 32) & (WAYS - 1))


@lean
def known_outcomes(keys: Ints, hashes: Ints, lines: Ints, found: Ints) -> None:
    """What is known of each key."""
    width = keys.shape[1]
    for i in range(len(keys)):
        line = line_of(keys, i, hashes[i], lines)
        found[i] = lines[line, width]
        for c in range(width):
            if lines[line, c] != keys[i, c]:
                found[i] = UNKNOWN


@lean
def keep_outcomes(keys: Ints, hashes: Ints, lines: Ints, some: Ints, outcomes: Ints) -> None:
    """Keeps the outcomes of some keys, by number."""
    width = keys.shape[1]
    for i in range(len(some)):
        line = line_of(keys, some[i], hashes[some[i]], lines)
        for c in range(width):
            lines[line, c] = keys[some[i], c]
        lines[line, width] = outcomes[i]
