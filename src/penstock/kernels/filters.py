"""Pipelined filters: rows are looked up in tables of keys, in a given order, until one drops them (thesis 4.2).

A table of keys counts how many rows of its side have each key. Its changes and the rows that are judged are both in the
order of time, so one pass is enough: before the rows of an instant are judged, all changes up to it are applied.

    changes of side 0    +7     -7        +5
    changes of side 1        +5       +7
    rows                   5  7     5         5      ──▶ time

Tables are passed as lines of addresses (`pointers`), and filters as lines of numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import line_hash
from penstock.kernels.index import first, following, link, unlink
from penstock.kernels.jit import lean
from penstock.kernels.pointers import peek, poke

Ints = NDArray[np.int64]

#: What a line of `sides` has: the index, the keys and how many words each has, the counts; the changes of this step
#: (their times, slots and weights), how many they are, and how many of them are applied.
HEADS, MASK, LINKS, KEYS, WIDTH, COUNTS, TIMES, SLOTS, WEIGHTS, CHANGES, APPLIED, SIDE_WIDTH = range(12)
#: What a line of `filters` has: the side, whether a match is wanted, and the address of what says which rows can have
#: one, or 0.
SIDE, WANTS_MATCH, ELIGIBLE, FILTER_WIDTH = range(4)

_END_OF_TIME = (1 << 63) - 1


class Judged(NamedTuple):
    """Where `judge` puts what it finds."""

    #: The rows that pass, by number.
    passing: Ints
    #: By position in the order, how many rows came to a filter, and how many it let through.
    entered: Ints
    passed: Ints
    #: By filter, how many rows it was evaluated on, sampled ones that were already dropped included.
    evaluations: Ints
    #: Of each sampled row a word, whose bit i says that filter i drops it.
    words: Ints


#: Which filters test a sampled row that is already dropped: all, the next one, or that at one position of the order.
ALL, NEXT, ONE = range(3)


@lean
def judge(
    ts: Ints,
    rows: Ints,
    filters: Ints,
    columns: Ints,
    sides: Ints,
    order: Ints,
    sampled: Ints,
    ghosts: int,
    position: int,
    judged: Judged,
) -> int:
    """Judges rows, and returns how many pass.

    Rows that are `sampled`, by number, are tested on by `ghosts` when they have been dropped.
    """
    count, samples = 0, 0
    for i in range(len(ts)):
        if i == 0 or ts[i] != ts[i - 1]:
            for side in range(len(sides)):
                apply_changes(sides, side, ts[i])
        is_sampled = samples < len(sampled) and sampled[samples] == i
        word, dropped_at = 0, len(order)
        for place in range(len(order)):
            number = order[place]
            if word == 0:
                judged.entered[place] += 1
            elif (ghosts == NEXT and place != dropped_at + 1) or (ghosts == ONE and place != position):
                continue
            judged.evaluations[number] += 1
            if _has_match(rows, i, filters, columns, sides, number) == (filters[number, WANTS_MATCH] != 0):
                if word == 0:
                    judged.passed[place] += 1
                continue
            if word == 0:
                dropped_at = place
            word |= 1 << number
            if not is_sampled:
                break
        if is_sampled:
            judged.words[samples] = word
            samples += 1
        judged.passing[count] = i
        count += word == 0
    return count


@lean
def apply_all_changes(sides: Ints) -> None:
    """Applies what is left of the changes of a step."""
    for side in range(len(sides)):
        apply_changes(sides, side, _END_OF_TIME)


@lean
def apply_changes(sides: Ints, side: int, until: int) -> None:
    """Counts the changes of a side up to an instant."""
    times, slots, weights = sides[side, TIMES], sides[side, SLOTS], sides[side, WEIGHTS]
    counts, change, end = sides[side, COUNTS], sides[side, APPLIED], sides[side, CHANGES]
    while change < end and peek(times + 8 * change) <= until:
        at = counts + 8 * peek(slots + 8 * change)
        poke(at, peek(at) + peek(weights + 8 * change))
        change += 1
    sides[side, APPLIED] = change


@lean
def _has_match(rows: Ints, row: int, filters: Ints, columns: Ints, sides: Ints, number: int) -> bool:
    """Whether a row's values are a key of the filter's side."""
    eligible = filters[number, ELIGIBLE]
    if eligible != 0 and peek(eligible + 8 * row) == 0:
        return False
    side = filters[number, SIDE]
    keys, width = sides[side, KEYS], sides[side, WIDTH]
    slot = first(sides[side, HEADS], sides[side, MASK], line_hash(rows, row, columns, number, width))
    while slot >= 0:
        at, word = keys + 8 * width * slot, 0
        while word < width and peek(at + 8 * word) == rows[row, columns[number, word]]:
            word += 1
        if word == width:
            return peek(sides[side, COUNTS] + 8 * slot) > 0
        slot = following(sides[side, LINKS], slot)
    return False


@lean
def find_keys(rows: Ints, hashes: Ints, heads: int, mask: int, links: int, keys: Ints, slots: Ints) -> int:
    """Puts the slot of each row's key into `slots`, or -1, and returns how many have none."""
    missing = 0
    for i in range(len(rows)):
        slots[i] = _slot_of(rows, i, hashes[i], heads, mask, links, keys)
        missing += slots[i] < 0
    return missing


@lean
def add_keys(
    rows: Ints, hashes: Ints, heads: int, mask: int, links: int, keys: Ints, counts: Ints, slots: Ints, fresh: Ints
) -> int:
    """Gives keys without a slot one of the fresh ones, and returns how many of these are taken."""
    taken = 0
    for i in range(len(rows)):
        if slots[i] >= 0:
            continue
        slots[i] = _slot_of(rows, i, hashes[i], heads, mask, links, keys)
        if slots[i] < 0:
            slot = fresh[taken]
            for word in range(keys.shape[1]):
                keys[slot, word] = rows[i, word]
            counts[slot] = 0
            link(heads, mask, links, hashes[i], slot)
            slots[i] = slot
            taken += 1
    return taken


@lean
def drop_keys(heads: int, links: int, counts: Ints, slots: Ints, gone: Ints) -> int:
    """Takes keys of which there is no row any more out of the index; `gone` are their slots."""
    count = 0
    for i in range(len(slots)):
        slot = slots[i]
        if counts[slot] == 0 and peek(links + 8 * (slot + 1)) != 0:
            unlink(heads, links, slot)
            gone[count] = slot
            count += 1
    return count


@lean
def _slot_of(rows: Ints, row: int, hash_: int, heads: int, mask: int, links: int, keys: Ints) -> int:
    slot = first(heads, mask, hash_)
    while slot >= 0:
        word = 0
        while word < keys.shape[1] and keys[slot, word] == rows[row, word]:
            word += 1
        if word == keys.shape[1]:
            return slot
        slot = following(links, slot)
    return -1
