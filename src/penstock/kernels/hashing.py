"""Hashes of int64 words: the same on every machine and in every process, so that rows find their cell and their bucket.

Each word goes through one round of a multiply and a shift, which is a bijection of the state, so rows that differ in
one word have different states. The last step is the finaliser of SplitMix64 (Steele, Lea, Flood 2014; Stafford's
variant 13), in which every input bit changes each output bit with a chance of one half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import kernel, lean

Ints = NDArray[np.int64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
_27 = np.uint64(27)
_30 = np.uint64(30)
_31 = np.uint64(31)
_32 = np.uint64(32)


@lean
def row_hash(rows: Ints, row: int, columns: Ints) -> int:
    """The hash of those columns of a row: from 0 to 2^63-1, so that `hash & mask` is a bucket."""
    state = _GOLDEN
    for i in range(len(columns)):
        state = (state ^ np.uint64(rows[row, columns[i]])) * _GOLDEN
        state ^= state >> _32
    return _finish(state)


@lean
def words_hash(first: int, second: int) -> int:
    """The hash of a row of these two words."""
    state = (_GOLDEN ^ np.uint64(np.int64(first))) * _GOLDEN
    state ^= state >> _32
    state = (state ^ np.uint64(np.int64(second))) * _GOLDEN
    state ^= state >> _32
    return _finish(state)


@lean
def word_hash(word: int) -> int:
    """The hash of one word."""
    return _finish(np.uint64(np.int64(word)) + _GOLDEN)


@lean
def prefix_hash(rows: Ints, row: int, count: int) -> int:
    """The hash of the first columns of a row."""
    state = _GOLDEN
    for i in range(count):
        state = (state ^ np.uint64(rows[row, i])) * _GOLDEN
        state ^= state >> _32
    return _finish(state)


@lean
def line_hash(rows: Ints, row: int, columns: Ints, line: int, count: int) -> int:
    """The hash of those columns of a row that the first words of a line name."""
    state = _GOLDEN
    for i in range(count):
        state = (state ^ np.uint64(rows[row, columns[line, i]])) * _GOLDEN
        state ^= state >> _32
    return _finish(state)


@kernel
def row_hashes(rows: Ints, some: Ints, columns: Ints) -> Ints:
    """The hashes of those columns of some rows.

    That is done column by column, in loops so short that the processor works on many rows at once.
    """
    states = np.empty(len(some), np.uint64)
    for i in range(len(some)):
        states[i] = _GOLDEN
    for c in range(len(columns)):
        column = columns[c]
        for i in range(len(some)):
            state = (states[i] ^ np.uint64(rows[some[i], column])) * _GOLDEN
            states[i] = state ^ (state >> _32)
    hashes = states.view(np.int64)
    for i in range(len(some)):
        hashes[i] = _finish(states[i])
    return hashes


@kernel
def rows_below(rows: Ints, some: Ints, columns: Ints, limit: int) -> tuple[Ints, Ints]:
    """Those of some rows of which the hash of those columns is below a limit, with their hashes."""
    hashes = row_hashes(rows, some, columns)
    chosen, count = np.empty(len(some), np.int64), 0
    for i in range(len(some)):
        chosen[count], hash_ = some[i], hashes[i]
        if hash_ < limit:
            hashes[count] = hash_
            count += 1
    return chosen[:count].copy(), hashes[:count].copy()


@lean
def _finish(state: np.uint64) -> int:
    state = (state ^ (state >> _30)) * _FIRST
    state = (state ^ (state >> _27)) * _SECOND
    state ^= state >> _31
    return np.int64(state >> _ONE)  # type: ignore[return-value]  # compiled, it is an int
