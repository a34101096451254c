"""A queue of slots in the order in which their rows came: what a window lets go first.

Slots that follow each other are kept as one *run*. A store gives its slots out in order, and a window takes them back
in order, so there are few runs. Where rows may go before, a queue has holes instead (`holed`).
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.rows import positions_before, run_begins, unroll
from penstock.synopsis.memory import Ints, Scope


class SlotQueue:
    """Positions count up indefinitely; the queue holds those from `left` up to, and not including, `right`."""

    def __init__(self, memory: Scope) -> None:
        self._memory = memory
        #: [left, right, first run, end of runs]
        self._registers = memory.array("queue", 4)

    @property
    def left(self) -> int:
        return int(self._registers[0])

    @property
    def right(self) -> int:
        return int(self._registers[1])

    def push(self, slots: Ints) -> None:
        """Puts slots behind all others."""
        if not len(slots):
            return
        right, runs = self.right, self._runs()
        begins = np.empty(len(slots), np.int64)
        begins = begins[: run_begins(slots, begins)]
        if len(runs) and right > self.left and runs[-1, 1] + right - runs[-1, 0] == slots[0]:
            begins = begins[1:]
        self._append(right + begins, slots[begins])
        self._registers[1] = right + len(slots)

    def pop(self, count: int) -> Ints:
        """Takes so many slots from the front."""
        if not count:
            return _NOTHING
        left, runs = self.left, self._runs()
        slots = np.empty(count, np.int64)
        self._registers[2] += unroll(runs, left, slots)
        self._registers[0] = left + count
        return slots

    def take(self, times: Ints, until: int) -> Ints:
        """Takes the slots at the front whose times, by slot, are before `until`. Times never decrease."""
        left, right = self._registers[:2].tolist()
        return self.pop(positions_before(self._runs(), left, right, times, until) - left)

    def _runs(self) -> Ints:
        """The position and the slot with which each run begins."""
        first, end = self._registers[2:4].tolist()
        return self._memory.array("runs", 0, 2)[first:end]

    def _append(self, positions: Ints, slots: Ints) -> None:
        first, end = self._registers[2:4].tolist()
        if first and first >= end - first:
            runs = self._memory.array("runs", end, 2)
            runs[: end - first] = runs[first:end]
            first, end = 0, end - first
        runs = self._memory.array("runs", end + len(slots), 2)
        runs[end : end + len(slots), 0] = positions
        runs[end : end + len(slots), 1] = slots
        self._registers[2:4] = first, end + len(slots)


_NOTHING = np.zeros(0, np.int64)
