"""Sequences of values that adhere to a k-constraint for a given k, and for no smaller one (thesis 6.2, 6.6 to 6.8).

`ks` says how large k is at each row, so it may change over time. Where it is the same everywhere, the distances are
spread evenly over 0 to k, as in the thesis's experiments, and some reach k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

#: One value in so many is held back for as long as k allows.
LATEST = 16


def steady(rows: int, k: int) -> Ints:
    """The same k at every row."""
    return np.full(rows, k, np.int64)


def varying(rows: int, low: int, high: int) -> Ints:
    """The five variations of figure 6.11: none, gradual increase, gradual drop, quick increase, quick drop.

    >>> varying(11, 10, 90).tolist()
    [10, 10, 50, 90, 50, 10, 10, 90, 90, 10, 10]
    """
    at = (0.0, 0.1, 0.3, 0.5, 0.65, 0.66, 0.85, 0.86, 1.0)
    shares = np.arange(rows) / max(1, rows - 1)
    return np.interp(shares, at, (low, low, high, low, low, high, high, low, low)).round().astype(np.int64)


def distances(random: np.random.Generator, ks: Ints) -> Ints:
    """Evenly from 0 to k; one in so many is k itself."""
    drawn = (random.random(len(ks)) * (ks + 1)).astype(np.int64)
    drawn[::LATEST] = ks[::LATEST]
    return drawn


def referring(random: np.random.Generator, come: Ints, ks: Ints) -> Ints:
    """RIDS(k): values 0, 1, 2, ... come one by one; each row refers to one that is at most k values ahead.

    `come` says how many have come before each row, at least one.
    """
    return come - 1 + distances(random, ks)


def clustered(random: np.random.Generator, ks: Ints, multiplicity: int) -> Ints:
    """CA(k) and OA(k): values 0, 1, 2, ... begin one after the other, each comes so often, and its last row is late.

    That row leaves d others between itself and the first one. No other row is out of order, so d, the clustering
    distance, is also as far as the last row is out of order.
    """
    values = np.empty(len(ks), np.int64)
    late = distances(random, ks)
    held: dict[int, int] = {}
    value, first, left = -1, 0, 0
    for slot in range(len(ks)):
        straggler = held.pop(slot, None)
        if straggler is not None:
            values[slot] = straggler
            continue
        if not left:
            value, first, left = value + 1, slot, multiplicity
        values[slot] = value
        left -= 1
        if left == 1 and (free := _free(held, slot, first + int(late[first]) + multiplicity - 1)):
            held[free], left = value, 0
    return values


def scrambled(random: np.random.Generator, ks: Ints) -> Ints:
    """OA(k) of values that come once: every other one is up to k rows late, and the rest keep their order."""
    values = np.empty(len(ks), np.int64)
    late = distances(random, ks)
    held: dict[int, int] = {}
    value = 0
    for slot in range(len(ks)):
        straggler = held.pop(slot, None)
        while straggler is None:
            free = _free(held, slot, slot + int(late[slot])) if value % 2 else 0
            if free:
                held[free] = value
            else:
                straggler = value
            value += 1
        values[slot] = straggler
    return values


def _free(held: dict[int, int], after: int, wanted: int) -> int:
    """The last slot after one, up to the wanted one, that is not held for another value; 0 if there is none."""
    while wanted > after and wanted in held:
        wanted -= 1
    return wanted if wanted > after else 0
