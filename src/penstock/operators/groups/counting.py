"""duplicate-eliminate, union, except, intersect: operators that count copies of rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.algebra.relations import SetOperator
from penstock.kernels import counting
from penstock.kernels.counting import count_rows
from penstock.kernels.index import unlink_rows
from penstock.synopsis.deltas import NEVER, Deltas
from penstock.synopsis.index import Index
from penstock.synopsis.memory import Ints, Scope

FUNCTIONS = {
    (SetOperator.UNION, False): counting.UNION,
    (SetOperator.EXCEPT, False): counting.EXCEPT,
    (SetOperator.EXCEPT, True): counting.EXCEPT_ALL,
    (SetOperator.INTERSECT, False): counting.INTERSECT,
    (SetOperator.INTERSECT, True): counting.INTERSECT_ALL,
}


class CountingOperator:
    def __init__(self, memory: Scope, width: int, function: int) -> None:
        self._memory = memory
        self._width = width
        self._function = function
        self._index = Index(memory.scope("rows"), tuple(range(width)))
        #: [free slots, rows held, slots ever made]
        self._registers = memory.array("registers", 3)
        if memory.restored:
            made = int(self._registers[2])
            self._index.rebuild(made, self._rows(made), self._held())

    def step(self, sides: list[Deltas]) -> Deltas:
        ts = np.concatenate([side.ts for side in sides])
        order = np.argsort(ts, kind="stable")
        numbers = np.repeat(np.arange(len(sides)), [len(side) for side in sides])
        made = self._make_room(len(ts))
        self._index.fit(self.state_rows() + len(ts), made, self._rows(made))
        out = count_rows(
            self._function,
            ts[order],
            np.concatenate([side.weight for side in sides])[order],
            numbers[order],
            np.concatenate([side.rows for side in sides])[order],
            self._rows(made),
            self._memory.array("counts", made, 4),
            self._index.heads,
            self._index.mask,
            self._index.links,
            self._memory.array("free", made),
            self._registers,
        )
        return Deltas(*out)

    def forget(self, closing: Callable[[Ints], Ints]) -> Deltas:
        """Drops the rows that change no more, and gives each at the instant from which on that is so.

        `closing` gives these instants for rows, or NEVER.
        """
        held = self._held()
        closed = closing(self._rows(0)[held])
        gone, ts = held[closed != NEVER], closed[closed != NEVER]
        rows = self._rows(0)[gone]
        self._memory.array("counts", 0, 4)[gone] = 0
        unlink_rows(self._index.heads, self._index.links, gone, np.full(len(gone), -1, np.int64))
        free = int(self._registers[0])
        self._memory.array("free", 0)[free : free + len(gone)] = gone
        self._registers[0] += len(gone)
        self._registers[1] -= len(gone)
        return Deltas(ts, np.ones(len(ts), np.int64), rows).in_order()

    def state_rows(self) -> int:
        return int(self._registers[1])

    def held_column(self, column: int) -> Ints:
        """A column of all rows that an input holds."""
        return self._rows(0)[:, column][self._held()]

    def _held(self) -> Ints:
        made = int(self._registers[2])
        counts = self._memory.array("counts", made, 4)
        return np.flatnonzero((counts[:made, 0] != 0) | (counts[:made, 1] != 0))

    def _make_room(self, count: int) -> int:
        free, made = int(self._registers[0]), int(self._registers[2])
        if free < count:
            more = max(made + count - free, made + made // 2, 64)
            slots = self._memory.array("free", more)
            slots[free : free + more - made] = np.arange(made, more)
            self._registers[0] = free + more - made
            self._registers[2] = made = more
        return made

    def _rows(self, made: int) -> Ints:
        return self._memory.array("stored", made, self._width)
