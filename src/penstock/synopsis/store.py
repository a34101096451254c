"""A row store: rows in slots that are given out, taken back, and given out again.

A slot that is taken back during a step stays as it is until the step has ended, so that everybody who reads the store
can still see the row that went.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.rows import scatter
from penstock.synopsis.memory import Int32s, Ints, Scope


class BySlot:
    """An array that has a line for each slot of a store, and grows with it. Steps ask for it often."""

    def __init__(self, memory: Scope, what: str, store: RowStore, width: int | None = None) -> None:
        self._memory, self._what, self._store, self._width = memory, what, store, width
        self._capacity = -1

    def array(self) -> Ints:
        if self._capacity != self._store.capacity:
            self._capacity = self._store.capacity
            self._array = self._memory.array(self._what, self._capacity, self._width)
        return self._array


class Int32BySlot:
    """An array of numbers from -2^31 up to 2^31 that has one for each slot of a store, and grows with it."""

    def __init__(self, memory: Scope, what: str, store: RowStore) -> None:
        self._memory, self._what, self._store = memory, what, store
        self._capacity = -1

    def array(self) -> Int32s:
        if self._capacity != self._store.capacity:
            self._capacity = self._store.capacity
            self._array = self._memory.int32(self._what, self._capacity)
        return self._array


class RowStore:
    """`rows` and `starts` (the instant since which a row is in its relation) by slot.

    Of rows that are put, the last `null_words` are kept apart, and only from the first NULL on: most rows have none.
    """

    def __init__(self, memory: Scope, width: int, null_words: int = 0) -> None:
        self._memory = memory
        self._width = width - null_words
        self._null_words = null_words
        self._leaving: list[Ints] = []
        #: [slots that were taken back, slots that were ever given out, capacity, whether a NULL has come]
        self._registers = memory.array("slots", 4)
        #: The slots that there is memory for: a register, at hand.
        self.capacity = int(self._registers[2])
        self._rows = BySlot(memory, "rows", self, self._width)
        self._starts = BySlot(memory, "starts", self)

    @property
    def rows(self) -> Ints:
        """All words of rows but those that are kept apart."""
        return self._rows.array()

    @property
    def nulls_apart(self) -> bool:
        return self._null_words > 0

    @property
    def nulls(self) -> Ints | None:
        """The null words that are kept apart, if a NULL has come."""
        if not self._registers[3]:
            return None
        return self._memory.array("nulls", self.capacity, self._null_words)

    @property
    def starts(self) -> Ints:
        return self._starts.array()

    def __len__(self) -> int:
        return int(self._registers[1] - self._registers[0])

    def allocate(self, count: int) -> Ints:
        """So many slots: those that were taken back, the last of them first, and then new ones."""
        free, given, capacity = self._registers[:3].tolist()
        again = min(free, count)
        end = given + count - again
        if end > capacity:
            capacity = max(end, capacity + capacity // 2, 64)
        self._registers[:3] = free - again, end, capacity
        self.capacity = capacity
        fresh = np.arange(given, end)
        return np.concatenate((self._free(free)[free - again : free], fresh)) if again else fresh

    def put(self, rows: Ints, starts: Ints) -> Ints:
        """Stores rows and gives their slots."""
        free, given = int(self._registers[0]), int(self._registers[1])
        slots = self.allocate(len(rows))
        words = rows[:, : self._width]
        if free:
            scatter(words, starts, slots, self.rows, self.starts)
        else:
            end = given + len(rows)
            self.rows[given:end], self.starts[given:end] = words, starts
        if self._null_words:
            self._put_nulls(slots, rows[:, self._width :])
        return slots

    def _put_nulls(self, slots: Ints, words: Ints) -> None:
        self._registers[3] |= words.any()
        if (nulls := self.nulls) is not None:
            nulls[slots] = words

    def whole(self, slots: Ints) -> Ints:
        """Rows as they were put."""
        if not self._null_words:
            return self.rows[slots]
        rows = np.zeros((len(slots), self._width + self._null_words), np.int64)
        rows[:, : self._width] = self.rows[slots]
        if (nulls := self.nulls) is not None:
            rows[:, self._width :] = nulls[slots]
        return rows

    def held(self) -> Ints:
        """The slots that are in use."""
        free, given = int(self._registers[0]), int(self._registers[1])
        in_use = np.ones(given, np.bool_)
        in_use[self._free(free)[:free]] = False
        return np.flatnonzero(in_use)

    def staying(self) -> Ints:
        """The slots that are in use, and were not taken back in this step."""
        return np.setdiff1d(self.held(), np.concatenate([np.zeros(0, np.int64), *self._leaving]), assume_unique=True)

    def held_column(self, column: int) -> Ints:
        """A column of all rows that are in use."""
        return self.rows[:, column][self.held()]

    def release(self, slots: Ints) -> None:
        """Takes slots back, from the end of this step on."""
        if len(slots):
            self._leaving.append(slots)

    def clear(self) -> None:
        """Takes all slots back at once."""
        self._leaving = []
        self._registers[:2] = 0

    def withdraw(self) -> Ints:
        """The slots that were taken back in this step, which then stay as they are until they are released again."""
        leaving, self._leaving = self._leaving, []
        return np.concatenate([np.zeros(0, np.int64), *leaving])

    def end_step(self) -> None:
        """What was taken back is given out again, in the order in which it lies in memory."""
        if self._leaving:
            slots = np.sort(self.withdraw())
            free = int(self._registers[0])
            self._free(free + len(slots))[free : free + len(slots)] = slots
            self._registers[0] = free + len(slots)

    def _free(self, count: int) -> Ints:
        """The stack of slots that were taken back, with room for so many."""
        return self._memory.array("free", count)
