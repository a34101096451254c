"""Watch lists: entries of [hash, input, slot, next entry of the slot + 1], found by their hash or by their slot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import first, following
from penstock.kernels.jit import kernel, lean
from penstock.kernels.pointers import peek, poke

Ints = NDArray[np.int64]

HASH, INPUT, SLOT, NEXT = range(4)


@lean
def chain(entries: Ints, fresh: Ints, hashes: Ints, inputs: Ints, slots: Ints, firsts: Ints) -> None:
    """Fills fresh entries. `firsts` has of each input the address of its slots' first entries, counted from 1."""
    for i in range(len(fresh)):
        at = firsts[inputs[i]] + 8 * slots[i]
        entries[fresh[i], HASH] = hashes[i]
        entries[fresh[i], INPUT] = inputs[i]
        entries[fresh[i], SLOT] = slots[i]
        entries[fresh[i], NEXT] = peek(at)
        poke(at, fresh[i] + 1)


@kernel
def waiting_rows(entries: Ints, heads: int, mask: int, links: int, hashes: Ints) -> Ints:
    """The entries that have one of these hashes, which are the lines of a matrix. Some may come twice."""
    found = np.empty(64, np.int64)
    count = 0
    for i in range(len(hashes)):
        entry = first(heads, mask, prefix_hash(hashes, i, 1))
        while entry >= 0:
            if entries[entry, HASH] == hashes[i, 0]:
                if count == len(found):
                    larger = np.empty(2 * count, np.int64)
                    larger[:count] = found
                    found = larger
                found[count] = entry
                count += 1
            entry = following(links, entry)
    return found[:count]


@kernel
def unchain(entries: Ints, inputs: Ints, slots: Ints, firsts: Ints) -> Ints:
    """The entries of these slots, which then have none."""
    found = np.empty(64, np.int64)
    count = 0
    for i in range(len(slots)):
        at = firsts[inputs[i]] + 8 * slots[i]
        entry = peek(at) - 1
        poke(at, 0)
        while entry >= 0:
            if count == len(found):
                larger = np.empty(2 * count, np.int64)
                larger[:count] = found
                found = larger
            found[count] = entry
            count += 1
            entry = entries[entry, NEXT] - 1
    return found[:count]
