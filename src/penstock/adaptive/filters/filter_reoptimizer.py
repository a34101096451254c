"""The Re-optimizer of filters: asks the plan log where something drifted, and else a strategy, and writes the log.

A choice that returns shortly after it was left has to be better by more than one that is new, so that no two orders
take turns (7.1); and of two orders that cost about the same the one is kept whose cost varies less from row to row
(7.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.adaptive.filters.drift import agree
from penstock.adaptive.filters.filter_profiler import FilterProfiler, Observed
from penstock.adaptive.filters.statistics import CLOSE, SETTLED, FilterChoice, FilterStatistics, OrderingStrategy
from penstock.adaptive.plan_log import Decision, PlanLog, Reason
from penstock.operators.filters.filter_chain import AT_ONCE
from penstock.operators.filters.profile import FilterOrder, Ghosts, ProfileRequest

#: The part of the rows, and of the budget, that is profiled when an order is settled; the drift test needs no profile.
SELDOM = 0.25
#: Rows after which a recalled order has proved itself.
PROVED = 1 << 14

FilterLog = PlanLog[FilterStatistics, FilterOrder]


class FilterReoptimizer:
    """Chooses orders by a strategy, and logs them."""

    def __init__(self, strategy: OrderingStrategy, profiler: FilterProfiler, log: FilterLog, alpha: float) -> None:
        self._strategy, self._profiler, self.log, self._alpha = strategy, profiler, log, alpha
        self._is_seldom = False

    def choose(self, observed: Observed) -> FilterChoice | None:
        """Returns what is to be used from now on; None leaves it as it is."""
        statistics = observed.statistics
        if observed.drift is not None:
            self._is_seldom = False
            return self._recalled(observed, *observed.drift) or self._profiled_anew(observed)
        choice = self._strategy.choose(statistics)
        if choice is None or (choice.order != statistics.order and not self._is_accepted(choice.order, statistics)):
            return self._less_often(statistics)
        if choice.order != statistics.order:
            self._log(observed.at, Reason.VIOLATION if len(self.log) else Reason.START, choice.order, statistics)
            self._profiler.begin(None if choice.forgets else statistics.window)
        elif choice.forgets:
            self._profiler.begin()
        return replace(choice, wanted=self._rarely(choice.wanted)) if self._is_seldom else choice

    def _profiled_anew(self, observed: Observed) -> FilterChoice:
        """Forgets the window, and profiles the next rows at once."""
        statistics = observed.statistics
        self._profiler.begin()
        self._strategy.drifted()
        wanted = self._strategy.wanted(statistics.order)
        at_once = replace(wanted, at_once=AT_ONCE)
        self._log(observed.at, Reason.DRIFT, statistics.order, self._known(statistics))
        return FilterChoice(statistics.order, at_once)

    def _recalled(self, observed: Observed, entered: Sequence[int], passed: Sequence[int]) -> FilterChoice | None:
        """Returns the order of late statistics under which just these rows pass the current one (7.1)."""
        latest, order = self.log.latest, observed.statistics.order
        if latest is not None and latest.reason is Reason.RECALLED and observed.at - latest.at < PROVED:
            return None

        def is_like(late: FilterStatistics) -> bool:
            window = late.window
            return window.rows >= AT_ONCE and agree(entered, passed, window.entered(order))

        if self._strategy.wanted(order).ghosts is not Ghosts.ALL:
            return None
        found = self.log.recalled(is_like)
        if found is None:
            return None
        self._profiler.begin(found.statistics.window)
        self._strategy.drifted()
        self._log(observed.at, Reason.RECALLED, found.choice, self._known(observed.statistics))
        return FilterChoice(found.choice, self._strategy.wanted(found.choice))

    def _is_accepted(self, order: FilterOrder, statistics: FilterStatistics) -> bool:
        if self._strategy.wanted(order).ghosts is not Ghosts.ALL:
            return True
        window, costs = statistics.window, statistics.costs
        new, old = window.cost(order, costs), window.cost(statistics.order, costs)
        if new > old * self._alpha ** self.log.returns(order):
            return False
        return new < (1 - CLOSE) * old or window.variance(order, costs) <= window.variance(statistics.order, costs)

    def _less_often(self, statistics: FilterStatistics) -> FilterChoice | None:
        """Returns a wish for fewer profile tuples, once there are enough to settle an order."""
        wanted = self._strategy.wanted(statistics.order)
        if self._is_seldom or statistics.window.rows < SETTLED or wanted.ghosts is not Ghosts.ALL:
            return None
        self._is_seldom = True
        return FilterChoice(statistics.order, self._rarely(wanted))

    def _rarely(self, wanted: ProfileRequest) -> ProfileRequest:
        return replace(wanted, share=wanted.share * SELDOM) if wanted.ghosts is Ghosts.ALL else wanted

    def _known(self, statistics: FilterStatistics) -> FilterStatistics:
        """Returns what is known from now on: the window that has just begun, which fills as rows come."""
        return FilterStatistics(statistics.order, self._profiler.window, statistics.costs)

    def _log(self, at: int, reason: Reason, order: FilterOrder, statistics: FilterStatistics) -> None:
        self.log.add(Decision(at, reason, order, FilterStatistics(order, statistics.window, statistics.costs)))
