"""The watch list: rows that are examined again only when something with certain values has arrived (004, 5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.kernels.index import unlink_rows
from penstock.kernels.pointers import address
from penstock.kernels.watching import HASH, INPUT, SLOT, chain, unchain, waiting_rows
from penstock.synopsis.index import Index
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.store import RowStore


class WatchList:
    """Rows are known by the number of their input and their slot; what they wait for by a hash."""

    def __init__(self, memory: Scope, inputs: int) -> None:
        self._memory, self._inputs = memory, inputs
        self._entries = RowStore(memory, 4)
        self._index = Index(memory.scope("hashes"), (HASH,))
        if memory.restored:
            held = self._memory.array("held", self._entries.capacity)
            self._index.rebuild(self._entries.capacity, self._entries.rows, np.flatnonzero(held))

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, hashes: Ints, inputs: Ints, slots: Ints, capacities: Sequence[int]) -> None:
        """Each row waits for what has the hash; it may wait for several things."""
        if not len(hashes):
            return
        fresh = self._entries.allocate(len(hashes))
        rows = self._entries.rows
        chain(rows, fresh, hashes, inputs, slots, self._firsts(capacities))
        self._memory.array("held", self._entries.capacity)[fresh] = 1
        self._index.fit(len(self._entries), self._entries.capacity, rows)
        self._index.put(rows, fresh)

    def waiting_for(self, hashes: Ints) -> tuple[Ints, Ints]:
        """Inputs and slots of the rows that wait for one of these. Some may come twice."""
        if not len(self._entries) or not len(hashes):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        rows, index = self._entries.rows, self._index
        found = waiting_rows(rows, index.heads, index.mask, index.links, hashes.reshape(-1, 1))
        return rows[found, INPUT], rows[found, SLOT]

    def drop(self, inputs: Ints, slots: Ints, capacities: Sequence[int]) -> None:
        """These rows wait for nothing any more."""
        if not len(self._entries) or not len(slots):
            return
        found = unchain(self._entries.rows, inputs, slots, self._firsts(capacities))
        unlink_rows(self._index.heads, self._index.links, found, np.full(len(found), -1, np.int64))
        self._memory.array("held", self._entries.capacity)[found] = 0
        self._entries.release(found)
        self._entries.end_step()  # no entry that is gone is read

    def _firsts(self, capacities: Sequence[int]) -> Ints:
        """Of each input the address of its slots' first entries."""
        scopes = (self._memory.scope("input", number) for number in range(self._inputs))
        arrays = (scope.array("first", size) for scope, size in zip(scopes, capacities, strict=True))
        return np.array([address(array) if len(array) else 0 for array in arrays], np.int64)
