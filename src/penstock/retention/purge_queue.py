"""What the next purge is to do: a mark per slot of the rows to look at, and of those that somebody is done with.

Rows are then looked at in the order of their slots, in which they lie in memory, each once.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from penstock.kernels.clock_waits import all_closed, new_closed
from penstock.kernels.purge_queue import DROP, EXAMINE, due, mark_new
from penstock.retention.rows import SlotsByInput
from penstock.synopsis.events import Events
from penstock.synopsis.indexed_inputs import IndexedInputs
from penstock.synopsis.memory import Int32s, Ints, Memory
from penstock.synopsis.store import Int32BySlot


class PurgeQueue:
    """Of the rows of some inputs of a join."""

    def __init__(self, memory: Memory, name: str, core: IndexedInputs, numbers: Collection[int]) -> None:
        self._core, self.numbers = core, numbers
        self._by_slot = {n: Int32BySlot(memory, f"{name}.purge_queue{n}", core.inputs[n].store) for n in numbers}

    def came(self, number: int, events: Events) -> None:
        """Rows are new: whatever was to be done with those that had their slots, they are to be looked at.

        Others have just gone, and it does not matter what they are marked as.
        """
        if number in self.numbers:
            mark_new(events.slots, self._marks(number))

    def examine(self, rows: SlotsByInput) -> None:
        for number, slots in rows.items():
            if number in self.numbers:
                marks = self._marks(number)
                marks[slots] = np.maximum(marks[slots], EXAMINE)

    def examine_those_with(self, number: int, variables: tuple[int, ...], keys: Ints) -> None:
        """Rows of an input that have one of these keys are to be looked at."""
        self._core.mark_rows(number, variables, keys, self._marks(number), EXAMINE)

    def drop_those_with(self, number: int, variables: tuple[int, ...], keys: Ints) -> None:
        """Rows of an input that have one of these keys are to be dropped."""
        self._core.mark_rows(number, variables, keys, self._marks(number), DROP)

    def examine_all(self) -> None:
        self.examine({number: np.flatnonzero(self._core.visibility(number)) for number in self.numbers})

    def drop(self, number: int, slots: Ints) -> None:
        self._marks(number)[slots] = DROP

    def take(self, number: int, waits: Ints, clocks: Ints) -> tuple[Ints, Ints]:
        """The rows of an input to look at and those to drop that are still there; then nothing is to be done with them.

        Those that waited for a clock that has come are looked at, too.
        """
        marks, visibility = self._marks(number), self._core.visibility(number)
        slots, dropped = np.empty((2, len(visibility) + 1), np.int64)
        looked_at, drops = due(marks, visibility, waits, clocks, slots, dropped)
        return slots[:looked_at].copy(), dropped[:drops].copy()

    def new_and_closed(self, number: int, new: Ints, clocked: Ints, *, closes: bool) -> Ints:
        """Of an input whose rows wait for clocks only: those for which one has closed an input.

        `closes`: that there may be other rows than the new ones.
        """
        visibility = self._core.visibility(number)
        found, flags = np.empty((2, len(visibility) + 1), np.int64), np.empty(len(visibility), np.bool_)
        others = all_closed(clocked, visibility, flags, found[0]) if closes else 0
        count = new_closed(clocked, new, flags, found[1])
        return np.union1d(found[0, :others], found[1, :count])

    def _marks(self, number: int) -> Int32s:
        return self._by_slot[number].array()
