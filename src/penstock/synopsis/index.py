"""A hash index on some words of a store's rows. It is derived: rebuilt when it grows and after a restore."""

from __future__ import annotations

import numpy as np

from penstock.kernels.index import relink
from penstock.synopsis.memory import Ints, Memory


class Index:
    def __init__(self, memory: Memory, name: str, columns: tuple[int, ...]) -> None:
        self._memory = memory
        self._name = name
        self.columns = np.array(columns, np.int64)
        self._attach(0, 0)

    def fit(self, capacity: int, rows: Ints) -> None:
        """Makes room for `capacity` slots, with as many buckets at least: chains stay short, heads in the cache."""
        buckets = _buckets(capacity)
        if len(self.heads) >= buckets:
            self._attach(len(self.heads), capacity)
            return
        held = np.flatnonzero(self.links[:, 1] != -1)
        # Four times as many: so an index is rebuilt seldom, and heads are a small part of what a row takes.
        self._fill(max(buckets, 4 * len(self.heads)), capacity, rows, held)

    def rebuild(self, capacity: int, rows: Ints, members: Ints) -> None:
        """Fills the index anew with the slots of its members."""
        self._fill(_buckets(capacity), capacity, rows, members)

    def _fill(self, buckets: int, capacity: int, rows: Ints, members: Ints) -> None:
        self._attach(buckets, capacity)
        self.heads[:] = -1
        self.links[:, 1] = -1
        relink(self.heads, self.links, rows, self.columns, members)

    def _attach(self, buckets: int, capacity: int) -> None:
        heads = self._memory.array(f"{self._name}.heads", buckets, derived=True, fill=-1)
        self.heads = heads[: 1 << (len(heads).bit_length() - 1)] if len(heads) else heads
        self.links = self._memory.array(f"{self._name}.links", capacity, 2, derived=True, fill=-1)


def _buckets(capacity: int) -> int:
    """A power of two, so that a mask picks the bucket."""
    return max(64, 1 << (capacity - 1).bit_length())
