"""The input manager (thesis 2.2.5): rows wait until their instant is closed, and come in the order of (ts, arrival)."""

from __future__ import annotations

import numpy as np

from penstock.synopsis.deltas import Deltas, one_after_the_other
from penstock.synopsis.memory import Ints, Memory


class Reorder:
    """Rows that came before their instant was closed, in the order of (ts, arrival).

    With `counts` some of them may have weight 0, else all have weight 1.
    """

    def __init__(self, memory: Memory, name: str, width: int, *, counts: bool = False) -> None:
        self._memory, self._name = memory, name
        self._counts = counts
        self._row_width, self._width = width, width + counts
        #: Rows wait in those lines of the matrix from the first register up to the second.
        self._registers = memory.array(f"{name}.waiting_between", 2)[:2]

    def __len__(self) -> int:
        return int(self._registers[1] - self._registers[0])

    def step(self, arrived: Deltas, until: int) -> Deltas:
        """All rows of instants before `until`; the others go on waiting."""
        arrived = arrived.in_order()
        due = int(np.searchsorted(arrived.ts, until, side="left"))
        if due and len(self) and arrived.ts[0] < self._waiting()[-1, 0]:
            self._append(arrived)
            return self._due(until)
        # What is due is later than all that waits, so it need not wait, too.
        before = self._due(until)
        self._append(arrived.take(slice(due, None)))
        now = arrived.take(slice(due))
        return one_after_the_other([before, now]) if len(before) else now

    def _due(self, until: int) -> Deltas:
        """Takes the rows that waited for instants before `until`."""
        waiting = self._waiting()
        waiting = waiting[: int(np.searchsorted(waiting[:, 0], until, side="left"))]
        self._registers[0] += len(waiting)
        weight = waiting[:, -1].copy() if self._counts else np.ones(len(waiting), np.int64)
        return Deltas(waiting[:, 0].copy(), weight, waiting[:, 1 : 1 + self._row_width].copy())

    def held_column(self, column: int) -> Ints:
        """A column of all rows that wait."""
        return self._waiting()[:, 1 + column]

    def _waiting(self) -> Ints:
        """The rows that wait, each behind its timestamp, and where they are counted before its weight."""
        start, end = self._registers.tolist()
        return self._memory.array(f"{self._name}.waiting", 0, self._width + 1)[start:end]

    def _append(self, arrived: Deltas) -> None:
        """Rows that waited arrived before those that come now."""
        if not len(arrived):
            return
        waiting = self._waiting()
        in_order = not len(waiting) or waiting[-1, 0] <= arrived.ts[0]
        end = self._make_room(len(arrived))
        lines = self._memory.array(f"{self._name}.waiting", end, self._width + 1)[end - len(arrived) : end]
        lines[:, 0] = arrived.ts
        lines[:, 1 : 1 + self._row_width] = arrived.rows
        if self._counts:
            lines[:, -1] = arrived.weight
        if not in_order:
            waiting = self._waiting()
            waiting[:] = waiting[np.argsort(waiting[:, 0], kind="stable")]

    def _make_room(self, count: int) -> int:
        """Lets so many more lines wait, and gives the last one's end. Lines that are done are used again."""
        start, end = self._registers.tolist()
        if start and start >= end - start:
            lines = self._memory.array(f"{self._name}.waiting", end, self._width + 1)
            lines[: end - start] = lines[start:end]
            start, end = 0, end - start
        self._registers[:] = start, end + count
        return int(end + count)
