"""Texts as two words each: 128 bits of hash, in which two texts that differ look alike once in 2^128.

Every eight bytes go through one round of a multiply and a shift in two lanes with different constants; the length goes
in first, so a text is no prefix of another. Each lane ends in the finaliser of SplitMix64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import word_hash
from penstock.kernels.jit import lean

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xD6E8FEB86659FD93)
_8 = np.uint64(8)
_29 = np.uint64(29)
_32 = np.uint64(32)


@lean
def text_words(offsets: Ints, data: Bytes, words: Ints) -> None:
    """The words of texts that lie in `data` one after the other, between offsets."""
    for i in range(len(words)):
        length = np.uint64(offsets[i + 1] - offsets[i])
        first = (length ^ _SECOND) * _FIRST
        second = (length ^ _FIRST) * _SECOND
        word = np.uint64(0)
        filled = 0
        for place in range(offsets[i], offsets[i + 1]):
            word = (word << _8) | np.uint64(data[place])
            filled += 1
            if filled == 8:
                first = (first ^ word) * _FIRST
                first ^= first >> _32
                second = (second ^ word) * _SECOND
                second ^= second >> _29
                word = np.uint64(0)
                filled = 0
        first = (first ^ word) * _FIRST
        first ^= first >> _32
        second = (second ^ word) * _SECOND
        second ^= second >> _29
        words[i, 0] = word_hash(first)  # type: ignore[arg-type]  # compiled, it is an int
        words[i, 1] = word_hash(second)  # type: ignore[arg-type]
