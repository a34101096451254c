"""The Profiler of filters: keeps the profile window and the costs, and tests whether rows still pass as it predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from penstock.adaptive.filters.drift import DriftTest
from penstock.adaptive.filters.profile_window import ProfileWindow
from penstock.adaptive.filters.statistics import FilterStatistics
from penstock.operators.filters.profile import FilterProfile

#: New profile tuples that are worth a decision.
ENOUGH = 16


@dataclass(frozen=True, slots=True)
class Observed:
    """Statistics that are worth a decision."""

    #: Rows that have come until now.
    at: int
    statistics: FilterStatistics
    #: By position, how many rows came and passed since the last profile, if they contradict the window.
    drift: tuple[Sequence[int], Sequence[int]] | None = None


class FilterProfiler:
    """Keeps statistics of the filters of one chain."""

    def __init__(self, filters: int, capacity: int) -> None:
        self.window = ProfileWindow(filters, capacity)
        self.costs: tuple[float, ...] = (1.0,) * filters
        self.rows = 0
        self._drift = DriftTest(filters)
        self._new = 0
        #: Whether the order was chosen on this window.
        self._is_chosen = False

    @property
    def is_suspicious(self) -> bool:
        """Returns whether the latest rates may turn out to be others than the window's."""
        return self._drift.is_suspicious

    def observe(self, profile: FilterProfile) -> Observed | None:
        """Takes a profile, and returns the statistics if they may ask for another choice."""
        self.rows += profile.entered[0] + profile.quiet.entered[0]
        if self._drift.drifted(profile, self.window):
            return Observed(self.rows, self._statistics(profile), (profile.entered, profile.passed))
        if not len(profile.samples):
            return None
        self.window.add(profile.samples)
        self._new += len(profile.samples)
        if self._new < ENOUGH:
            return None
        self._new = 0
        return Observed(self.rows, self._statistics(profile))

    def _statistics(self, profile: FilterProfile) -> FilterStatistics:
        self.costs = known_costs(profile.costs, self.costs)
        return FilterStatistics(profile.order, self.window, self.costs, self._is_chosen)

    def begin(self, window: ProfileWindow | None = None) -> None:
        """Begins another window: an empty one, or one that goes on from what is known. The old one stays in the log."""
        self.window = ProfileWindow(len(self.costs), self.window.capacity) if window is None else window.copy()
        self._drift.clear()
        self._is_chosen = window is not None


def known_costs(measured: Sequence[float], before: Sequence[float]) -> tuple[float, ...]:
    """Returns the costs of filters, of which those that are not measured yet are as before.

    >>> known_costs([float("nan"), 20.0], [5.0, 10.0])
    (5.0, 20.0)
    """
    return tuple(old if isnan(new) else max(new, 1e-3) for new, old in zip(measured, before, strict=True))
