"""A hash multiset: how often each owner holds each value. DISTINCT inside an aggregate sees a value come and go once.

An entry is a row of a table of slots: owner, value, count, and the link to the next entry of its bucket. Counts may
dip below zero inside one instant, where the order of changes is free; an entry is kept while its count is not zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import slots
from penstock.kernels.hashing import words_hash
from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

OWNER, VALUE, COUNT, LINK = 0, 1, 2, 3
WIDTH = 4


@lean
def change(entries: Ints, heads: Ints, owner: int, value: int, weight: int) -> int:
    """Adds `weight` copies. Gives +1 if the owner now holds a value that it did not, -1 if it lost it, else 0."""
    bucket = words_hash(owner, value) & (len(heads) - 1)
    before = 0
    entry = heads[bucket]
    while entry != 0 and not (entries[entry, OWNER] == owner and entries[entry, VALUE] == value):
        before = entry
        entry = entries[entry, LINK]
    if entry == 0:
        entry = slots.take(entries)
        entries[entry, OWNER] = owner
        entries[entry, VALUE] = value
        entries[entry, LINK] = heads[bucket]
        heads[bucket] = entry
        before = 0
    old = entries[entry, COUNT]
    new = old + weight
    entries[entry, COUNT] = new
    if new == 0:
        if before == 0:
            heads[bucket] = entries[entry, LINK]
        else:
            entries[before, LINK] = entries[entry, LINK]
        slots.give(entries, entry)
    return int(new > 0) - int(old > 0)


@lean
def rebuild(entries: Ints, heads: Ints) -> None:
    """Links all entries again, after a restore or for more buckets."""
    for bucket in range(len(heads)):
        heads[bucket] = 0
    for entry in range(1, len(entries)):
        if entries[entry, COUNT] != 0:
            bucket = words_hash(entries[entry, OWNER], entries[entry, VALUE]) & (len(heads) - 1)
            entries[entry, LINK] = heads[bucket]
            heads[bucket] = entry


@lean
def forget(entries: Ints, heads: Ints, gone: Ints) -> None:
    """Gives back these entries."""
    for entry in gone:
        bucket = words_hash(entries[entry, OWNER], entries[entry, VALUE]) & (len(heads) - 1)
        other = heads[bucket]
        if other == entry:
            heads[bucket] = entries[entry, LINK]
        else:
            while entries[other, LINK] != entry:
                other = entries[other, LINK]
            entries[other, LINK] = entries[entry, LINK]
        slots.give(entries, entry)
