"""What the tuner of a join has decided as a value of JSON, for the state of a cell. Its samples are not part of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.adaptive.joins.cheapest_path import Sizes
from penstock.adaptive.joins.join_statistics import JoinSizes
from penstock.adaptive.joins.join_tuner import AdaptiveJoinTuner
from penstock.adaptive.plan_log import Decision, Reason
from penstock.plan.adaptivity import Adaptive

#: Decisions that are remembered with their statistics; each takes some kilobytes.
REMEMBERED = 8


def saved_join(tuner: AdaptiveJoinTuner) -> dict[str, Any]:
    """Returns what a tuner has decided."""
    tuner.log.used_until(tuner.profiler.rows)
    return {
        "inputs": list(tuner.inputs),
        "rows": tuner.profiler.rows,
        "added": tuner.log.added,
        "log": [
            {
                "at": decision.at,
                "reason": decision.reason.value,
                "orders": decision.choice,
                "rows": decision.rows,
                "samples": decision.statistics.samples,
                "shares": decision.statistics.shares,
                "sizes": [_sizes(own) for own in decision.statistics.sizes],
            }
            for decision in list(tuner.log)[-REMEMBERED:]
        ],
    }


def restored_join(settings: Adaptive, known: Mapping[str, Any]) -> AdaptiveJoinTuner:
    """Returns a tuner that knows what another one of the same join has decided."""
    tuner = AdaptiveJoinTuner(tuple(known["inputs"]), settings)
    for each in known["log"]:
        sizes = JoinSizes(tuple(map(_read_sizes, each["sizes"])), tuple(each["shares"]), each["samples"])
        orders = tuple(map(tuple, each["orders"]))
        tuner.log.add(Decision(each["at"], Reason(each["reason"]), orders, sizes, each["rows"]))
    tuner.log.added = known["added"]
    tuner.profiler.rows = known["rows"]
    return tuner


def _sizes(own: Sizes | None) -> Any:
    return None if own is None else [list(own.combinations), list(own.combinations.values()), own.walks]


def _read_sizes(given: Any) -> Sizes | None:
    return None if given is None else Sizes(dict(zip(*given[:2], strict=True)), tuple(given[2]))
