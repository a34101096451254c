"""What the next purge is to do: a mark per slot of the rows to look at, and of those that somebody is done with.

Rows are then looked at in the order of their slots, in which they lie in memory, each once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from penstock.kernels.purge import marked_or_awake
from penstock.operators.join import JoinCore
from penstock.operators.rows import Rows, in_one, rows_of
from penstock.synopsis.memory import Halves, Ints, Memory

#: Marks. `kernels.evidence.mark_rows` knows the first one.
_LOOK_AT, _DROP = 1, 2


class Todo:
    """Of the rows of some inputs of a join."""

    def __init__(self, memory: Memory, name: str, core: JoinCore, numbers: Collection[int]) -> None:
        self._memory, self._name, self._core, self._numbers = memory, name, core, numbers

    def came(self, number: int, slots: Ints) -> None:
        """Rows are new: whatever was to be done with those that had their slots, they are to be looked at."""
        self._marks(number)[slots] = _LOOK_AT

    def look_at(self, rows: Rows) -> None:
        for number in self._numbers:
            marks, slots = self._marks(number), rows.of(number)
            marks[slots] = np.maximum(marks[slots], _LOOK_AT)

    def look_at_those_with(self, number: int, variables: tuple[int, ...], keys: Ints) -> None:
        """Rows of an input that have one of these keys are to be looked at."""
        self._core.mark_rows(number, variables, keys, self._marks(number))

    def look_at_all(self) -> None:
        for number in self._numbers:
            self.look_at(rows_of(number, np.flatnonzero(self._core.lives(number))))

    def drop(self, rows: Rows) -> None:
        for number in self._numbers:
            self._marks(number)[rows.of(number)] = _DROP

    def to_drop(self) -> Rows:
        """The rows that are to be dropped and are still there."""
        found = []
        for number in self._numbers:
            marks = self._marks(number)
            slots = np.flatnonzero(marks == _DROP)
            marks[slots] = 0
            found.append(rows_of(number, slots[self._core.lives(number)[slots] != 0]))
        return in_one(found)

    def to_look_at(self, waits: Callable[[int], Ints], clocks: Ints) -> Rows:
        """The rows that are to be looked at and are still there, and those that waited for a clock that has come."""
        found = []
        for number in self._numbers:
            slots = marked_or_awake(self._marks(number), self._core.lives(number), waits(number), clocks)
            found.append(rows_of(number, slots))
        return in_one(found)

    def _marks(self, number: int) -> Halves:
        return self._memory.halves(f"{self._name}.todo{number}", self._core.inputs[number].store.capacity)
