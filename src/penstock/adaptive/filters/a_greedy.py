"""A-Greedy (thesis 4.3): keeps the greedy invariant for the rows of the profile window, whatever correlates."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.adaptive.filters.greedy_invariant import corrected, violation
from penstock.adaptive.filters.statistics import FEW, FilterChoice, FilterStatistics
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
        return None if position is None else FilterChoice(corrected(window, costs, order, position))
