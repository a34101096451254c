"""The sampler: which rows are profiled, in a given proportion to those that come, counted across batches of any size.

They are taken in clumps. What a chunk of rows costs more because some of them are profiled hardly depends on how many,
so that many of one chunk are cheaper than a few of each.
"""

from __future__ import annotations

import numpy as np

from penstock.synopsis.memory import Ints

#: Rows that are worth to be profiled in one chunk, where few of all are.
CLUMP = 32

_NO_ROWS = np.zeros(0, np.int64)


class Sampler:
    """Picks rows when enough of them are due: one at random of each stratum of the chunk that comes then."""

    def __init__(self, probability: float, seed: int = 0) -> None:
        self._probability = probability
        self._clump = CLUMP * (1 - probability)
        self._random = np.random.default_rng(seed)
        self._due = 0.0
        #: Whether a clump has begun, and small chunks have not given all of it yet.
        self._is_open = False

    def rows(self, count: int, most: int) -> Ints:
        """Returns the picks among the next rows, as numbers from 0. Those that are too many are due later.

        >>> sampler = Sampler(0.1)
        >>> [len(sampler.rows(rows, 80)) for rows in (500, 500, 50, 50)]
        [0, 80, 25, 0]
        """
        self._due += count * self._probability
        if not self._is_open and self._due < self._clump:
            return _NO_ROWS
        some = min(int(self._due), count, most)
        self._due = min(self._due - some, CLUMP)
        self._is_open = self._due >= 1
        starts = np.arange(some + 1) * count // max(some, 1)
        return starts[:-1] + (self._random.random(some) * np.diff(starts)).astype(np.int64)
