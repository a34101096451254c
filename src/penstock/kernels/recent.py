"""The last values that came, in a ring: each new one takes the place of the oldest, which is then forgotten.

The ring is a matrix with a line per value: its hash, a word, how many rows have it, and the next line of its bucket,
counted from 1; then the value itself. `heads` has a power of two of buckets, each with its first line, counted from 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.evidence import holds_key
from penstock.kernels.jit import kernel, lean

Ints = NDArray[np.int64]

#: Words of a line before the value.
HASH, WORD, ROWS, LATER, VALUE = range(5)
#: Registers: the line that is taken next, how many are taken, and whether a value was forgotten that is still wanted.
NEXT, TAKEN, CROWDED = range(3)
#: The word of a value that is not there.
MISSING = -1


class Ring(NamedTuple):
    lines: Ints
    heads: Ints
    registers: Ints


class Stored(NamedTuple):
    """An indexed store: its rows, the index's columns, and addresses of heads and links with the mask of buckets."""

    rows: Ints
    columns: Ints
    heads: int
    mask: int
    links: int


@lean
def _is(lines: Ints, line: int, hash_: int, values: Ints, i: int) -> bool:
    same = bool(lines[line, HASH] == hash_)
    for c in range(values.shape[1]):
        same &= lines[line, VALUE + c] == values[i, c]
    return same


@lean
def seek(ring: Ring, values: Ints, i: int, hash_: int) -> int:
    """The line of a value, or -1."""
    line = int(ring.heads[hash_ & (len(ring.heads) - 1)]) - 1
    while line >= 0 and not _is(ring.lines, line, hash_, values, i):
        line = int(ring.lines[line, LATER]) - 1
    return line


@lean
def forget(ring: Ring, line: int) -> None:
    """Takes a value out; its line is empty until its turn comes."""
    bucket, after = ring.lines[line, HASH] & (len(ring.heads) - 1), ring.lines[line, LATER]
    before = ring.heads[bucket] - 1
    if before == line:
        ring.heads[bucket] = after
    else:
        while ring.lines[before, LATER] - 1 != line:
            before = ring.lines[before, LATER] - 1
        ring.lines[before, LATER] = after
    ring.lines[line, ROWS] = 0
    ring.registers[TAKEN] -= 1


@lean
def put(ring: Ring, values: Ints, i: int, hash_: int, word: int, oldest: int) -> None:
    """A new value. If the one whose place it takes has a word that is not below the oldest, that is too soon."""
    line, lines, registers = ring.registers[NEXT], ring.lines, ring.registers
    registers[NEXT] = (line + 1) % len(lines)
    if lines[line, ROWS] > 0:
        registers[CROWDED] |= lines[line, WORD] >= oldest
        forget(ring, line)
    bucket = hash_ & (len(ring.heads) - 1)
    lines[line, HASH], lines[line, WORD], lines[line, ROWS] = hash_, word, 1
    lines[line, LATER] = ring.heads[bucket]
    for c in range(values.shape[1]):
        lines[line, VALUE + c] = values[i, c]
    ring.heads[bucket] = line + 1
    registers[TAKEN] += 1


@lean
def meet(values: Ints, hashes: Ints, words: Ints, oldest: int, ring: Ring, found: Ints) -> None:
    """Rows with values come. Gives the word that each value had before its row, or MISSING.

    A new value has its row's word, and each more row of it adds 1.
    """
    for i in range(len(values)):
        line = seek(ring, values, i, hashes[i])
        found[i] = MISSING
        if line >= 0:
            found[i] = ring.lines[line, WORD]
            ring.lines[line, WORD] += 1
            ring.lines[line, ROWS] += 1
        else:
            put(ring, values, i, hashes[i], words[i], oldest)


@kernel
def refer(
    values: Ints,
    hashes: Ints,
    words: Ints,
    targets: Ints,
    target_hashes: Ints,
    there: Stored,
    is_key: bool,
    oldest: int,
    ring: Ring,
) -> tuple[Ints, Ints, Ints]:
    """Rows with values and words refer to others, some of which come with them.

    Gives the places of those targets that are referred to, the smallest word of those who do, and how many these are.
    If what is referred to is a key, who refers to a row that has come, or is there, is not remembered.
    """
    table = np.zeros(4 * len(targets) + 4, np.int32)
    firsts = np.empty(len(targets), np.int64)
    since, partners = np.full(len(targets), MISSING, np.int64), np.zeros(len(targets), np.int64)
    for j in range(len(targets)):
        place = _place(table, targets, targets, j, target_hashes[j])
        if table[place] == 0:
            table[place] = j + 1
            line = seek(ring, targets, j, target_hashes[j])
            if line >= 0:
                since[j], partners[j] = ring.lines[line, WORD], ring.lines[line, ROWS]
                if is_key:
                    forget(ring, line)
        firsts[j] = table[place] - 1
    for i in range(len(values)):
        j = table[_place(table, targets, values, i, hashes[i])] - 1
        if j >= 0:
            since[j] = words[i] if since[j] == MISSING else min(since[j], words[i])
            partners[j] += 1
            if is_key:
                continue
        line = seek(ring, values, i, hashes[i])
        if line >= 0:
            ring.lines[line, ROWS] += 1
        elif not is_key or not holds_key(values, i, hashes[i], there.rows, there.columns, *there[2:]):
            put(ring, values, i, hashes[i], words[i], oldest)
    places = np.flatnonzero(since[firsts] != MISSING)
    return places, since[firsts[places]], partners[firsts[places]]


@lean
def _place(table: NDArray[np.int32], targets: Ints, values: Ints, i: int, hash_: int) -> int:
    """Where the table has a target with a value, or has room for it."""
    place = hash_ % len(table)
    while table[place] != 0:
        same, other = True, table[place] - 1
        for c in range(values.shape[1]):
            same &= targets[other, c] == values[i, c]
        if same:
            return place
        place = (place + 1) % len(table)
    return place
