"""The strategy that is used unless another is named: A-Greedy, and Sweep where a full profile does not pay (table 4.3).

A-Greedy finds a new order at once, but a sampled row costs an evaluation of every filter. If that is more than the
budget of profiles, few rows can be sampled. While nothing changes Sweep then looks for better orders with one
evaluation a row; the drift test says when something does, and A-Greedy takes over.
"""

from __future__ import annotations

from penstock.adaptive.filters.a_greedy import AGreedy
from penstock.adaptive.filters.statistics import FilterChoice, FilterStatistics, OrderingStrategy
from penstock.adaptive.filters.sweep import Sweep
from penstock.operators.filters.profile import FilterOrder, ProfileRequest


class Automatic:
    """A-Greedy until its window is full and its profile is too dear, then Sweep, until something drifts."""

    def __init__(self, probability: float, budget: float, thrash_avoidance: float, confidence: float) -> None:
        self._probability, self._budget = probability, budget
        self._greedy = AGreedy(thrash_avoidance, confidence)
        self._sweep = Sweep(thrash_avoidance, confidence)
        self._current: OrderingStrategy = self._greedy

    def drifted(self) -> None:
        """Goes back to A-Greedy."""
        self._current = self._greedy

    def wanted(self, order: FilterOrder) -> ProfileRequest:
        return self._current.wanted(order)

    def choose(self, statistics: FilterStatistics) -> FilterChoice | None:
        choice = self._current.choose(statistics)
        if choice is not None or self._current is self._sweep or not self._is_too_dear(statistics):
            return choice
        self._current = self._sweep
        return FilterChoice(statistics.order, self._sweep.wanted(statistics.order), forgets=True)

    def _is_too_dear(self, statistics: FilterStatistics) -> bool:
        window, costs = statistics.window, statistics.costs
        if window.rows < window.capacity:
            return False
        cost = window.cost(statistics.order, costs)
        return self._probability * (sum(costs) - cost) > 2 * self._budget * cost
