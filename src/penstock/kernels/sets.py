"""Sets of keys, which are the lines of matrices: each once, and which are among others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import same
from penstock.kernels.jit import kernel, lean

Ints = NDArray[np.int64]


@lean
def _enter(keys: Ints, i: int, others: Ints, table: Ints) -> int:
    """Where a table of the lines of others, counted from 1, has a key, or has room for it."""
    mask = len(table) - 1
    place = prefix_hash(keys, i, keys.shape[1]) & mask
    while table[place] != 0 and not same(others, table[place] - 1, keys, i):
        place = (place + 1) & mask
    return place


@kernel
def _table(size: int) -> Ints:
    """Room for so many, at least half of it empty; a power of two."""
    room = 16
    while room < 2 * size:
        room *= 2
    return np.zeros(room, np.int64)


@kernel
def first_equals(keys: Ints) -> Ints:
    """Of each key the place of the first one that is equal to it."""
    table, places = _table(len(keys)), np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        place = _enter(keys, i, keys, table)
        if table[place] == 0:
            table[place] = i + 1
        places[i] = table[place] - 1
    return places


def distinct(keys: Ints) -> Ints:
    """Each key once."""
    once: Ints = keys[first_equals(keys) == np.arange(len(keys))]
    return once


@kernel
def among(keys: Ints, others: Ints) -> NDArray[np.bool_]:
    """Whether each key is one of the others."""
    table, found = _table(len(others)), np.empty(len(keys), np.bool_)
    for i in range(len(others)):
        table[_enter(others, i, others, table)] = i + 1
    for i in range(len(keys)):
        found[i] = table[_enter(keys, i, others, table)] != 0
    return found
