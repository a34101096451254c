"""Samples of keys: hashes of values as Arrow holds them, so that rows are picked before anything is made of them.

Rows of two streams with equal values are picked alike, in every process, whatever codes the values would get.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import words_hash
from penstock.kernels.jit import lean

Ints = NDArray[np.int64]


@lean
def mix_words(words: Ints, states: Ints) -> None:
    """Works a column of words into the hash of each row."""
    for i in range(len(words)):
        states[i] = words_hash(states[i], words[i])


@lean
def mix_bytes(offsets: NDArray[np.int32], data: NDArray[np.uint8], states: Ints) -> None:
    """Works a column of strings into the hash of each row."""
    for i in range(len(states)):
        word, filled, state = 0, 0, states[i]
        for place in range(offsets[i], offsets[i + 1]):
            word = (word << 8) | int(data[place])
            filled += 1
            if filled == 7:
                state = words_hash(state, word)
                word, filled = 0, 0
        states[i] = words_hash(state, (word << 8) | filled)


@lean
def pick(states: Ints, one_in: int, picked: NDArray[np.bool_]) -> None:
    """Which rows are in the sample: one key in so many, those with the lowest hashes. To compare costs no division."""
    limit = ((1 << 63) - 1) // one_in
    for i in range(len(states)):
        picked[i] = states[i] <= limit
