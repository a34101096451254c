"""The sampler: which rows are profiled, one at random of each so many, counted across batches of any size."""

from __future__ import annotations

import numpy as np

from penstock.synopsis.memory import Ints

_CYCLE = 1024
_NO_ROWS = np.zeros(0, np.int64)


class Sampler:
    """Picks one row of each stratum of `1 / probability` rows. The picks repeat after 1,024 strata."""

    def __init__(self, probability: float, seed: int = 0) -> None:
        stratum = max(1, round(1 / probability)) if probability > 0 else 0
        offsets = np.random.default_rng(seed).integers(0, max(1, stratum), _CYCLE)
        self._picks = np.arange(_CYCLE) * stratum + offsets
        self._length = _CYCLE * stratum
        self._at = 0
        self._next = int(self._picks[0])

    def rows(self, count: int) -> Ints:
        """Returns the picks among the next rows, as numbers from 0.

        >>> sampler = Sampler(0.1)
        >>> [len(sampler.rows(rows)) for rows in (50, 50, 10, 10)]
        [5, 5, 1, 1]
        """
        start, self._at = self._at, self._at + count
        if not self._length or self._at <= self._next:
            return _NO_ROWS
        cycles = range(start // self._length, (self._at - 1) // self._length + 1)
        picks = np.concatenate([self._picks + cycle * self._length for cycle in cycles])
        cycle, place = divmod(self._at, self._length)
        later = int(np.searchsorted(self._picks, place))
        self._next = (cycle + later // _CYCLE) * self._length + int(self._picks[later % _CYCLE])
        return picks[np.searchsorted(picks, start) : np.searchsorted(picks, self._at)] - start
