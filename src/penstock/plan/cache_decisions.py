"""Decisions about the caches of a join, as users see them: what was chosen or declined, and on which estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.plan.caches import Cache


class Verdict(Enum):
    """What became of the caches that were considered."""

    TRIED = "tried"
    USED = "used"
    NOT_WORTH_IT = "not worth it"
    NOT_FASTER = "not faster"
    HURTS = "costs more than it saves"


@dataclass(frozen=True, slots=True)
class CacheDecision:
    """Which caches a join uses from now on, and what was estimated of those that were considered."""

    #: The operator, and its fragment and cell.
    place: str
    #: Its number at that place, and how many rows had probed before.
    number: int
    at: int
    verdict: str
    used: tuple[Cache, ...]
    #: Of each cache how often it missed or would have, and what it saves and costs, as parts of all probing.
    estimates: tuple[tuple[Cache, float, float, float], ...]

    def as_json(self, inputs: Sequence[str]) -> dict[str, Any]:
        """The decision with the names of the join's inputs."""
        return {
            "place": self.place,
            "number": self.number,
            "at": self.at,
            "verdict": self.verdict,
            "used": [cache_json(cache, inputs) for cache in self.used],
            "estimates": [
                {
                    **cache_json(cache, inputs),
                    "miss": round(miss, 4),
                    "saves": round(saves, 4),
                    "costs": round(costs, 4),
                }
                for cache, miss, saves, costs in self.estimates
            ],
        }


def cache_json(cache: Cache, inputs: Sequence[str]) -> dict[str, Any]:
    """A cache with the names of the join's inputs."""
    found: dict[str, Any] = {"path": inputs[cache.pipeline], "caches": [inputs[member] for member in cache.members]}
    if cache.semijoined:
        found["semijoined"] = [inputs[number] for number in cache.semijoined]
    return found
