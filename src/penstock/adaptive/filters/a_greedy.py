"""A-Greedy (thesis 4.3): keeps the greedy invariant for the rows of the profile window, whatever correlates.

Violations by less than α are let be, so that orders do not thrash. On a window that settles an order they are mended
together, if that gains something.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.adaptive.filters.greedy_invariant import corrected, greedy_order, violation
from penstock.adaptive.filters.statistics import CLOSE, FEW, SETTLED, FilterChoice, FilterStatistics
from penstock.operators.filters.profile import PROFILE_ALL, FilterOrder, ProfileRequest


@dataclass(frozen=True, slots=True)
class AGreedy:
    """Corrects an order as soon as it violates the invariant."""

    thrash_avoidance: float = 0.9
    confidence: float = 0.0

    def wanted(self, order: FilterOrder) -> ProfileRequest:
        return PROFILE_ALL

    def drifted(self) -> None:
        """Does nothing: it remembers nothing but the window."""

    def choose(self, statistics: FilterStatistics) -> FilterChoice | None:
        window, costs, order = statistics.window, statistics.costs, statistics.order
        if window.rows < FEW:
            return None
        z = self.confidence if statistics.is_chosen else 0.0
        position = violation(window, costs, order, self.thrash_avoidance, z)
        if position is not None:
            return FilterChoice(corrected(window, costs, order, position))
        return self._settled(statistics) if window.rows >= SETTLED else None

    def _settled(self, statistics: FilterStatistics) -> FilterChoice | None:
        """Returns the order of Static Greedy if many violations that are let be add up to something."""
        window, costs, order = statistics.window, statistics.costs, statistics.order
        best = greedy_order(window, costs)
        is_better = window.cost(best, costs) < (1 - CLOSE) * window.cost(order, costs)
        return FilterChoice(best) if is_better else None
