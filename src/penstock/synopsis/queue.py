"""A queue of slots in the order in which their rows came: what a sliding window forgets first."""

from __future__ import annotations

import numpy as np

from penstock.synopsis.memory import Ints, Memory


class SlotQueue:
    """Positions count up for ever; the queue holds those from `left` up to, and not including, `right`."""

    def __init__(self, memory: Memory, name: str) -> None:
        self._memory = memory
        self._name = name
        #: [left, entered, right]: rows before `entered` are in the relation, rows after it wait for their instant.
        self._registers = memory.array(f"{name}.queue", 3)

    @property
    def left(self) -> int:
        return int(self._registers[0])

    @left.setter
    def left(self, position: int) -> None:
        self._registers[0] = position

    @property
    def entered(self) -> int:
        return int(self._registers[1])

    @entered.setter
    def entered(self, position: int) -> None:
        self._registers[1] = position

    @property
    def right(self) -> int:
        return int(self._registers[2])

    def push(self, slots: Ints) -> None:
        left, right = self.left, self.right
        ring = self._ring(0)
        if right - left + len(slots) > len(ring):
            held = self.slots(left, right)
            ring = self._ring(max(64, 2 * (right - left + len(slots))))
            ring[np.arange(left, right) % len(ring)] = held
        ring[np.arange(right, right + len(slots)) % len(ring)] = slots
        self._registers[2] = right + len(slots)

    def slots(self, start: int, end: int) -> Ints:
        """The slots at positions from `start` up to `end`."""
        ring = self._ring(0)
        return ring[np.arange(start, end) % len(ring)] if end > start else np.zeros(0, np.int64)

    def _ring(self, size: int) -> Ints:
        return self._memory.array(f"{self._name}.ring", size)
