"""A hash index over the slots of a row store: buckets of doubly linked slots, each taken out in constant time.

`heads` has a power of two of buckets. The low half of its word is the first slot, counted from 1 (0: the bucket is
empty), the high half a Bloom filter: two bits of 32 for each key that was put in since the bucket was last empty. A
probe that does not find its bits need not look at any row, and that is what most probes meet.

`links` has a word per slot, from 1 on: the next slot of its bucket in the low half, and the one before in the high
half; before the first one stands ~bucket. A word of 0 is that of a slot that is not in the index. Word 0 is written as
if it were a slot's, so that the end of a bucket needs no test.

Both are passed by address (`pointers`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean
from penstock.kernels.pointers import peek, poke, prefetch

Ints = NDArray[np.int64]

LOW = 0xFFFFFFFF
#: The bits of a hash that choose the bits of the filter; its low bits choose the bucket.
FILTER_SHIFT, OTHER_SHIFT = 57, 52

#: How many rows ahead the memory of buckets, and that of their first slots, is asked for.
FAR, NEAR = 32, 16


@lean
def filter_bits(hash_: int) -> int:
    """The bits of a key in the filter. The bit of 2^63 is the sign: shifting it there is what is meant."""
    return (1 << (32 + ((hash_ >> FILTER_SHIFT) & 31))) | (1 << (32 + ((hash_ >> OTHER_SHIFT) & 31)))


@lean
def first(heads: int, mask: int, hash_: int) -> int:
    """The first slot that may have a key of this hash, or -1."""
    word, bits = peek(heads + 8 * (hash_ & mask)), filter_bits(hash_)
    return (word & LOW) - 1 if word & bits == bits else -1


@lean
def may_have(heads: int, mask: int, hashes: Ints, found: Ints) -> int:
    """Which of these hashes an index may have; where they are is `found`."""
    count = 0
    for i in range(len(hashes)):
        found[count] = i
        count += first(heads, mask, hashes[i]) >= 0
    return count


@lean
def following(links: int, slot: int) -> int:
    """The next slot of the bucket, or -1."""
    return (peek(links + 8 * (slot + 1)) & LOW) - 1


@lean
def link(heads: int, mask: int, links: int, hash_: int, slot: int) -> None:
    """Puts a slot at the front of its bucket."""
    bucket = hash_ & mask
    head = peek(heads + 8 * bucket)
    after = head & LOW
    poke(links + 8 * (slot + 1), (~bucket << 32) | after)
    poke(links + 8 * after, (peek(links + 8 * after) & LOW) | ((slot + 1) << 32))
    poke(heads + 8 * bucket, (head & ~LOW) | filter_bits(hash_) | (slot + 1))


@lean
def unlink(heads: int, links: int, slot: int) -> None:
    """Takes a slot out of its bucket, if it is in one."""
    word = peek(links + 8 * (slot + 1))
    if word == 0:
        return
    after, before = word & LOW, word >> 32
    if before > 0:
        poke(links + 8 * before, (peek(links + 8 * before) & ~LOW) | after)
    else:
        head = heads + 8 * ~before
        poke(head, (peek(head) & ~LOW) | after if after > 0 else 0)
    if after > 0:
        poke(links + 8 * after, (peek(links + 8 * after) & LOW) | (before << 32))
    poke(links + 8 * (slot + 1), 0)


@lean
def link_rows(heads: int, mask: int, links: int, hashes: Ints, slots: Ints, signs: Ints) -> None:
    """Links the slots that come."""
    for i in range(len(slots)):
        if i + FAR < len(slots):
            prefetch(heads + 8 * (hashes[i + FAR] & mask))
            prefetch(links + 8 * (peek(heads + 8 * (hashes[i + NEAR] & mask)) & LOW))
        if signs[i] > 0:
            link(heads, mask, links, hashes[i], slots[i])


@lean
def unlink_rows(heads: int, links: int, slots: Ints, signs: Ints) -> None:
    """Unlinks the slots that go."""
    for i in range(len(slots)):
        if signs[i] < 0:
            unlink(heads, links, slots[i])


@lean
def same(rows: Ints, row: int, others: Ints, other: int) -> bool:
    """Whether two rows are word for word the same."""
    for c in range(rows.shape[1]):
        if rows[row, c] != others[other, c]:
            return False
    return True
