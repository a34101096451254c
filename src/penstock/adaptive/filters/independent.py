"""Independent (thesis 4.5): orders filters as if none depended on another, by rows dropped per time alone.

It reads the first row of the matrix view, and can be n times worse than A-Greedy where filters correlate (example
4.5.1).
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.adaptive.filters.statistics import FEW, FilterChoice, FilterStatistics
from penstock.operators.filters.profile import FilterOrder, ProfileRequest


@dataclass(frozen=True, slots=True)
class Independent:
    """Sorts filters anew when two are in the wrong order by more than α."""

    thrash_avoidance: float = 0.9

    def wanted(self, order: FilterOrder) -> ProfileRequest:
        return ProfileRequest(share=0.5)  # table 4.1

    def drifted(self) -> None:
        """Does nothing: it remembers nothing but the window."""

    def choose(self, statistics: FilterStatistics) -> FilterChoice | None:
        window, order = statistics.window, statistics.order
        if window.rows < FEW:
            return None
        everything = window.everything
        rates = {number: window.drops(number, everything) / statistics.costs[number] for number in order}
        best_behind = 0.0
        for number in reversed(order):
            if rates[number] < self.thrash_avoidance * best_behind:
                by_rate = tuple(sorted(order, key=lambda each: -rates[each]))
                return FilterChoice(by_rate, self.wanted(by_rate))
            best_behind = max(best_behind, rates[number])
        return None
