"""A queue of slots from whose middle slots are taken: what a window forgets first, where rows may go before.

Each slot has its place, and one that is taken out leaves a hole there. Holes are passed over at the front, and closed
up when the queue would have to grow and a quarter of it is holes; so that costs a few steps for each slot.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.holes import HOLE, close_up, dig, leave, put
from penstock.synopsis.memory import Int32s, Ints, Scope
from penstock.synopsis.store import Int32BySlot, RowStore

#: The registers: places from the first up to the second one are the queue; how many slots are there.
_LEFT, _RIGHT, _COUNT = range(3)


class HoledQueue:
    """Slots of one store, in the order in which they were put."""

    def __init__(self, memory: Scope, store: RowStore) -> None:
        self._memory = memory
        self._registers = memory.array("holed", 3)[:3]
        self._places = Int32BySlot(memory, "places", store)

    def __len__(self) -> int:
        return int(self._registers[_COUNT])

    @property
    def first(self) -> int:
        """The slot at the front, or -1."""
        left, right = self._registers[:2].tolist()
        for line in self._lines(0)[left:right]:
            if line != HOLE:
                return int(line)
        return -1

    def push(self, slots: Ints) -> None:
        """Puts slots behind all others."""
        lines, right = self._make_room(len(slots)), int(self._registers[_RIGHT])
        put(slots, right, lines, self._places.array())
        self._registers[_RIGHT] = right + len(slots)
        self._registers[_COUNT] += len(slots)

    def take(self, times: Ints, until: int) -> Ints:
        """Takes the slots at the front whose times, by slot, are before `until`. Times never decrease."""
        left, right, count = self._registers.tolist()
        goers = np.empty(count, np.int64)
        leaving, left = leave(self._lines(0), left, right, times, until, goers)
        self._registers[_LEFT], self._registers[_COUNT] = left, count - leaving
        return goers[:leaving].copy()

    def remove(self, slots: Ints) -> None:
        """Takes slots out, wherever they are."""
        dig(slots, self._places.array(), self._lines(0))
        self._registers[_COUNT] -= len(slots)

    def insert(self, slots: Ints, keys: Ints) -> None:
        """Puts slots where they belong in a queue that is in the order of their keys, in a pass over it."""
        if not len(slots):
            return
        left, right = self._registers[:2].tolist()
        lines = self._lines(0)[left:right]
        held = np.concatenate((lines[lines != HOLE].astype(np.int64), slots))
        self._registers[:] = 0
        self.push(held[np.argsort(keys[held], kind="stable")])

    def _make_room(self, count: int) -> Int32s:
        """The lines, with room for so many more behind."""
        left, right = self._registers[:2].tolist()
        lines = self._lines(0)
        if right + count <= len(lines):
            return lines
        if 4 * len(self) <= 3 * right:
            self._registers[:2] = 0, close_up(lines[:right], left, self._places.array())
            right = len(self)
        return self._lines(right + count)

    def _lines(self, count: int) -> Int32s:
        """By place a slot, or a hole."""
        return self._memory.array("lines", (count + 1) // 2).view(np.int32)
