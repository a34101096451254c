"""The input manager (thesis 2.2.5): rows wait until their instant is closed, and come in the order of (ts, arrival)."""

from __future__ import annotations

import numpy as np

from penstock.synopsis.deltas import Deltas
from penstock.synopsis.memory import Memory


class Reorder:
    """Rows that came before their instant was closed, in the order of (ts, arrival)."""

    def __init__(self, memory: Memory, name: str, width: int) -> None:
        self._memory, self._name = memory, name
        self._width = width
        self._registers = memory.array(f"{name}.waiting_count", 1)

    def __len__(self) -> int:
        return int(self._registers[0])

    def step(self, arrived: Deltas, until: int) -> Deltas:
        """All rows of instants before `until`; the others go on waiting."""
        waiting = self._waiting()
        together = arrived if not len(waiting) else _behind(waiting, arrived)
        together = together.in_order()
        due = int(np.searchsorted(together.ts, until, side="left"))
        self._keep(together, due)
        return Deltas(together.ts[:due], together.weight[:due], together.rows[:due])

    def _waiting(self) -> Deltas:
        held = self._memory.array(f"{self._name}.waiting", 0, self._width + 1)[: len(self)]
        return Deltas(held[:, 0].copy(), np.ones(len(held), np.int64), held[:, 1:].copy())

    def _keep(self, together: Deltas, due: int) -> None:
        count = len(together) - due
        if count:
            held = self._memory.array(f"{self._name}.waiting", count, self._width + 1)
            held[:count, 0] = together.ts[due:]
            held[:count, 1:] = together.rows[due:]
        self._registers[0] = count


def _behind(waiting: Deltas, arrived: Deltas) -> Deltas:
    """Rows that waited arrived before those that come now."""
    return Deltas(
        np.concatenate((waiting.ts, arrived.ts)),
        np.concatenate((waiting.weight, arrived.weight)),
        np.concatenate((waiting.rows, arrived.rows)),
    )
