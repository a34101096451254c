"""A queue of slots in the order in which their rows came: what a sliding window forgets first.

Slots that follow each other are kept as one *run*. A store gives its slots out in order, and a window takes them back
in order, so there are few runs; where rows are forgotten from the middle, there may be one for each slot.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.rows import run_begins, runs_without, unroll
from penstock.synopsis.memory import Ints, Memory


class SlotQueue:
    """Positions count up for ever; the queue holds those from `left` up to, and not including, `right`."""

    def __init__(self, memory: Memory, name: str) -> None:
        self._memory = memory
        self._name = name
        #: [left, entered, right, first run, end of runs]: rows before `entered` are in the relation, rows after it wait
        #: for their instant.
        self._registers = memory.array(f"{name}.queue", 5)

    @property
    def left(self) -> int:
        return int(self._registers[0])

    @left.setter
    def left(self, position: int) -> None:
        runs = self._runs()
        if len(runs):
            self._registers[3] += np.searchsorted(runs[1:, 0], position, side="right")
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

    @property
    def first(self) -> int:
        """The slot at `left`, or -1."""
        if self.left == self.right:
            return -1
        position, slot = self._runs()[0].tolist()
        return int(slot + self.left - position)

    def push(self, slots: Ints) -> None:
        if not len(slots):
            return
        right, runs = self.right, self._runs()
        begins = np.empty(len(slots), np.int64)
        begins = begins[: run_begins(slots, begins)]
        if len(runs) and right > self.left and runs[-1, 1] + right - runs[-1, 0] == slots[0]:
            begins = begins[1:]
        self._append(right + begins, slots[begins])
        self._registers[2] = right + len(slots)

    def remove(self, slots: Ints, capacity: int) -> None:
        """Takes slots out, wherever they are. The others keep their order, not their positions.

        That is a pass over the queue: it is for queues that stay short because slots are taken out.
        """
        runs, left, right = self._runs(), self.left, self.right
        gone = np.zeros(capacity, np.bool_)
        gone[slots] = True
        # Each slot that goes cuts a run in two at most.
        kept = np.empty((min(len(runs) + len(slots), right - left) + 1, 2), np.int64)
        count, end = runs_without(runs, left, right, gone, kept)
        self._memory.array(f"{self._name}.runs", count, 2)[:count] = kept[:count]
        self._registers[2:5] = end, 0, count

    def insert(self, slots: Ints, keys: Ints) -> None:
        """Puts slots where they belong in a queue that is in the order of their keys, in a pass over it."""
        if not len(slots):
            return
        held = np.concatenate((self.slots(self.left, self.right), slots))
        self._registers[2] = self.left
        self._registers[3:5] = 0
        self.push(held[np.argsort(keys[held], kind="stable")])

    def slots(self, start: int, end: int) -> Ints:
        """The slots at positions from `start` up to `end`."""
        if end <= start:
            return np.zeros(0, np.int64)
        runs = self._runs()
        slots = np.empty(end - start, np.int64)
        unroll(runs[np.searchsorted(runs[:, 0], start, side="right") - 1 :], start, slots)
        return slots

    def _runs(self) -> Ints:
        """The position and the slot with which each run begins."""
        first, end = self._registers[3:5].tolist()
        return self._memory.array(f"{self._name}.runs", 0, 2)[first:end]

    def _append(self, positions: Ints, slots: Ints) -> None:
        first, end = self._registers[3:5].tolist()
        if first and first >= end - first:
            runs = self._memory.array(f"{self._name}.runs", end, 2)
            runs[: end - first] = runs[first:end]
            first, end = 0, end - first
        runs = self._memory.array(f"{self._name}.runs", end + len(slots), 2)
        runs[end : end + len(slots), 0] = positions
        runs[end : end + len(slots), 1] = slots
        self._registers[3:5] = first, end + len(slots)
