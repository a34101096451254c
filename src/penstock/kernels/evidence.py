"""Evidence by value: entries of a key and one word, put in once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import prefix_hash, row_hashes
from penstock.kernels.index import FAR, LOW, NEAR, first, following, link
from penstock.kernels.jit import lean
from penstock.kernels.pointers import peek, prefetch

Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]


@lean
def note(keys: Ints, words: Ints, again: int, fresh: Ints, entries: Ints, heads: int, mask: int, links: int) -> int:
    """Puts in an entry for each key that has none, with its word; to the word of one that is there `again` is added.

    Entries take the first of the fresh slots; gives how many. Where values are clustered, many have the key of the one
    before them.
    """
    taken, width, slot = 0, keys.shape[1], -1
    for i in range(len(keys)):
        if i > 0 and _same_key(keys, i, keys, i - 1):
            entries[slot, width] += again
            continue
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


class Referred(NamedTuple):
    """Rows that may be referred to, of those with these keys and hashes: where they are among them.

    With each, the word since which it is referred to, or -1, and how often; which is the first of them with the same
    key, and has these words for all; and its entry, or -1. `table` has them by hash: 1 more than the place, or 0. It is
    a power of two of words.
    """

    keys: Ints
    hashes: Ints
    places: Ints
    since: Ints
    partners: Ints
    firsts: Ints
    slots: Ints
    table: NDArray[np.int32]


@lean
def mark(hashes: Ints, bits: Ints) -> None:
    """Sets a bit for each hash. There is a power of two of words."""
    for i in range(len(hashes)):
        bits[(hashes[i] >> 6) & (len(bits) - 1)] |= 1 << (hashes[i] & 63)


@lean
def find_referred(rows: Referred, bits: Ints, entries: Ints, heads: int, mask: int, links: int) -> int:
    """Finds the rows that have an entry of `meet`, or a hash that is marked. Gives how many."""
    count, width = 0, rows.keys.shape[1]
    for i in range(len(rows.keys)):
        hash_ = rows.hashes[i]
        slot = entry_of(rows.keys, i, hash_, entries, heads, mask, links) if mask >= 0 else -1
        is_marked = (bits[(hash_ >> 6) & (len(bits) - 1)] >> (hash_ & 63)) & 1
        if slot < 0 and not is_marked:
            continue
        rows.places[count], rows.slots[count] = i, slot
        rows.since[count] = entries[slot, width] if slot >= 0 else -1
        rows.partners[count] = entries[slot, width + 1] if slot >= 0 else 0
        place = _place(rows, rows.keys, i, hash_)
        if rows.table[place] == 0:
            rows.table[place] = count + 1
        rows.firsts[count] = rows.table[place] - 1
        count += 1
    return count


@lean
def refer(
    keys: Ints, hashes: Ints, words: Ints, rows: Referred, is_key: bool, oldest: int, sampled: int, kept: Ints
) -> int:
    """Rows that refer to those, and come with them, each with its word.

    Which of them are to be remembered is `kept`: those that refer to none, or to one that is not the only one with its
    key, and are not older than that or have a hash below `sampled`. Gives how many.
    """
    count = 0
    for i in range(len(keys)):
        there = rows.table[_place(rows, keys, i, hashes[i])] - 1
        if there >= 0:
            rows.partners[there] += 1
            if rows.since[there] == -1 or words[i] < rows.since[there]:
                rows.since[there] = words[i]
        kept[count] = i
        count += (there < 0 or not is_key) and (words[i] >= oldest or hashes[i] < sampled)
    return count


@lean
def _place(rows: Referred, keys: Ints, i: int, hash_: int) -> int:
    """Where the table has a row with that key, or has room for it."""
    place = hash_ & (len(rows.table) - 1)
    while rows.table[place] != 0 and not _same_key(rows.keys, rows.places[rows.table[place] - 1], keys, i):
        place = (place + 1) & (len(rows.table) - 1)
    return place


@lean
def _same_key(keys: Ints, i: int, others: Ints, other: int) -> bool:
    same = True
    for c in range(keys.shape[1]):
        same &= keys[i, c] == others[other, c]
    return same


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
def holds_key(keys: Ints, i: int, hash_: int, rows: Ints, columns: Ints, heads: int, mask: int, links: int) -> bool:
    """Whether an indexed store has a row with a key in its columns."""
    slot = first(heads, mask, hash_) if mask >= 0 else -1
    while slot >= 0:
        same = True
        for c in range(keys.shape[1]):
            same &= rows[slot, columns[c]] == keys[i, c]
        if same:
            return True
        slot = following(links, slot)
    return False


@lean
def holds(keys: Ints, rows: Ints, columns: Ints, heads: int, mask: int, links: int, out: Ints) -> None:
    """Whether an indexed store has a row with each key in its columns: 1 or 0."""
    for i in range(len(keys)):
        out[i] = holds_key(keys, i, prefix_hash(keys, i, keys.shape[1]), rows, columns, heads, mask, links)


@lean
def mark_rows(
    keys: Ints, hashes: Ints, rows: Ints, columns: Ints, heads: int, mask: int, links: int, marks: Int32s, as_what: int
) -> None:
    """Marks the slots of an indexed store's rows that have one of these keys in its columns, if not as more."""
    for i in range(len(keys)):
        if i + FAR < len(keys):
            prefetch(heads + 8 * (hashes[i + FAR] & mask))
            prefetch(links + 8 * (peek(heads + 8 * (hashes[i + NEAR] & mask)) & LOW))
        slot = first(heads, mask, hashes[i])
        while slot >= 0:
            same = True
            for c in range(keys.shape[1]):
                same &= rows[slot, columns[c]] == keys[i, c]
            if same and marks[slot] < as_what:
                marks[slot] = as_what
            slot = following(links, slot)
