"""Giving up: rows of a join that have waited too long are dropped, since what they wait for may be lost.

A row then joins nothing that comes later than that, whenever it is dropped: so results do not depend on steps.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from penstock.retention.rows import SlotsByInput
from penstock.synopsis.events import Some
from penstock.synopsis.indexed_inputs import IndexedInputs
from penstock.synopsis.memory import Ints, Memory


class WaitTimeout:
    """Of the rows of some inputs, which wait so long at most."""

    def __init__(
        self, memory: Memory, name: str, core: IndexedInputs, inputs: Iterable[int], after: int | None
    ) -> None:
        self._core, self._after = core, after or 0
        self._inputs = [] if after is None else list(inputs)
        self._count = memory.array(f"{name}.given_up", 1)

    def count(self) -> int:
        """How many rows were dropped."""
        return int(self._count[0])

    def late(self, now: int) -> SlotsByInput:
        """The rows that are dropped now."""
        late: dict[int, Ints] = {}
        for number in self._inputs:
            alive = np.flatnonzero(self._core.visibility(number) != 0)
            late[number] = alive[self._core.inputs[number].store.starts[alive] < now - self._after]
            self._count[0] += len(late[number])
        return late

    def in_time(self, found: Ints, times: Ints) -> Some:
        """Which results are of rows none of which was given up before."""
        if not self._inputs:
            return slice(None)
        kept = np.ones(len(found), np.bool_)
        for number in self._inputs:
            starts = self._core.inputs[number].store.starts[found[:, number]]
            kept &= times - starts <= self._after
        return kept
