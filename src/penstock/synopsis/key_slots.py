"""Key slots: keys, each in a slot of its own, with an index on them and a word that is 0 where a key is not needed."""

from __future__ import annotations

import numpy as np

from penstock.kernels import filters
from penstock.kernels.hashing import row_hashes
from penstock.synopsis.index import Index
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.store import BySlot, RowStore


class KeySlots:
    """Keys of so many words. `index` and `words` name the arrays in memory."""

    def __init__(self, memory: Scope, width: int, *, index: str, words: str) -> None:
        # Arrays have a column at least.
        self.store = RowStore(memory, max(1, width))
        self.words = BySlot(memory, words, self.store)
        self.index = Index(memory.scope(index), tuple(range(width)))
        if memory.restored:
            self.index.rebuild(self.store.capacity, self.store.rows, self.store.held())

    def of(self, rows: Ints) -> Ints:
        """The slots of keys; those that are new get one."""
        hashes = row_hashes(rows, np.arange(len(rows)), self.index.columns)
        slots = np.empty(len(rows), np.int64)
        index, store = self.index, self.store
        index.fit(len(store), store.capacity, store.rows)
        missing = filters.find_keys(rows, hashes, index.heads, index.mask, index.links, store.rows, slots)
        if missing:
            fresh = store.allocate(missing)
            index.fit(len(store), store.capacity, store.rows)
            where = (index.heads, index.mask, index.links, store.rows, self.words.array())
            taken = filters.add_keys(rows, hashes, *where, slots, fresh)
            store.release(fresh[taken:])
        return slots

    def drop(self, slots: Ints) -> None:
        """Drops those of some keys that are not needed, at the end of a step."""
        gone = np.empty(len(slots), np.int64)
        count = filters.drop_keys(self.index.heads, self.index.links, self.words.array(), slots, gone)
        self.store.release(gone[:count])
        self.store.end_step()
