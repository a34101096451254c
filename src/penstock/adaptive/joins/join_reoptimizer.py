"""The Re-optimizer of a join: for each input the cheapest path by its samples, if it is better over their intervals.

A path that needs an index which is not there has to pay for it: for the rows that are put into it at once, and for
each row that comes. After a drift the plan log is asked first: if rates are those of an earlier period, so is the
choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.adaptive.joins.cheapest_path import (
    BUILT,
    KEPT,
    Order,
    Sizes,
    cheapest_order,
    greedy_order,
    moved_forward,
    path_cost,
    probed_by,
)
from penstock.adaptive.joins.join_drift import ALIKE, distance
from penstock.adaptive.joins.join_profiler import JoinProfiler, Observed
from penstock.adaptive.joins.join_statistics import JoinSizes
from penstock.adaptive.plan_log import Decision, PlanLog, Reason
from penstock.plan.adaptivity import Adaptive, Strategy
from penstock.plan.join_choice import Orders
from penstock.plan.join_sets import MOST_INPUTS

#: Paths whose costs differ by less are close.
CLOSE = 0.03
#: Orders that were used before are preferred to those that cost less by this part on the first samples after a drift.
PREFERRED = 0.1
#: A path has to be better by so many standard errors, times the confidence that is set: the numbers of combinations
#: vary far more than whether a filter drops a row.
ERRORS = 4.0
#: Events by which an index that is built has to have paid for itself.
PROVED = 1 << 17

JoinLog = PlanLog[JoinSizes, Orders]
#: Finds a path of an input's rows by the sizes of sets, given the current one.
Search = Callable[[int, tuple[frozenset[int], ...], Sizes, Order], Order]


class JoinReoptimizer:
    """Chooses the orders of a join whose inputs have these variables, and logs them."""

    def __init__(self, own: Sequence[frozenset[int]], profiler: JoinProfiler, log: JoinLog, settings: Adaptive) -> None:
        self._own, self._profiler, self.log = tuple(own), profiler, log
        self._alpha, self._errors = settings.thrash_avoidance, ERRORS * settings.confidence
        self._search = search_of(settings, len(own))
        self._has_drifted = False

    def choose(self, observed: Observed) -> Orders | None:
        """Returns the orders that are to be used from now on; None leaves them as they are."""
        if observed.drift is not None:
            return self._drifted(observed)
        if observed.sizes is None:
            return None
        proposed = self._proposed(observed, observed.sizes)
        orders = self._affordable(observed, observed.sizes, proposed)
        if self._has_drifted:
            orders = self._proved(orders, observed.sizes)
        if orders == observed.orders and not self._has_drifted:
            return None
        reason = Reason.DRIFT if self._has_drifted else Reason.VIOLATION if len(self.log) else Reason.START
        self._has_drifted = False
        self._log(observed.at, reason, orders, observed.sizes)
        return self._changed(observed.orders, orders)

    def _drifted(self, observed: Observed) -> Orders | None:
        """Recalls the orders that were best for rates like these, or measures anew."""
        assert observed.drift is not None
        probes, matches = observed.drift
        self._profiler.begin()
        # What is logged after a drift was measured after it, so that it counts here like every decision.
        far = [(distance(probes, matches, each.statistics.rates(observed.orders)), each) for each in self.log]
        found = min((each for each in far if each[0] < ALIKE), key=lambda each: each[0], default=(0.0, None))[1]
        self._has_drifted = found is None or found.choice == observed.orders
        if found is None or self._has_drifted:
            return None
        self._log(observed.at, Reason.RECALLED, found.choice, found.statistics)
        return self._changed(observed.orders, found.choice)

    def _proved(self, orders: Orders, known: JoinSizes) -> Orders:
        """The logged orders that cost about as little: they rest on more samples than were taken since the drift."""
        logged = min((each.choice for each in self.log), key=known.cost, default=orders)
        return logged if known.cost(logged) <= (1 + PREFERRED) * known.cost(orders) else orders

    def _changed(self, before: Orders, orders: Orders) -> Orders | None:
        if orders == before:
            return None
        self._profiler.changed_orders()
        return orders

    def _proposed(self, observed: Observed, known: JoinSizes) -> list[tuple[Order, float]]:
        """By input the best path, and what it saves of an event of the join; as it is where nothing is gained."""
        proposed = []
        for start, (order, sizes) in enumerate(zip(observed.orders, known.sizes, strict=True)):
            new = order if sizes is None else self._search(start, self._own, sizes, order)
            saved = 0.0
            if sizes is not None and new != order:
                saved = self._saved(start, observed, sizes, new)
            proposed.append((new, known.shares[start] * saved) if saved > 0 else (order, 0.0))
        return proposed

    def _saved(self, start: int, observed: Observed, sizes: Sizes, new: Order) -> float:
        """What another path saves of an event; 0 if that is too little, or not sure."""
        order, window = observed.orders[start], observed.windows[start]
        if not sizes.knows(order) or not sizes.knows(new):
            return CLOSE  # of a join of many inputs only the next step is known, and it is better
        saved, error = window.saved(order, new, sizes)
        damped = self._alpha ** self.log.returns((*observed.orders[:start], new, *observed.orders[start + 1 :]))
        return saved if saved * damped > max(CLOSE * path_cost(order, sizes), self._errors * error) else 0.0

    def _affordable(self, observed: Observed, known: JoinSizes, proposed: list[tuple[Order, float]]) -> Orders:
        """The proposed orders, if they save more than the indexes cost that they need; else those that need none."""
        orders = tuple(order for order, _ in proposed)
        more = self._indexes(orders) - self._indexes(observed.orders)
        paid = sum(KEPT * known.shares[target] + BUILT * observed.stored[target] / PROVED for target, _ in more)
        fewer = self._indexes(observed.orders) - self._indexes(orders)
        paid -= sum(KEPT * known.shares[target] for target, _ in fewer)
        if sum(saved for _, saved in proposed) <= paid:
            there = self._indexes(observed.orders)
            orders = tuple(
                new if probed_by(start, self._own, new) <= there else order
                for start, (order, (new, _)) in enumerate(zip(observed.orders, proposed, strict=True))
            )
        return orders

    def _indexes(self, orders: Orders) -> frozenset[tuple[int, frozenset[int]]]:
        parts = (probed_by(start, self._own, order) for start, order in enumerate(orders))
        return frozenset[tuple[int, frozenset[int]]]().union(*parts)

    def _log(self, at: int, reason: Reason, orders: Orders, sizes: JoinSizes) -> None:
        self.log.add(Decision(at, reason, orders, sizes))


def search_of(settings: Adaptive, inputs: int) -> Search:
    """Returns how paths are searched for: the cheapest by default, else the greedy one; of many inputs step by step."""
    if inputs > MOST_INPUTS:
        return moved_forward
    if settings.strategy == Strategy.AUTO.value:
        return lambda start, own, sizes, order: cheapest_order(start, own, sizes)
    return lambda start, own, sizes, order: greedy_order(start, own, sizes)
