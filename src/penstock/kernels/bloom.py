"""A Bloom filter: which hashes may be among those that were noted, in about two bytes for each.

Each hash has four bits in one word of 64, so a look costs one access to memory. With four hashes to a word about one
look in a hundred finds what was never noted; what was noted is always found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean
from penstock.kernels.pointers import peek

Ints = NDArray[np.int64]

#: Hashes to a word for which filters are made.
PER_WORD = 4


@lean
def bits_of(hash_: int) -> int:
    """The bits of a hash in its word: the low bits of the hash choose the word, the high ones these."""
    four = (1 << ((hash_ >> 57) & 63)) | (1 << ((hash_ >> 51) & 63))
    return four | (1 << ((hash_ >> 45) & 63)) | (1 << ((hash_ >> 39) & 63))


@lean
def may_have(words: int, mask: int, hash_: int) -> bool:
    """Whether a hash may have been noted in the filter at an address, of so many words less one."""
    bits = bits_of(hash_)
    return peek(words + 8 * (hash_ & mask)) & bits == bits


@lean
def note(words: Ints, mask: int, hashes: Ints) -> None:
    """Notes hashes."""
    for i in range(len(hashes)):
        words[hashes[i] & mask] |= bits_of(hashes[i])


@lean
def noted(words: Ints, mask: int, hashes: Ints, found: Ints) -> int:
    """Which of these hashes may have been noted; where they are is `found`."""
    count = 0
    for i in range(len(hashes)):
        found[count] = i
        bits = bits_of(hashes[i])
        count += words[hashes[i] & mask] & bits == bits
    return count
