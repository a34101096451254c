"""The sampler: which rows are profiled, in a given proportion to those that come, counted across batches of any size.

They are taken in clumps. What a chunk of rows costs more because some of them are profiled hardly depends on how many,
so that many of one chunk are cheaper than a few of each.
"""

from __future__ import annotations

import numpy as np

from penstock.synopsis.memory import Ints

#: Rows of a clump. Where one row in a hundred is profiled it has half as many, for they are needed soon.
CLUMP = 64
FEWER = 0.32

_NO_ROWS = np.zeros(0, np.int64)


class Sampler:
    """Picks rows when enough of them are due: one at random of each stratum of the chunk that comes then."""

    def __init__(self, probability: float, seed: int = 0) -> None:
        self._probability = probability
        self._clump = min(CLUMP, FEWER / probability) if probability > 0 else CLUMP
        self._random = np.random.default_rng(seed)
        self._due = 0.0
        #: Whether a clump has begun, and small chunks have not given all of it yet.
        self._is_open = False

    def rows(self, count: int, most: int) -> Ints:
        """Returns the picks among the next rows, as numbers from 0. Those that are too many are due later.

        >>> sampler = Sampler(0.01)
        >>> [len(sampler.rows(rows, 30)) for rows in (2000, 2000, 500, 500)]
        [0, 30, 15, 0]
        """
        self._due += count * self._probability
        if not self._is_open and self._due < self._clump:
            return _NO_ROWS
        some = min(int(self._due), count, most)
        self._due = min(self._due - some, CLUMP)
        if not some:
            return _NO_ROWS
        self._is_open = self._due >= 1
        starts = np.arange(some + 1) * count // some
        within = self._random.random(some) * (starts[1:] - starts[:-1])
        return starts[:-1] + within.astype(np.int64)
