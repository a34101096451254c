"""The tuner of a filter chain: StreaMon's loop over its Profiler and its Re-optimizer.

`FilterTuner.decide` is all of it as a function from profiles to choices, for whatever else has filters to order.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.adaptive.filters.a_greedy import AGreedy
from penstock.adaptive.filters.automatic import Automatic
from penstock.adaptive.filters.filter_profiler import FilterProfiler
from penstock.adaptive.filters.filter_reoptimizer import FilterLog, FilterReoptimizer
from penstock.adaptive.filters.independent import Independent
from penstock.adaptive.filters.local_swaps import LocalSwaps
from penstock.adaptive.filters.statistics import FilterChoice, OrderingStrategy
from penstock.adaptive.filters.sweep import STAGE, Sweep
from penstock.adaptive.plan_log import PlanLog
from penstock.adaptive.streamon import StreaMon
from penstock.operators.filters.filter_chain import AT_ONCE
from penstock.operators.filters.profile import FilterOrder, FilterProfile, OrderedFilters, ProfileRequest
from penstock.plan.adaptivity import FULL, Adaptive, Strategy


class FilterTuner:
    """Orders the filters of one chain; `filters` are their texts, in the order in which they are written."""

    def __init__(self, filters: Sequence[str], settings: Adaptive = FULL) -> None:
        self.filters = tuple(filters)
        strategy = strategy_of(settings)
        self.order: FilterOrder = tuple(range(len(self.filters)))
        self.wanted = strategy.wanted(self.order)
        self.log: FilterLog = PlanLog(settings.plan_log)
        #: Decisions that have been reported; the latest is reported again as long as it is used.
        self.reported = 0
        self.profiler = FilterProfiler(len(self.filters), window_of(settings))
        reoptimizer = FilterReoptimizer(strategy, self.profiler, self.log, settings.thrash_avoidance)
        self._streamon = StreaMon(self.profiler, reoptimizer)

    def adopt(self, chain: OrderedFilters) -> None:
        """Gives a new chain the order that was best so far. If there is none, it keeps its own until the first rows,
        which are profiled at once, say otherwise.
        """
        at_once = 0 if self.profiler.window.rows else AT_ONCE
        self.order = self.order if self.profiler.window.rows else chain.order
        chain.use(self.order, ProfileRequest(at_once, self.wanted.share, self.wanted.ghosts, self.wanted.position))

    def between(self, chain: OrderedFilters) -> None:
        """Goes round StreaMon's loop once, between two chunks, if there is something to decide on."""
        if not self.profiler.is_suspicious and not chain.has_news():
            return
        choice = self.decide(chain.profile())
        if choice is not None:
            chain.use(choice.order, choice.wanted)

    def decide(self, profile: FilterProfile) -> FilterChoice | None:
        """Returns what is to be used from now on; None leaves it as it is."""
        choice = self._streamon.decide(profile)
        if choice is not None:
            self.order, self.wanted = choice.order, choice.wanted
        return choice


def strategy_of(settings: Adaptive) -> OrderingStrategy:
    """Returns the strategy that settings name."""
    alpha, confidence = settings.thrash_avoidance, settings.confidence
    match Strategy(settings.strategy):
        case Strategy.A_GREEDY:
            return AGreedy(alpha, confidence)
        case Strategy.SWEEP:
            return Sweep(alpha, confidence)
        case Strategy.INDEPENDENT:
            return Independent(alpha)
        case Strategy.LOCAL_SWAPS:
            return LocalSwaps(alpha, confidence)
    return Automatic(settings.drop_profiling_probability, settings.profiling_budget, alpha, confidence)


def window_of(settings: Adaptive) -> int:
    """Returns the size of the profile window; a stage of Sweep has one of its own (table 4.1)."""
    return min(STAGE, settings.profile_window) if settings.strategy == Strategy.SWEEP.value else settings.profile_window
