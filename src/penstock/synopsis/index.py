"""A hash index on some words of a store's rows. It is derived: rebuilt when it grows and after a restore."""

from __future__ import annotations

import numpy as np

from penstock.kernels.hashing import row_hashes
from penstock.kernels.index import link_rows
from penstock.kernels.pointers import address
from penstock.synopsis.memory import Ints, Scope

#: Words of the smallest page of memory that systems have.
SMALLEST_PAGE = 512


class Index:
    """`heads` and `links` are addresses, `mask` the one that picks a bucket (`kernels.index`)."""

    def __init__(self, memory: Scope, columns: tuple[int, ...]) -> None:
        self._memory = memory
        self.columns = np.array(columns, np.int64)
        self._attach(0, 0)

    def fit(self, count: int, capacity: int, rows: Ints) -> None:
        """Makes room for slots up to `capacity`, of which so many are taken: there are up to two in a bucket."""
        if 2 * (self.mask + 1) >= max(1, count):
            if capacity != self._capacity:
                self._attach(0, capacity)
            return
        # Four times as many as are needed: an index is seldom rebuilt, and most of what it touches is in a cache.
        # Links need not be zeros: those of members are written anew, and there are no others.
        self._fill(2 * count, capacity, rows, np.flatnonzero(self._links[1:]))

    @property
    def size(self) -> tuple[int, int]:
        """Its buckets, and the bytes that it takes."""
        return self.mask + 1, self._heads.nbytes + self._links.nbytes

    def put(self, rows: Ints, slots: Ints) -> None:
        """Links slots that are not in the index yet; there must be room."""
        hashes = row_hashes(rows, slots, self.columns)
        link_rows(self.heads, self.mask, self.links, hashes, slots, np.ones(len(slots), np.int64))

    def clear(self) -> None:
        """Takes all slots out."""
        self._heads[:] = 0
        self._links[:] = 0

    def drop(self) -> None:
        """Gives its memory back."""
        self._memory.forget("heads")
        self._memory.forget("links")

    def rebuild(self, capacity: int, rows: Ints, members: Ints) -> None:
        """Fills the index anew with the slots of its members."""
        self._memory.forget("links")
        self._fill(len(members), capacity, rows, members)

    def _fill(self, count: int, capacity: int, rows: Ints, members: Ints) -> None:
        self._memory.forget("heads")
        # A power of two, so that a mask picks the bucket.
        self._attach(max(64, 1 << (count - 1).bit_length()), capacity)
        # A page that is read before it is written is asked for twice, and these are read first.
        self._heads[::SMALLEST_PAGE] = 0
        self.put(rows, members)

    def _attach(self, buckets: int, capacity: int) -> None:
        heads = self._memory.array("heads", buckets, derived=True)
        self._heads = heads[: 1 << (len(heads).bit_length() - 1)] if len(heads) else heads
        self._links = self._memory.array("links", capacity + 1, derived=True)
        self.heads, self.links = address(self._heads), address(self._links)
        self.mask, self._capacity = len(self._heads) - 1, capacity
