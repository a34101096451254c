"""LocalSwaps (thesis 4.6): compares only neighbours, and swaps them.

A dropped row is evaluated by the next filter only. It may stay in a local optimum (example 4.6.1).
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.adaptive.filters.greedy_invariant import is_better
from penstock.adaptive.filters.statistics import FEW, FilterChoice, FilterStatistics
from penstock.operators.filters.profile import FilterOrder, Ghosts, ProfileRequest


@dataclass(frozen=True, slots=True)
class LocalSwaps:
    """Swaps neighbours of which the second is better; then the window says nothing of the new ones, and begins anew."""

    thrash_avoidance: float = 0.9
    confidence: float = 0.0

    def wanted(self, order: FilterOrder) -> ProfileRequest:
        return ProfileRequest(ghosts=Ghosts.NEXT)

    def drifted(self) -> None:
        """Does nothing: it remembers nothing but the window."""

    def choose(self, statistics: FilterStatistics) -> FilterChoice | None:
        window, costs, order = statistics.window, statistics.costs, list(statistics.order)
        if window.rows < FEW:
            return None
        alive, position = window.everything, 0
        while position + 1 < len(order):
            own, other = order[position : position + 2]
            drops, rows = window.drops(other, alive), alive.bit_count()
            before = window.drops(own, alive)
            if is_better(drops, costs[other], before, costs[own], rows, self.thrash_avoidance, self.confidence):
                order[position : position + 2] = other, own
                alive = window.left(other, window.left(own, alive))
                position += 2
            else:
                alive = window.left(own, alive)
                position += 1
        swapped = tuple(order)
        return None if swapped == statistics.order else FilterChoice(swapped, self.wanted(swapped), forgets=True)
