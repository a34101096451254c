"""Evidence: of each key that arrived an entry, with one word that says since when it is there, or how often it came."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.evidence import note, slots_of
from penstock.kernels.index import unlink_rows
from penstock.synopsis.index import Index
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.store import RowStore

#: The word of a key that has no entry.
MISSING = -1


class Entries(NamedTuple):
    """Slots, keys and words."""

    slots: Ints
    keys: Ints
    words: Ints


class Evidence:
    def __init__(self, memory: Scope, width: int, words: int = 1) -> None:
        self._memory, self.width = memory, width
        self.store = RowStore(memory, width + words)
        self.index = Index(memory.scope("keys"), tuple(range(width)))
        if memory.restored:
            self.index.rebuild(self.store.capacity, self.store.rows, np.flatnonzero(self._held()))
        self.index.fit(len(self.store), self.store.capacity, self.store.rows)

    def __len__(self) -> int:
        return len(self.store)

    def note(self, keys: Ints, words: Ints, again: int = 0) -> Ints:
        """Keys that are new, with their words, which it gives; the words of those that are known grow by `again`."""
        if not len(keys):
            return keys
        fresh = self._fresh(len(keys))
        taken = note(np.ascontiguousarray(keys), words, again, fresh, self.store.rows, *self._where())
        self._take(fresh, taken)
        return np.ascontiguousarray(self.store.rows[fresh[:taken], : self.width])

    def words(self, keys: Ints) -> Ints:
        """The word of each key, or MISSING."""
        slots = self._slots(keys)
        words = np.full(len(keys), MISSING, np.int64)
        words[slots >= 0] = self.store.rows[slots[slots >= 0], self.width]
        return words

    def _slots(self, keys: Ints) -> Ints:
        """The slot of each key's entry, or -1."""
        slots = np.full(len(keys), MISSING, np.int64)
        if len(self.store) and len(keys):
            slots_of(np.ascontiguousarray(keys), self.store.rows, *self._where(), slots)
        return slots

    def _fresh(self, count: int) -> Ints:
        """Slots for so many entries, and room for them in the index."""
        fresh = self.store.allocate(count)
        self.index.fit(len(self.store), self.store.capacity, self.store.rows)
        return fresh

    def _take(self, fresh: Ints, taken: int) -> None:
        """The first of these slots hold entries now."""
        self._held()[fresh[:taken]] = 1
        self._free(fresh[taken:])

    def _where(self) -> tuple[int, int, int]:
        return self.index.heads, self.index.mask, self.index.links

    def forget_keys(self, keys: Ints) -> None:
        """Drops the entries of these keys, which are all different."""
        slots = self._slots(keys)
        self.forget(slots[slots >= 0])

    def entries(self) -> Entries:
        """All that there are."""
        slots = np.flatnonzero(self._held())
        rows = self.store.rows[slots]
        return Entries(slots, np.ascontiguousarray(rows[:, : self.width]), rows[:, self.width])

    def clear(self) -> None:
        """Drops all entries."""
        if len(self.store):
            self.index.clear()
            self._held()[:] = 0
            self.store.clear()

    def forget(self, slots: Ints) -> None:
        """Drops the entries in these slots."""
        if len(slots):
            unlink_rows(self.index.heads, self.index.links, slots, np.full(len(slots), -1, np.int64))
            self._held()[slots] = 0
            self._free(slots)

    def _free(self, slots: Ints) -> None:
        self.store.release(slots)
        self.store.end_step()

    def _held(self) -> Ints:
        return self._memory.array("held", self.store.capacity)[: self.store.capacity]
