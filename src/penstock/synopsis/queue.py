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
        if not len(slots):
            return
        left, right = self.left, self.right
        ring = self._ring(0)
        if right - left + len(slots) > len(ring):
            held = self.slots(left, right)
            ring = self._ring(max(64, 2 * (right - left + len(slots))))
            _write(ring, left, held)
        _write(ring, right, slots)
        self._registers[2] = right + len(slots)

    def remove(self, slots: Ints, capacity: int) -> None:
        """Takes slots out, wherever they are. The others keep their order, not their positions.

        That is a pass over the queue: it is for queues that stay short because slots are taken out.
        """
        held = self.slots(self.left, self.right)
        stays = np.ones(capacity, np.bool_)
        stays[slots] = False
        kept = held[stays[held]]
        _write(self._ring(0), self.left, kept)
        self._registers[2] = self.left + len(kept)

    def insert(self, slots: Ints, keys: Ints) -> None:
        """Puts slots where they belong in a queue that is in the order of their keys, in a pass over it."""
        if not len(slots):
            return
        self.push(slots)
        held = self.slots(self.left, self.right)
        _write(self._ring(0), self.left, held[np.argsort(keys[held], kind="stable")])

    def slots(self, start: int, end: int) -> Ints:
        """The slots at positions from `start` up to `end`."""
        ring = self._ring(0)
        if end <= start:
            return np.zeros(0, np.int64)
        at = start % len(ring)
        straight = ring[at : at + end - start]
        return np.concatenate((straight, ring[: end - start - len(straight)]))

    def _ring(self, size: int) -> Ints:
        return self._memory.array(f"{self._name}.ring", size)


def _write(ring: Ints, position: int, slots: Ints) -> None:
    """Puts slots at consecutive positions of a ring."""
    at = position % len(ring)
    straight = min(len(slots), len(ring) - at)
    ring[at : at + straight] = slots[:straight]
    ring[: len(slots) - straight] = slots[straight:]
