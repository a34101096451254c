"""The purge queue: the rows that the next purge examines, its candidates, and those that it drops unexamined.

A purge takes rows in the order of their slots, in which they lie in memory, each once.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from penstock.kernels.clock_waits import all_closed, new_closed
from penstock.kernels.purge_queue import DROP, EXAMINE, due, mark_new
from penstock.retention.retained_join import RetainedJoin
from penstock.retention.rows import SlotsByInput
from penstock.synopsis.events import Events
from penstock.synopsis.memory import Int32s, Ints
from penstock.synopsis.store import Int32BySlot


class PurgeQueue:
    """Queues rows of some inputs of a join, by a mark per slot."""

    def __init__(self, join: RetainedJoin, numbers: Collection[int]) -> None:
        self._core, self.numbers = join.inputs, numbers
        self._by_slot = {
            n: Int32BySlot(join.memory.scope("input", n), "purge_queue", join.inputs.inputs[n].store) for n in numbers
        }

    def arrived(self, number: int, events: Events) -> None:
        """Makes candidates of arriving rows, whatever was to be done with the rows that had their slots.

        Rows that leave are gone, and it does not matter what they are marked as.
        """
        if number in self.numbers:
            mark_new(events.slots, self._marks(number))

    def examine(self, rows: SlotsByInput) -> None:
        for number, slots in rows.items():
            if number in self.numbers:
                marks = self._marks(number)
                marks[slots] = np.maximum(marks[slots], EXAMINE)

    def examine_those_with(self, number: int, variables: tuple[int, ...], keys: Ints) -> None:
        """Makes candidates of the rows of an input that have one of these keys."""
        self._core.mark_rows(number, variables, keys, self._marks(number), EXAMINE)

    def drop_those_with(self, number: int, variables: tuple[int, ...], keys: Ints) -> None:
        """Queues the rows of an input that have one of these keys to be dropped."""
        self._core.mark_rows(number, variables, keys, self._marks(number), DROP)

    def examine_all(self) -> None:
        self.examine({number: np.flatnonzero(self._core.visibility(number)) for number in self.numbers})

    def drop(self, number: int, slots: Ints) -> None:
        self._marks(number)[slots] = DROP

    def take(self, number: int, waits: Ints, clocks: Ints) -> tuple[Ints, Ints]:
        """The candidates of an input and the rows to drop that are still there; they are queued no more.

        Rows that waited for a value that a clock has reached are candidates, too.
        """
        marks, visibility = self._marks(number), self._core.visibility(number)
        slots, dropped = np.empty((2, len(visibility) + 1), np.int64)
        examined, drops = due(marks, visibility, waits, clocks, slots, dropped)
        return slots[:examined].copy(), dropped[:drops].copy()

    def new_and_closed(self, number: int, new: Ints, clocked: Ints, *, closes: bool) -> Ints:
        """The rows of an input, all of which wait for clocks only, for which a clock has closed an input.

        `closes`: that there may be other rows than the new ones.
        """
        visibility = self._core.visibility(number)
        found, flags = np.empty((2, len(visibility) + 1), np.int64), np.empty(len(visibility), np.bool_)
        others = all_closed(clocked, visibility, flags, found[0]) if closes else 0
        count = new_closed(clocked, new, flags, found[1])
        return np.union1d(found[0, :others], found[1, :count])

    def capacity(self, number: int) -> int:
        """The slots of an input that a purge passes over."""
        return len(self._core.visibility(number))

    def _marks(self, number: int) -> Int32s:
        return self._by_slot[number].array()
