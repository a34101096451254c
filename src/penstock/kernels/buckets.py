"""Buckets: rows that are alike have one slot, that of the first of them (002: one sample and one counter per bucket).

Rows are alike that have the same *key*: their values, and the box of rows that they join. A row that comes after the
first of its bucket costs its key, a hash, and a look at one word of the index.

How a key is made of a row is said by six tables, the *recipe*:

| table    | a line of it                                                                               |
| -------- | ------------------------------------------------------------------------------------------ |
| `nulls`  | a word of the row, and bits of it: a row that has one of them joins nothing                |
| `within` | columns (or -1, for 0) and a limit: a row in which left - right exceeds it joins nothing   |
| `values` | a column, the word and the bit of its null                                                 |
| `terms`  | a column, and what is added to it                                                          |
| `sides`  | the first of its terms, their end, whether it is an upper side, its limit                  |
| `holes`  | a column, what is added to it, the least and the greatest value that make a difference     |

The words of a key are the values, their null bits, the sides of the box, and the holes, behind a word of bits that say
which of them are there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import first, following, link
from penstock.kernels.jit import lean
from penstock.kernels.pointers import peek, poke

Ints = NDArray[np.int64]

LEAST, MOST = -(1 << 63), (1 << 63) - 1
NULL_BITS = 63


class Recipe(NamedTuple):
    """How a row's key is made."""

    nulls: Ints
    within: Ints
    values: Ints
    terms: Ints
    sides: Ints
    holes: Ints


class Samples(NamedTuple):
    """One row of each bucket and its key, by slot, and the index of the keys; `key` is room for one more."""

    rows: Ints
    keys: Ints
    heads: int
    mask: int
    links: int
    key: Ints


class Placing(NamedTuple):
    """Slots for new buckets, and what becomes of rows: the slot of each (-1: it is not kept), and whether it is new.

    `used` counts the fresh slots that were taken, and slots that are gone.
    """

    fresh: Ints
    used: Ints
    slots: Ints
    is_first: NDArray[np.bool_]


@lean
def plus(a: int, b: int) -> int:
    """The sum, or the least or greatest integer that there is."""
    total = a + b
    if (a ^ total) & (b ^ total) < 0:
        return MOST if a > 0 else LEAST
    return total


@lean
def minus(a: int, b: int) -> int:
    difference = a - b
    if (a ^ b) & (a ^ difference) < 0:
        return MOST if a > 0 else LEAST
    return difference


@lean
def key_of(rows: Ints, row: int, recipe: Recipe, key: Ints) -> bool:
    """Writes a row's key into the first line of `key`; false if the row joins nothing, whatever comes."""
    nulls, within, terms, sides = recipe.nulls, recipe.within, recipe.terms, recipe.sides
    for n in range(len(nulls)):
        if rows[row, nulls[n, 0]] & nulls[n, 1] != 0:
            return False
    for n in range(len(within)):
        left = rows[row, within[n, 0]] if within[n, 0] >= 0 else 0
        right = rows[row, within[n, 1]] if within[n, 1] >= 0 else 0
        if left > plus(right, within[n, 2]):
            return False
    at = _write_values(rows, row, recipe.values, key)
    for n in range(len(sides)):
        end = sides[n, 3]
        is_upper = sides[n, 2] != 0
        for t in range(sides[n, 0], sides[n, 1]):
            own = plus(rows[row, terms[t, 0]], terms[t, 1])
            end = min(end, own) if is_upper else max(end, own)
        key[0, at] = end
        at += 1
    if len(recipe.holes) > 0:
        _write_holes(rows, row, recipe.holes, key, at)
    return True


@lean
def _write_values(rows: Ints, row: int, values: Ints, key: Ints) -> int:
    """Gives the number of words that were written."""
    count = len(values)
    words = max(1, (count + NULL_BITS - 1) // NULL_BITS)
    for n in range(count, count + words):
        key[0, n] = 0
    for n in range(count):
        key[0, n] = rows[row, values[n, 0]]
        key[0, count + n // NULL_BITS] |= ((rows[row, values[n, 1]] >> values[n, 2]) & 1) << (n % NULL_BITS)
    return count + words


@lean
def _write_holes(rows: Ints, row: int, holes: Ints, key: Ints, at: int) -> None:
    key[0, at] = 0
    for n in range(len(holes)):
        value = plus(rows[row, holes[n, 0]], holes[n, 1])
        is_there = holes[n, 2] <= value <= holes[n, 3]
        key[0, at] |= int(is_there) << n
        key[0, at + 1 + n] = value if is_there else 0


@lean
def is_key(keys: Ints, slot: int, key: Ints, count: int) -> bool:
    """Whether the first words of a slot's key are those of `key`."""
    for n in range(count):
        if keys[slot, n] != key[0, n]:
            return False
    return True


@lean
def put(rows: Ints, row: int, slot: int, samples: Samples) -> None:
    """Makes a row, whose key was written last, the sample of a slot."""
    for n in range(rows.shape[1]):
        samples.rows[slot, n] = rows[row, n]
    for n in range(samples.key.shape[1]):
        samples.keys[slot, n] = samples.key[0, n]


@lean
def place_rows(start: int, rows: Ints, recipe: Recipe, samples: Samples, placing: Placing) -> int:
    """The bucket of each row from `start` on, and whether it is the first there.

    Gives the number of the first row for which there is no fresh slot.
    """
    key = samples.key
    words = key.shape[1]
    for i in range(start, len(rows)):
        placing.slots[i] = -1
        placing.is_first[i] = False
        if not key_of(rows, i, recipe, key):
            continue
        hash_ = prefix_hash(key, 0, words)
        slot = first(samples.heads, samples.mask, hash_)
        while slot >= 0 and not is_key(samples.keys, slot, key, words):
            slot = following(samples.links, slot)
        if slot < 0:
            if placing.used[0] == len(placing.fresh):
                return i
            slot = placing.fresh[placing.used[0]]
            placing.used[0] += 1
            put(rows, i, slot, samples)
            link(samples.heads, samples.mask, samples.links, hash_, slot)
            placing.is_first[i] = True
        placing.slots[i] = slot
    return len(rows)


@lean
def weigh(
    sources: Ints, slots: Ints, weights: Ints, counts: Ints, next_: Ints, found: Ints, by: Ints, out: Ints, ends: bool
) -> None:
    """How often each combination is found: as often as its event counts, times the rows in the others' buckets.

    Events are in the order of time, numbered from 1, and `by` says by which a combination was found. `counts` has the
    address of each input's counters, or 0 if its rows count one each. The event's own counter is told then.
    Combinations come in blocks: `next_` has the next event, whose combinations may go on unless it `ends` here.
    """
    at, i = 0, next_[0]
    while i < len(sources):
        while at < len(by) and by[at] == i + 1:
            weight = weights[i]
            for n in range(len(counts)):
                if n != sources[i] and counts[n] != 0:
                    weight *= peek(counts[n] + 8 * found[at, n])
            out[at] = weight
            at += 1
        if at == len(by) and not ends:
            break
        counter = counts[sources[i]]
        if counter != 0:
            poke(counter + 8 * slots[i], peek(counter + 8 * slots[i]) + weights[i])
        i += 1
    next_[0] = i
