"""The Profiler of a join: keeps samples of its events, tests for drift, and says how many samples the next part gives.

Samples are paid out of a budget, a part of the work of the join itself, both counted in rows that are examined; so
nothing is timed. The first parts, and those after a drift, are sampled at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.adaptive.joins.join_drift import JoinDrift
from penstock.adaptive.joins.join_statistics import JoinSizes, SampleWindow
from penstock.operators.joins.mjoin import JoinProfile
from penstock.plan.join_choice import Orders

#: Samples of one input that its window holds, and below which nothing is concluded.
WINDOW, FEW = 512, 16
#: New samples of all inputs that are worth a decision.
ENOUGH = 64
#: Samples of a part, if the budget allows, and of one that is sampled at once; and so many parts are.
SAMPLED, AT_ONCE, PARTS_AT_ONCE = 48, 192, 3
#: The work of a join that its samples may take, and what it takes to sample a part and to decide at all, in rows.
BUDGET, PART = 0.01, 3_000
#: Parts between two drifts at least.
CALM = 4


@dataclass(frozen=True, slots=True)
class Observed:
    """Statistics that are worth a decision."""

    #: Events that have come until now.
    at: int
    orders: Orders
    windows: tuple[SampleWindow, ...]
    sizes: JoinSizes | None
    #: Rows that each input keeps.
    stored: tuple[int, ...]
    #: The counts of the latest part, if they contradict those before.
    drift: JoinProfile | None = None


class JoinProfiler:
    """Keeps statistics of one join."""

    def __init__(self, inputs: int, window: int = WINDOW) -> None:
        self._inputs, self._window = inputs, min(window, WINDOW)
        self.rows = 0
        #: How many events the next part is to sample.
        self.wanted = AT_ONCE
        self._events = np.zeros(inputs)
        self._drift = JoinDrift()
        self._begin()

    def _begin(self) -> None:
        self.windows = tuple(SampleWindow(self._window) for _ in range(self._inputs))
        self._new = 0
        self._at_once = PARTS_AT_ONCE
        self._calm = 0
        self._credit = 0.0
        self._price = 8.0

    def begin(self) -> None:
        """Forgets all samples, and takes others at once."""
        self._begin()
        self._drift.clear()
        self.wanted = AT_ONCE

    def changed_orders(self) -> None:
        """Is called when the paths are others, along which rates are others, too."""
        self._drift.clear()

    def observe(self, profile: JoinProfile) -> Observed | None:
        """Takes a profile, and returns the statistics if they may ask for another choice."""
        self.rows += int(profile.events.sum())
        self._events = 0.9 * self._events + profile.events
        self._calm += 1
        self._spend(profile)
        for window, samples in zip(self.windows, profile.samples, strict=False):
            window.add(samples)
            self._new += len(samples.estimates)
        if self._drift.drifted(profile.probes, profile.matches) and self._calm > CALM:
            return self._observed(profile, profile)
        if self._new < ENOUGH:
            return None
        self._new = 0
        return self._observed(profile)

    def sizes(self) -> JoinSizes | None:
        """Returns the sizes of sets; None as long as there are too few samples of an input that has events."""
        total = self._events.sum()
        known = [len(window) >= FEW for window in self.windows]
        if not total or not all(
            is_known or events < 0.01 * total for is_known, events in zip(known, self._events, strict=True)
        ):
            return None
        sizes = tuple(own.sizes() if is_known else {} for own, is_known in zip(self.windows, known, strict=True))
        shares = tuple((self._events / total).tolist())
        return JoinSizes(sizes, shares, sum(map(len, self.windows)))

    def _observed(self, profile: JoinProfile, drift: JoinProfile | None = None) -> Observed:
        return Observed(self.rows, profile.choice.orders, self.windows, self.sizes(), profile.stored, drift)

    def _spend(self, profile: JoinProfile) -> None:
        """Reckons what the budget allows for the next part."""
        if self._at_once and profile.samples:
            self._at_once -= 1
        elif not self._at_once:
            work = int(profile.events.sum() * 2 + profile.probes.sum() + profile.matches.sum())
            self._credit += BUDGET * work
            if profile.samples:
                self._credit -= PART + profile.examined
        if profile.samples:
            self._price = max(1.0, profile.examined / max(1, sum(len(own.estimates) for own in profile.samples)))
        if self._at_once:
            self.wanted = AT_ONCE
        else:
            # A part is sampled when there is credit for it, and then for as many events as that pays.
            paid = (self._credit - PART) / self._price
            self.wanted = min(2 * SAMPLED, int(paid)) if paid >= min(SAMPLED, MOST_SAVED / self._price) else 0


#: Credit that is saved up for a part whose samples are dear, in rows examined.
MOST_SAVED = 40_000
