"""Key counts: how many rows of a relation have each key, with an index on the keys.

That is all that a semi-join has to know of its right side. A key of which there is no row is dropped at the end of its
step, so there are never more keys than rows.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels import filters
from penstock.kernels.pointers import address
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.key_slots import KeySlots
from penstock.synopsis.memory import Ints, Scope


class KeyCounts:
    """The keys of one side. In a step its changes are entered, applied by a kernel in the order of time, and left."""

    def __init__(self, memory: Scope, width: int) -> None:
        self.width = width
        self._keys = KeySlots(memory, width, index="keys", words="counts")
        self.store = self._keys.store

    def enter(self, changes: Deltas) -> Ints:
        """Finds a slot for the key of each change, and returns the line of `kernels.filters` for this step.

        The changes are in the order of time, and their rows are whole keys, without NULL.
        """
        rows = np.ascontiguousarray(changes.rows) if self.width else np.zeros((len(changes), 1), np.int64)
        slots, index = self._keys.of(rows), self._keys.index
        # The kernel is given addresses, so somebody has to hold on to these.
        self._changes = np.array(changes.ts), slots, np.array(changes.weight)
        line = np.zeros(filters.SIDE_WIDTH, np.int64)
        line[: filters.TIMES] = (
            index.heads,
            index.mask,
            index.links,
            address(self.store.rows),
            self.width,
            address(self._keys.words.array()),
        )
        line[filters.TIMES : filters.CHANGES] = [address(part) for part in self._changes]
        line[filters.CHANGES] = len(rows)
        return line

    def leave(self) -> None:
        """Drops keys of which no row is left. All changes that entered have been applied."""
        self._keys.drop(self._changes[1])

    def __len__(self) -> int:
        return len(self.store)
