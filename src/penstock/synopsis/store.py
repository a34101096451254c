"""A row store: rows in slots that are given out, taken back, and given out again.

A slot that is taken back during a step stays as it is until the step has ended, so that everybody who reads the store
can still see the row that went.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.rows import scatter
from penstock.synopsis.memory import Ints, Memory


class RowStore:
    """`rows` and `starts` (the instant since which a row is in its relation) by slot."""

    def __init__(self, memory: Memory, name: str, width: int) -> None:
        self._memory = memory
        self._name = name
        self._width = width
        self._leaving: list[Ints] = []
        #: [slots in use, slots ever made]
        self._registers = memory.array(f"{name}.slots", 2)

    @property
    def rows(self) -> Ints:
        return self._memory.array(f"{self._name}.rows", self.capacity, self._width)

    @property
    def starts(self) -> Ints:
        return self._memory.array(f"{self._name}.starts", self.capacity)

    @property
    def capacity(self) -> int:
        return int(self._registers[1])

    def __len__(self) -> int:
        return int(self._registers[0])

    def allocate(self, count: int) -> Ints:
        """So many slots, the ones that were freed last first."""
        used, made = int(self._registers[0]), int(self._registers[1])
        if used + count > made:
            more = max(used + count, made + made // 2, 64)
            free = self._memory.array(f"{self._name}.free", more)
            # The free slots are a stack that grows down from `made`: free[used:made].
            free[made:more] = np.arange(made, more)
            self._registers[1] = more
        free = self._memory.array(f"{self._name}.free", self.capacity)
        self._registers[0] = used + count
        return free[used : used + count].copy()

    def put(self, rows: Ints, starts: Ints) -> Ints:
        """Stores rows and gives their slots."""
        slots = self.allocate(len(rows))
        scatter(rows, starts, slots, self.rows, self.starts)
        return slots

    def held_column(self, column: int) -> Ints:
        """A column of all rows that are in use."""
        used, made = int(self._registers[0]), int(self._registers[1])
        in_use = np.ones(made, np.bool_)
        in_use[self._memory.array(f"{self._name}.free", made)[used:made]] = False
        return self.rows[:made, column][in_use]

    def release(self, slots: Ints) -> None:
        """Takes slots back, from the end of this step on."""
        if len(slots):
            self._leaving.append(slots)

    def withdraw(self) -> Ints:
        """The slots that were taken back in this step, which then stay as they are until they are released again."""
        leaving, self._leaving = self._leaving, []
        return np.concatenate([np.zeros(0, np.int64), *leaving])

    def end_step(self) -> None:
        for slots in self._leaving:
            used = int(self._registers[0]) - len(slots)
            self._memory.array(f"{self._name}.free", self.capacity)[used : used + len(slots)] = slots
            self._registers[0] = used
        self._leaving = []
