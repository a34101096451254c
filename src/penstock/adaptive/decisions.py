"""The decisions of tuners, as users see them."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.adaptive.filters.filter_tuner import FilterTuner
from penstock.plan.decisions import FilterDecision


def reported(place: str, tuner: FilterTuner) -> tuple[FilterDecision, ...]:
    """Returns the decisions that are new since the last report, and the one in use."""
    found = tuple(each for each in decisions(place, tuner) if each.number >= tuner.reported)
    tuner.reported = max(0, tuner.log.added - 1)
    return found


def decisions(place: str, tuner: FilterTuner) -> Iterable[FilterDecision]:
    """Yields the decisions that the log of a tuner holds."""
    tuner.log.used_until(tuner.profiler.rows)
    written = tuple(range(len(tuner.filters)))
    first = tuner.log.added - len(tuner.log)
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
        )
