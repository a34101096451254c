"""A relation as an input of a join: its rows stored, and its deltas as events by slot.

Rows that are alike are interchangeable, so a deletion may take any stored row with its values.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.bags import place
from penstock.kernels.index import unlink_rows
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.events import Events
from penstock.synopsis.index import Index
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.store import RowStore


class Bag:
    def __init__(self, memory: Scope, width: int) -> None:
        self.store = RowStore(memory, width)
        self._memory = memory
        self._index = Index(memory.scope("all"), tuple(range(width)))
        if memory.restored:
            self._index.rebuild(self.store.capacity, self.store.rows, np.flatnonzero(self._present() == 1))

    def step(self, deltas: Deltas) -> Events:
        copies = np.abs(deltas.weight)
        ts = np.repeat(deltas.ts, copies)
        signs = np.repeat(np.sign(deltas.weight), copies)
        rows = np.repeat(deltas.rows, copies, axis=0) if (copies != 1).any() else deltas.rows
        # At one instant insertions come first, so that a deletion finds what came at its own instant.
        order = np.lexsort((-signs, ts))
        ts, signs, rows = ts[order], signs[order], np.ascontiguousarray(rows[order])
        fresh = self.store.allocate(int(np.count_nonzero(signs > 0)))
        self._index.fit(len(self.store), self.store.capacity, self.store.rows)
        index = self._index
        slots = place(signs, rows, fresh, self.store.rows, index.heads, index.mask, index.links)
        self.store.starts[fresh] = ts[signs > 0]
        present = self._present()
        present[slots[signs > 0]] = 1
        gone = slots[signs < 0]
        present[gone] = 0
        self.store.release(gone)
        # A row that goes at the instant at which it comes is in no bag, and so has no events.
        fleeting = gone[self.store.starts[gone] == ts[signs < 0]]
        if len(fleeting):
            stays = ~np.isin(slots, fleeting)
            ts, signs, slots = ts[stays], signs[stays], slots[stays]
        return Events(ts, signs, slots)

    def forget(self, slots: Ints) -> None:
        """Drops rows: no deletion of them will come."""
        unlink_rows(self._index.heads, self._index.links, slots, np.full(len(slots), -1, np.int64))
        self._present()[slots] = 0
        self.store.release(slots)

    def _present(self) -> Ints:
        return self._memory.array("present", self.store.capacity)
