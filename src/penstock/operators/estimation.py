"""How a monitor finds k: quick to grow, slow to shrink, and off while it grows (thesis 6.6.3, 6.7.3, 6.8.3).

Time goes in panes. A pane is over when it has seen W rows, and lasted c times as long as the largest k that was
required in it and the one before: that is the k from then on. As soon as a row requires more than k, k is not known any
more, and a new pane begins. The thesis looks at W rows only. Where W is less than k, no row can require k within them,
and k would come out too small, at the start and after each growth; so a pane lasts as long as k, too.
"""

from __future__ import annotations

from math import ceil

from penstock.plan.monitors import Monitor
from penstock.synopsis.memory import Ints, Memory

#: Nothing is required by a row.
NOTHING = -1

#: Its registers: whether there is an estimate, k, what this pane and the one before required at most (0: nothing, else
#: 1 more), the rows of this pane, and the clock when it began.
_KNOWN, _K, _NOW, _BEFORE, _ROWS, _BEGAN = range(6)


class Estimation:
    """Of one k. It lives in the machine's memory."""

    def __init__(self, memory: Memory, name: str, monitor: Monitor) -> None:
        self._parameters = monitor.parameters
        self._registers = memory.array(name, 6)

    @property
    def k(self) -> int | None:
        """The k that rows adhere to, as far as is known."""
        return int(self._registers[_K]) if self._registers[_KNOWN] else None

    @property
    def limit(self) -> int | None:
        """The k to purge by, c times that which was found; None: nothing is purged by it."""
        k = self.k
        return None if k is None or k > self._parameters.threshold else ceil(self._parameters.c * k)

    @property
    def most(self) -> int:
        """A k that is larger than any to purge by."""
        return ceil(self._parameters.c * self._parameters.threshold) + 1

    @property
    def remembered(self) -> int:
        """How far back rows are remembered, to see k grow: twice as far as rows are kept."""
        return self.most if self.limit is None else min(self.most, max(self._parameters.w, 2 * self.limit))

    def observe(self, required: Ints, clock: int) -> None:
        """Rows that came until the clock stood so, and the k that each of them requires."""
        registers = self._registers
        most = int(required.max(initial=NOTHING))
        registers[_NOW] = max(registers[_NOW], most + 1)
        registers[_ROWS] += len(required)
        if registers[_KNOWN] and most > registers[_K]:
            registers[_KNOWN], registers[_ROWS], registers[_BEGAN] = 0, 0, clock
            return
        largest = max(int(registers[_NOW]), int(registers[_BEFORE]), 1) - 1
        lasted = clock - int(registers[_BEGAN])
        if registers[_ROWS] >= self._parameters.w and lasted >= self._parameters.c * largest:
            registers[_KNOWN], registers[_K] = 1, largest
            registers[_BEFORE], registers[_NOW], registers[_ROWS], registers[_BEGAN] = registers[_NOW], 0, 0, clock
