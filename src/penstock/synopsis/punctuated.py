"""The values that punctuations have closed: the last ones, so that rows are noticed that come all the same.

To remember all of them would take unbounded memory. A constant number is remembered, in the order of their times, so
which rows are noticed does not depend on how they are cut into steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.rejection import FOR_EVER, PLACES, TAKEN, VALUE, link_lines, reject
from penstock.synopsis.memory import Ints, Scope

#: So many values are remembered; at first there are fewer places.
ROOM, FIRST_PLACES = 1 << 16, 64


class PunctuatedValues:
    """Values of so many words, null bits among them. With a lifespan they may come again when it is over."""

    def __init__(self, memory: Scope, width: int, lifespan: int | None) -> None:
        self._memory = memory
        self._lifespan = FOR_EVER if lifespan is None else lifespan
        self._columns, self._places = np.arange(width), np.arange(VALUE, VALUE + width)
        self._registers = memory.array("registers", 2)[:2]
        self._attach(int(self._registers[PLACES]))
        if memory.restored and self._registers[PLACES]:
            self._link()

    def rejected(self, times: Ints, rows: Ints, punctuation_times: Ints, punctuations: Ints) -> NDArray[np.bool_]:
        """Whether each row came after a punctuation of its values. Both come in the order of time."""
        found = np.zeros(len(times), np.bool_)
        self._fit(len(punctuations))
        if self._registers[PLACES]:
            lines, heads = self._lines, self._heads
            known = (self._lifespan, self._columns, self._places, lines, heads, self._registers)
            punctuations = np.ascontiguousarray(punctuations)
            reject(times, rows, self._columns, punctuation_times, punctuations, *known, found)
        return found

    def held_column(self, column: int) -> Ints:
        """A column of all values that are remembered."""
        held: Ints = self._lines[: int(self._registers[TAKEN]), VALUE + column]
        return held

    def _fit(self, count: int) -> None:
        """Makes places for so many more values. Before there are as many as can be, none is taken twice."""
        wanted = min(ROOM, int(self._registers[TAKEN]) + count)
        if wanted > self._registers[PLACES]:
            self._registers[PLACES] = min(ROOM, max(FIRST_PLACES, 1 << (wanted - 1).bit_length()))
            self._memory.forget("heads")
            self._attach(int(self._registers[PLACES]))
            self._link()

    def _attach(self, places: int) -> None:
        self._lines = self._memory.array("lines", places, VALUE + len(self._columns))[:places]
        self._heads = self._memory.array("heads", 2 * places, derived=True)[: 2 * places]

    def _link(self) -> None:
        taken = min(int(self._registers[TAKEN]), len(self._lines))
        link_lines(taken, self._places, self._lines, self._heads)
