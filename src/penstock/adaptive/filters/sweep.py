"""Sweep (thesis 4.4): keeps the greedy invariant for one filter at a time, so a profile tuple costs one evaluation.

A stage profiles the filter at position j. It ends when that filter is better than one before it, and then moves there;
or when a window of profile tuples says that it is not. Positions 2 to n take turns. So it converges to what A-Greedy
finds, with a smaller profile, and later.
"""

from __future__ import annotations

from penstock.adaptive.filters.greedy_invariant import is_better
from penstock.adaptive.filters.statistics import FEW, FilterChoice, FilterStatistics
from penstock.operators.filters.profile import FilterOrder, Ghosts, ProfileRequest

#: The profile tuples of a stage (table 4.1).
STAGE = 500


class Sweep:
    """Moves at most one filter in a stage."""

    def __init__(self, thrash_avoidance: float = 0.9, confidence: float = 0.0, stage: int = STAGE) -> None:
        self._alpha, self._confidence, self._stage = thrash_avoidance, confidence, stage
        #: The position that is profiled, from 0.
        self.position = 1

    def wanted(self, order: FilterOrder) -> ProfileRequest:
        return ProfileRequest(ghosts=Ghosts.ONE, position=self.position)

    def drifted(self) -> None:
        """Goes on with the stage."""

    def choose(self, statistics: FilterStatistics) -> FilterChoice | None:
        window, order = statistics.window, statistics.order
        if window.rows < FEW:
            return None
        place = self._better_place(statistics)
        if place is not None:
            profiled = order[self.position]
            others = [number for number in order if number != profiled]
            return self._next_stage((*others[:place], profiled, *others[place:]))
        return self._next_stage(order) if window.rows >= min(self._stage, window.capacity) else None

    def _better_place(self, statistics: FilterStatistics) -> int | None:
        """Returns the first position whose filter the profiled one is better than (definition 4.4.1)."""
        window, costs, order = statistics.window, statistics.costs, statistics.order
        profiled, alive = order[self.position], window.everything
        for place, number in enumerate(order[: self.position]):
            drops, own = window.drops(profiled, alive), window.drops(number, alive)
            rows = alive.bit_count()
            if is_better(drops, costs[profiled], own, costs[number], rows, self._alpha, self._confidence):
                return place
            alive = window.left(number, alive)
        return None

    def _next_stage(self, order: FilterOrder) -> FilterChoice:
        self.position = self.position % (len(order) - 1) + 1
        return FilterChoice(order, self.wanted(order), forgets=True)
