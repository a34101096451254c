"""The last values that came, in a ring: each new one takes the place of the oldest, which is then forgotten.

The ring is a matrix with a line per value: its hash, a word, how many rows have it, and the next line of its bucket,
counted from 1; then the value itself. `heads` has a power of two of buckets, each with its first line, counted from 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.evidence import holds_key
from penstock.kernels.hashing import rows_below
from penstock.kernels.jit import inlined, kernel, lean
from penstock.kernels.nulls import has_null
from penstock.kernels.ranks import ranks
from penstock.kernels.rows import gather

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


class Came(NamedTuple):
    """Some rows that come, in the order of their times; which columns hold their values, and where a NULL would show.

    Times lie as the rows do. A row with a NULL has no value.
    """

    rows: Ints
    times: Ints
    some: Ints
    columns: Ints
    null_words: Ints
    null_masks: Ints


class Seen(NamedTuple):
    """Of rows that come those that are seen: their values, hashes of these, and times."""

    values: Ints
    hashes: Ints
    times: Ints


class Ticks(NamedTuple):
    """A clock: it counts the times of this step, from `before` on. Or it is time itself."""

    times: Ints
    before: int
    is_time: bool


class Required(NamedTuple):
    """Rows for whose values a word is there: values, times, the clock when each came, the word, and the rows of it."""

    values: Ints
    times: Ints
    clocks: Ints
    since: Ints
    partners: Ints


@kernel
def seen(came: Came, below: int) -> Seen:
    """The rows whose hashes are below that."""
    some, hashes = rows_below(came.rows, came.some, came.columns, below)
    if len(came.null_words) > 0:
        whole = ~has_null(came.rows, some, came.null_words, came.null_masks)
        some, hashes = some[whole], hashes[whole]
    return Seen(gather(came.rows, some, came.columns), hashes, came.times[some])


@kernel
def _read(ticks: Ticks, times: Ints, after: bool) -> Ints:
    """The clock when these instants began, or were over."""
    return times if ticks.is_time else ranks(ticks.times, times, ticks.before, after)


@kernel
def come_again(own: Seen, ticks: Ticks, oldest: int, ring: Ring) -> Required:
    """Rows come, and those are given whose values are remembered; then theirs are.

    A value has its first row's word, the clock when that came, and each more row of it adds 1.
    """
    values, hashes, times = own
    since = np.empty(len(values), np.int64)
    meet(values, hashes, _read(ticks, times, True), oldest, ring, since)
    some = np.flatnonzero(since != MISSING)
    clocks = _read(ticks, times[some], False)
    return Required(values[some], times[some], clocks, since[some], np.ones(len(some), np.int64))


@kernel
def come_to_referred(
    source: Seen, target: Seen, ticks: Ticks, there: Stored, is_key: bool, oldest: int, ring: Ring
) -> Required:
    """Rows of a source come that refer to others, and of a target. Those are given that are referred to.

    If what is referred to is a key, the rows that refer to it are forgotten, or not remembered at all if it is `there`:
    nothing more arrives for them.
    """
    values, hashes, times = source
    own, own_hashes, own_times = target
    to = Comers(
        own,
        own_hashes,
        np.empty(len(own), np.int64),
        np.empty(len(own), np.int64),
        np.empty(len(own), np.int64),
        np.zeros(_table_size(len(own)), np.int32),
    )
    refer(values, hashes, _read(ticks, times, True), to, there, is_key, oldest, ring)
    since = to.since[to.firsts]
    some = np.flatnonzero(since != MISSING)
    clocks = _read(ticks, own_times[some], False)
    return Required(own[some], own_times[some], clocks, since[some], to.partners[to.firsts[some]])


@lean
def _table_size(rows: int) -> int:
    size = 2
    while size < 2 * rows:
        size *= 2
    return size


@inlined
def _is(lines: Ints, line: int, hash_: int, values: Ints, i: int) -> bool:
    same = bool(lines[line, HASH] == hash_)
    for c in range(values.shape[1]):
        same &= lines[line, VALUE + c] == values[i, c]
    return same


@inlined
def seek(ring: Ring, values: Ints, i: int, hash_: int) -> int:
    """The line of a value, or -1."""
    line = int(ring.heads[hash_ & (len(ring.heads) - 1)]) - 1
    while line >= 0 and not _is(ring.lines, line, hash_, values, i):
        line = int(ring.lines[line, LATER]) - 1
    return line


@inlined
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


@inlined
def put(ring: Ring, values: Ints, i: int, hash_: int, word: int, oldest: int) -> None:
    """A new value. If the one whose place it takes has a word that is not below the oldest, that is too soon."""
    line, lines, registers = ring.registers[NEXT], ring.lines, ring.registers
    registers[NEXT] = line + 1 if line + 1 < len(lines) else 0
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


class Comers(NamedTuple):
    """Rows that may be referred to: values and hashes.

    Of each the first one with its value; and of these since when they are referred to, or MISSING, and by how many.
    `table` has the first ones by hash, 1 more than their places, or 0. It is a power of two of words.
    """

    values: Ints
    hashes: Ints
    firsts: Ints
    since: Ints
    partners: Ints
    table: NDArray[np.int32]


@lean
def refer(
    values: Ints, hashes: Ints, words: Ints, to: Comers, there: Stored, is_key: bool, oldest: int, ring: Ring
) -> None:
    """Rows with values and words refer to others, some of which come with them."""
    _come(to, is_key, ring)
    for i in range(len(values)):
        j = to.table[_place(to, values, i, hashes[i])] - 1
        if j >= 0:
            to.since[j] = words[i] if to.since[j] == MISSING else min(to.since[j], words[i])
            to.partners[j] += 1
            if is_key:
                continue
        line = seek(ring, values, i, hashes[i])
        if line >= 0:
            ring.lines[line, ROWS] += 1
        elif not is_key or not holds_key(values, i, hashes[i], there.rows, there.columns, *there[2:]):
            put(ring, values, i, hashes[i], words[i], oldest)


@inlined
def _come(to: Comers, is_key: bool, ring: Ring) -> None:
    """Finds which remembered rows refer to arriving rows."""
    for j in range(len(to.values)):
        to.since[j], to.partners[j] = MISSING, 0
        place = _place(to, to.values, j, to.hashes[j])
        if to.table[place] == 0:
            to.table[place] = j + 1
            line = seek(ring, to.values, j, to.hashes[j])
            if line >= 0:
                to.since[j], to.partners[j] = ring.lines[line, WORD], ring.lines[line, ROWS]
                if is_key:
                    forget(ring, line)
        to.firsts[j] = to.table[place] - 1


@inlined
def _place(to: Comers, values: Ints, i: int, hash_: int) -> int:
    """Where the table has a row with a value, or has room for it."""
    place = hash_ & (len(to.table) - 1)
    while to.table[place] != 0:
        same, other = True, to.table[place] - 1
        for c in range(values.shape[1]):
            same &= to.values[other, c] == values[i, c]
        if same:
            return place
        place = (place + 1) & (len(to.table) - 1)
    return place
