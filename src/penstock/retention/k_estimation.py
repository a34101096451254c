"""How a monitor finds k: quick to grow, slow to shrink, and off while it grows (thesis 6.6.3, 6.7.3, 6.8.3).

Time goes in panes. A pane is over when it has seen W rows, and lasted c times as long as the largest k that was
required in it and the one before: that is the k from then on. As soon as a row requires more than k, k is not known any
more, and a new pane begins. The thesis counts W rows only. Where W is less than k, no row can require k within them,
and k would come out too small, at the start and after each growth; so a pane lasts as long as k, too.

A k that is declared is found just the same, and shown, but rows go by the declared one: always, or, where it may be
widened, until a row requires more.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from penstock.closing.monitors import Monitor
from penstock.synopsis.memory import Ints, Scope

#: Nothing is required by a row.
NOTHING = -1

#: Its registers: whether there is an estimate, k, what this pane and the one before required at most (0: nothing, else
#: 1 more), the rows of this pane, and the clock when it began; whether a declared k was broken; the clock; and when k
#: was last too small: the limit then, 1 more than it was, and the clock until which rows went by it.
_KNOWN, _K, _NOW, _BEFORE, _ROWS, _BEGAN, _BROKEN, _CLOCK, _LAST_LIMIT, _LAST_CLOCK = range(10)


class Estimation:
    """Estimates one k. Its registers are in the machine's memory."""

    def __init__(self, memory: Scope, monitor: Monitor) -> None:
        self._parameters, self._declared, self._varies = monitor.parameters, monitor.declared, monitor.varies
        self._own_threshold, self._is_used = monitor.parameters.threshold, True
        self._is_of_rows = monitor.ticks is not None
        self._registers = memory.array("estimate", 10)

    def adjust(self, is_used: bool, threshold: int | None) -> None:
        """Says whether an inferred k is used, and the k above which it is of no use; None: as declared.

        What was found under other settings was found with another memory of rows, so it is found anew.
        """
        threshold = self._own_threshold if threshold is None else threshold
        if (is_used, threshold) != (self._is_used, self._parameters.threshold):
            self._is_used, self._parameters = is_used, replace(self._parameters, threshold=threshold)
            self._registers[[_KNOWN, _ROWS]] = 0
            self._registers[_BEGAN] = self._registers[_CLOCK]

    @property
    def k(self) -> int | None:
        """The k that rows adhere to, as far as is known."""
        return int(self._registers[_K]) if self._registers[_KNOWN] else None

    @property
    def limit(self) -> int | None:
        """The k to purge by, c times that which was found; None: nothing is purged by it."""
        declared = self._declared
        if declared is not None and not (self._varies and self._registers[_BROKEN]):
            return declared
        k = self.k
        if not self._is_used or k is None or (self._is_of_rows and k > max(self._parameters.threshold, declared or 0)):
            return None
        return ceil(self._parameters.c * max(k, declared or 0))

    @property
    def most(self) -> int:
        """A k that is larger than any to purge by, or that was required so far where k is a time."""
        largest = max(self._largest, self._declared or 0)
        return (
            ceil(self._parameters.c * (max(self._parameters.threshold, largest) if self._is_of_rows else 2 * largest))
            + 1
        )

    @property
    def remembered(self) -> int:
        """How far back rows are remembered: longer than they are kept, and twice as far to see a k grow."""
        limit = self.limit
        if limit is None:
            return self.most
        kept = ceil(self._parameters.c * limit)
        if not self._varies:
            return kept
        return max(self._parameters.w if self._is_of_rows else 0, 2 * kept)

    def observe(self, required: Ints, rows: int, clock: int) -> None:
        """So many rows came until the clock stood so; those of them that require a k, require these."""
        registers, limit, until = self._registers, self.limit, int(self._registers[_CLOCK])
        registers[_CLOCK] = clock
        registers[_ROWS] += rows
        most = NOTHING
        if len(required):
            most = int(required.max())
            registers[_NOW] = max(registers[_NOW], most + 1)
        believed = self._declared if not registers[_BROKEN] else None
        if (registers[_KNOWN] and most > registers[_K]) or (believed is not None and most > believed):
            if limit is not None:
                registers[_LAST_LIMIT], registers[_LAST_CLOCK] = limit + 1, until
            registers[_BROKEN] |= believed is not None and most > believed
            registers[_KNOWN], registers[_ROWS], registers[_BEGAN] = 0, 0, clock
        elif registers[_ROWS] >= self._parameters.w and clock - registers[_BEGAN] >= self._parameters.c * self._largest:
            registers[_KNOWN], registers[_K] = 1, self._largest
            registers[_BEFORE], registers[_NOW], registers[_ROWS], registers[_BEGAN] = registers[_NOW], 0, 0, clock

    def may_have_lost(self, required: Ints, clocks: Ints) -> NDArray[np.bool_]:
        """Of rows that come now, when clocks stood so, whether by the k's so far something went that they join."""
        lost = np.zeros(len(required), np.bool_)
        limits = [(self.limit, int(self._registers[_CLOCK]))]
        limits += [(int(self._registers[_LAST_LIMIT]) - 1, int(self._registers[_LAST_CLOCK]))]
        for limit, until in limits:
            if limit is not None and limit >= 0:
                # So much was required when rows last went by that limit.
                lost |= required - np.maximum(clocks - until, 0) > limit
        return lost

    @property
    def _largest(self) -> int:
        """What was required at most, in this pane and the one before."""
        return max(int(self._registers[_NOW]), int(self._registers[_BEFORE]), 1) - 1
