"""What a tuner has learnt as a value of JSON, for the state of a cell and for other workers of a host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.adaptive.filters.filter_tuner import FilterTuner
from penstock.adaptive.filters.profile_window import ProfileWindow
from penstock.adaptive.filters.statistics import FilterStatistics
from penstock.adaptive.plan_log import Decision, Reason
from penstock.plan.adaptivity import Adaptive

#: Decisions that are remembered with their windows; each takes some kilobytes.
REMEMBERED = 16


def saved(tuner: FilterTuner) -> dict[str, Any]:
    """Returns what a tuner knows: its order, the profile window, costs and the latest decisions."""
    tuner.log.used_until(tuner.profiler.rows)
    return {
        "filters": list(tuner.filters),
        "order": list(tuner.order),
        "rows": tuner.profiler.rows,
        "costs": list(tuner.profiler.costs),
        "window": _window(tuner.profiler.window),
        "added": tuner.log.added,
        "log": [
            {
                "at": decision.at,
                "reason": decision.reason.value,
                "order": list(decision.choice),
                "rows": decision.rows,
                "costs": list(decision.statistics.costs),
                "window": _window(decision.statistics.window),
            }
            for decision in list(tuner.log)[-REMEMBERED:]
        ],
    }


def restored(filters: Sequence[str], settings: Adaptive, known: Mapping[str, Any]) -> FilterTuner:
    """Returns a tuner that knows what another one knew of the same filters."""
    tuner = FilterTuner(filters, settings)
    tuner.order = tuple(known["order"])
    profiler = tuner.profiler
    profiler.rows, profiler.costs = known["rows"], tuple(known["costs"])
    profiler.begin(_read_window(known["window"], profiler.window))
    for each in known["log"]:
        order = tuple(each["order"])
        statistics = FilterStatistics(order, _read_window(each["window"], profiler.window), tuple(each["costs"]))
        tuner.log.add(Decision(each["at"], Reason(each["reason"]), order, statistics, each["rows"]))
    tuner.log.added = known["added"]
    return tuner


def _window(window: ProfileWindow) -> dict[str, Any]:
    return {"rows": window.rows, "planes": [f"{plane:x}" for plane in window.planes]}


def _read_window(given: Mapping[str, Any], like: ProfileWindow) -> ProfileWindow:
    """Returns a window of the capacity of another one."""
    window = ProfileWindow(len(given["planes"]), like.capacity)
    window.rows = min(window.capacity, given["rows"])
    window.planes = [int(plane, 16) & window.everything for plane in given["planes"]]
    return window
