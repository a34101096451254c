"""Evidence by value: entries of a key and one word, put in once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import prefix_hash, row_hashes
from penstock.kernels.index import first, following, link
from penstock.kernels.jit import lean

Ints = NDArray[np.int64]


@lean
def note(keys: Ints, words: Ints, again: int, fresh: Ints, entries: Ints, heads: int, mask: int, links: int) -> int:
    """Puts in an entry for each key that has none, with its word; to the word of one that is there `again` is added.

    Entries take the first of the fresh slots; gives how many.
    """
    taken, width = 0, keys.shape[1]
    for i in range(len(keys)):
        hash_ = prefix_hash(keys, i, width)
        slot = entry_of(keys, i, hash_, entries, heads, mask, links)
        if slot >= 0:
            entries[slot, width] += again
            continue
        slot = fresh[taken]
        taken += 1
        for c in range(width):
            entries[slot, c] = keys[i, c]
        entries[slot, width] = words[i]
        link(heads, mask, links, hash_, slot)
    return taken


@lean
def meet(
    keys: Ints, words: Ints, again: int, fresh: Ints, entries: Ints, heads: int, mask: int, links: int, found: Ints
) -> int:
    """As `note`, row by row; the word behind counts the rows of a key. Gives the words that keys had, or -1, too."""
    taken, width = 0, keys.shape[1]
    for i in range(len(keys)):
        hash_ = prefix_hash(keys, i, width)
        slot = entry_of(keys, i, hash_, entries, heads, mask, links)
        if slot >= 0:
            found[i] = entries[slot, width]
            entries[slot, width] += again
            entries[slot, width + 1] += 1
            continue
        found[i] = -1
        slot = fresh[taken]
        taken += 1
        for c in range(width):
            entries[slot, c] = keys[i, c]
        entries[slot, width] = words[i]
        entries[slot, width + 1] = 1
        link(heads, mask, links, hash_, slot)
    return taken


@lean
def entry_of(keys: Ints, i: int, hash_: int, entries: Ints, heads: int, mask: int, links: int) -> int:
    """The slot of a key's entry, or -1."""
    slot = first(heads, mask, hash_)
    while slot >= 0:
        same = True
        for c in range(keys.shape[1]):
            same &= entries[slot, c] == keys[i, c]
        if same:
            return slot
        slot = following(links, slot)
    return -1


@lean
def slots_of(keys: Ints, entries: Ints, heads: int, mask: int, links: int, out: Ints) -> None:
    """The slot of each key's entry, or -1."""
    for i in range(len(keys)):
        out[i] = entry_of(keys, i, prefix_hash(keys, i, keys.shape[1]), entries, heads, mask, links)


def watch_hashes(rule: int, keys: Ints) -> Ints:
    """What `kernels.purge` watches for by a rule, of some keys."""
    lines = np.column_stack((np.full(len(keys), rule, np.int64), keys))
    return row_hashes(np.ascontiguousarray(lines), np.arange(len(keys)), np.arange(lines.shape[1]))


@lean
def watched_hashes(rule: int, rows: Ints, slots: Ints, columns: Ints, key: Ints, out: Ints) -> None:
    """The same of rows in a store, by the columns that hold the keys; `key` has room for a line of one word more."""
    key[0, 0] = rule
    for i in range(len(slots)):
        for c in range(len(columns)):
            key[0, c + 1] = rows[slots[i], columns[c]]
        out[i] = prefix_hash(key, 0, len(columns) + 1)


@lean
def holds(keys: Ints, rows: Ints, columns: Ints, heads: int, mask: int, links: int, out: Ints) -> None:
    """Whether an indexed store has a row with each key in its columns: 1 or 0."""
    width = keys.shape[1]
    for i in range(len(keys)):
        slot = first(heads, mask, prefix_hash(keys, i, width))
        out[i] = 0
        while slot >= 0 and out[i] == 0:
            same = 1
            for c in range(width):
                same &= rows[slot, columns[c]] == keys[i, c]
            out[i] = same
            slot = following(links, slot)
