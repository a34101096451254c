"""Key counts: how many rows of a relation have each key, with an index on the keys.

That is all that a semi-join has to know of its right side. A key of which there is no row is dropped at the end of its
step, so there are never more keys than rows.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels import filters
from penstock.kernels.hashing import row_hashes
from penstock.kernels.pointers import address
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.index import Index
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.store import BySlot, RowStore


class KeyCounts:
    """The keys of one side. In a step its changes are entered, applied by a kernel in the order of time, and left."""

    def __init__(self, memory: Scope, width: int) -> None:
        self.width = width
        # Arrays have a column at least.
        self.store = RowStore(memory, max(1, width))
        self._counts = BySlot(memory, "counts", self.store)
        self._index = Index(memory.scope("keys"), tuple(range(width)))
        if memory.restored:
            self._index.rebuild(self.store.capacity, self.store.rows, self.store.held())

    def enter(self, changes: Deltas) -> Ints:
        """Finds a slot for the key of each change, and returns the line of `kernels.filters` for this step.

        The changes are in the order of time, and their rows are whole keys, without NULL.
        """
        rows = np.ascontiguousarray(changes.rows) if self.width else np.zeros((len(changes), 1), np.int64)
        hashes = row_hashes(rows, np.arange(len(rows)), self._index.columns)
        slots = np.empty(len(rows), np.int64)
        index, store = self._index, self.store
        index.fit(len(store), store.capacity, store.rows)
        missing = filters.find_keys(rows, hashes, index.heads, index.mask, index.links, store.rows, slots)
        if missing:
            fresh = store.allocate(missing)
            index.fit(len(store), store.capacity, store.rows)
            where = (index.heads, index.mask, index.links, store.rows, self._counts.array())
            taken = filters.add_keys(rows, hashes, *where, slots, fresh)
            store.release(fresh[taken:])
        # The kernel is given addresses, so somebody has to hold on to these.
        self._changes = np.array(changes.ts), slots, np.array(changes.weight)
        line = np.zeros(filters.SIDE_WIDTH, np.int64)
        line[: filters.TIMES] = (
            index.heads,
            index.mask,
            index.links,
            address(store.rows),
            self.width,
            address(self._counts.array()),
        )
        line[filters.TIMES : filters.CHANGES] = [address(part) for part in self._changes]
        line[filters.CHANGES] = len(rows)
        return line

    def leave(self) -> None:
        """Drops keys of which no row is left. All changes that entered have been applied."""
        _, slots, _ = self._changes
        gone = np.empty(len(slots), np.int64)
        count = filters.drop_keys(self._index.heads, self._index.links, self._counts.array(), slots, gone)
        self.store.release(gone[:count])
        self.store.end_step()

    def __len__(self) -> int:
        return len(self.store)
