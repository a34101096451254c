"""The decisions of tuners, as users see them."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.adaptive.filters.filter_tuner import FilterTuner
from penstock.adaptive.joins.cheapest_path import sets_along
from penstock.adaptive.joins.join_tuner import AdaptiveJoinTuner
from penstock.plan.decisions import Decision, FilterDecision, JoinDecision


def reported(place: str, tuner: FilterTuner | AdaptiveJoinTuner) -> tuple[Decision, ...]:
    """Returns the decisions that are new since the last report, and the one in use."""
    every = decisions(place, tuner) if isinstance(tuner, FilterTuner) else join_decisions(place, tuner)
    found = tuple(each for each in every if each.number >= tuner.reported)
    tuner.reported = max(0, tuner.log.added - 1)
    return found


def decisions(place: str, tuner: FilterTuner) -> Iterable[FilterDecision]:
    """Yields the decisions that the log of a tuner holds."""
    tuner.log.used_until(tuner.profiler.rows)
    written = tuple(range(len(tuner.filters)))
    first = tuner.log.added - len(tuner.log)
    single = tuner.log.best_single(lambda order, known: known.window.cost(order, known.costs)) or written
    for number, decision in enumerate(tuner.log, first):
        window, costs, order = decision.statistics.window, decision.statistics.costs, decision.choice
        count = max(1, window.rows)
        yield FilterDecision(
            place,
            number,
            decision.at,
            decision.reason.value,
            tuple(tuner.filters[each] for each in order),
            tuple(round(window.drops(each, window.everything) / count, 4) for each in order),
            tuple(round(costs[each], 1) for each in order),
            window.rows,
            decision.rows,
            round(window.cost(order, costs), 1),
            round(window.cost(written, costs), 1),
            round(window.cost(single, costs), 1),
        )


def join_decisions(place: str, tuner: AdaptiveJoinTuner) -> Iterable[JoinDecision]:
    """Yields the decisions that the log of a join's tuner holds."""
    tuner.log.used_until(tuner.profiler.rows)
    first = tuner.log.added - len(tuner.log)
    single = tuner.log.best_single(lambda orders, known: known.cost(orders)) or tuner.written
    for number, decision in enumerate(tuner.log, first):
        known, orders = decision.statistics, decision.choice
        yield JoinDecision(
            place,
            number,
            decision.at,
            decision.reason.value,
            tuple((tuner.inputs[n], *(tuner.inputs[t] for t in order)) for n, order in enumerate(orders)),
            tuple(
                tuple(round(own.combinations[members], 3) for members in sets_along(order)[1:])
                if own is not None and own.knows(order)
                else ()
                for own, order in zip(known.sizes, orders, strict=True)
            ),
            known.samples,
            decision.rows,
            round(known.cost(orders), 2),
            round(known.cost(tuner.written), 2),
            round(known.cost(single), 2),
        )
