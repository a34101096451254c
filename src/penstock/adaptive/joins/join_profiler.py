"""The Profiler of a join: keeps samples of its events, tests for drift, and says how many samples the next part gives.

Samples are paid out of a budget, a part of the work of the join itself, both counted in rows that are examined; so
nothing is timed. No path saves more than what is spent on combinations on the way, so the first samples, and those
after a drift, may cost the more the larger this part of the work is, and where it is small nothing is sampled at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.adaptive.joins.cheapest_path import EVENT, MATCH
from penstock.adaptive.joins.join_drift import Counts, JoinDrift
from penstock.adaptive.joins.join_statistics import JoinSizes, SampleWindow
from penstock.operators.joins.join_profile import JoinProfile
from penstock.plan.join_choice import Orders

#: Samples of one input that its window holds, and below which nothing is concluded.
WINDOW, FEW = 512, 12
#: New samples of all inputs that are worth a decision.
ENOUGH = 64
#: Samples of a part for each input at least and at most, and the parts that are sampled soon at first and after a
#: drift.
LEAST_SAMPLES, MOST_SAMPLES, SOON = 20, 40, 4
#: The part of the work of a join that its samples may take: as a rule; and where they are needed soon, of the square
#: of the part that is spent on the way.
BUDGET, BUDGET_SOON = 0.01, 1.0
#: What it takes to sample a part and to decide, and to examine a row for it, in probes; and how many parts' credit a
#: drift gives at once.
PART, EXAMINED, GRANTED = 8_000, 2, 4
#: The most credit that is saved up for a part, where samples are dear.
MOST_SAVED = 100_000
#: The part of the work of a join that paths have to be able to save.
WORTH = 0.05
#: Parts that are not examined at most, where paths cannot save much.
MOST_IDLE = 7
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
    #: The probes and matches of the latest part, if they contradict those before.
    drift: tuple[Counts, Counts] | None = None


class JoinProfiler:
    """Keeps statistics of one join."""

    def __init__(self, inputs: int, window: int = WINDOW, rows: int = 0) -> None:
        """`rows`: events that came before the join was built."""
        self._inputs, self._window = inputs, min(window, WINDOW)
        #: Events until the last profile, and those before the join was built.
        self.rows = self.rows_before = rows
        #: How many events the next part is to sample.
        self.wanted = 0
        self._drift = JoinDrift(inputs)
        self._price = 8.0 * inputs
        self._credit = self._soon_credit = 0.0
        self._idle = self._skipped = 0
        self._begin()

    def _begin(self) -> None:
        self.windows = tuple(SampleWindow(self._inputs, self._window) for _ in range(self._inputs))
        self._new = self._calm = 0
        self._soon = SOON

    def begin(self) -> None:
        """Forgets all samples, and takes others soon."""
        self._begin()
        self._drift.clear()
        self._credit = min(self._most_credit(), self._credit + GRANTED * self._soon_credit)
        self.wanted = self._affordable()

    def changed_orders(self) -> None:
        """Is called when the paths are others, along which rates are others, too."""
        self._drift.clear()

    def is_idle(self) -> bool:
        """Returns whether the latest part need not be examined, since paths have hardly mattered for some time."""
        self._skipped = self._skipped + 1 if self._skipped < self._idle else 0
        return self._skipped > 0

    def observe(self, profile: JoinProfile) -> Observed | None:
        """Takes a profile, and returns the statistics if they may ask for another choice."""
        drifted, counted, on_the_way = self._drift.take(profile.probes, profile.matches)
        self._calm += 1
        self._reckon(profile, counted, on_the_way)
        self.rows = self.rows_before + profile.total
        if drifted and self._calm > CALM:
            return self._observed(profile, self._drift.latest)
        self._add(profile)
        if self._new < ENOUGH:
            return None
        self._new = 0
        return self._observed(profile)

    def _add(self, profile: JoinProfile) -> None:
        if profile.samples:
            for window, samples in zip(self.windows, profile.samples, strict=True):
                window.add(samples)
                self._new += len(samples.estimates)

    def _observed(self, profile: JoinProfile, drift: tuple[Counts, Counts] | None = None) -> Observed:
        sizes = None if drift else self._sizes(profile)
        return Observed(self.rows, profile.choice.orders, self.windows, sizes, profile.stored, drift)

    def _sizes(self, profile: JoinProfile) -> JoinSizes | None:
        """Returns the sizes of sets, of those inputs of which there are enough samples; None if there are none."""
        shares = (profile.events / max(1, profile.total)).tolist()
        known = [len(window) >= FEW for window in self.windows]
        if not any(known):
            return None
        sizes = tuple(own.sizes() if is_known else None for own, is_known in zip(self.windows, known, strict=True))
        return JoinSizes(sizes, tuple(shares), sum(map(len, self.windows)))

    def _reckon(self, profile: JoinProfile, counted: int, on_the_way: int) -> None:
        """Reckons what samples have cost, and what the budget allows for the next part."""
        if profile.samples:
            spent = EXAMINED * profile.examined
            self._credit -= PART + spent
            self._price = max(1.0, spent / max(1, sum(len(own.estimates) for own in profile.samples)))
            self._soon = max(0, self._soon - 1)
        work = EVENT * (self.rows_before + profile.total - self.rows) + counted
        saves = (1 + MATCH) * on_the_way
        self._soon_credit = BUDGET_SOON * saves * saves / work if saves >= WORTH * work > 0 else 0.0
        self._idle = 0 if self._soon_credit else min(MOST_IDLE, 2 * self._idle + 1)
        self._credit = min(
            self._most_credit(), self._credit + max(BUDGET * work, self._soon_credit if self._soon else 0.0)
        )
        self.wanted = self._affordable() if self._soon_credit else 0

    def _affordable(self) -> int:
        """Returns how many samples there is credit for, if that is enough."""
        count = min(MOST_SAMPLES * self._inputs, int((self._credit - PART) / self._price))
        return count if count >= min(LEAST_SAMPLES * self._inputs, (MOST_SAVED - PART) // (2 * self._price)) else 0

    def _most_credit(self) -> float:
        """Returns what is saved up at most: enough for one part with many samples."""
        return min(MOST_SAVED, PART + MOST_SAMPLES * self._inputs * self._price)
