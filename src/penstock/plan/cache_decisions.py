"""Decisions about the caches of a join, as users see them: what was chosen or declined, and on which estimates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


def cache_decisions_text(lines: Iterable[Mapping[str, Any]]) -> str:
    """The decisions on caches that lines of metrics report, as a person reads them; nothing if there are none."""
    found = [decision for line in lines for decision in line.get("cache_decisions", ())]
    shown: list[str] = []
    place = None
    for decision in sorted(found, key=lambda each: (each["place"], each["number"])):
        if decision["place"] != place:
            place = decision["place"]
            shown.append(f"caches of {place}")
        used = ", ".join(map(cache_text, decision["used"])) or "none"
        shown.append(f"  after {decision['at']:,} rows, {decision['verdict']}: {used}")
        shown += [
            f"    {cache_text(each)}  misses {each['miss']:.1%}, saves {each['saves']:.1%} of probing, "
            f"costs {each['costs']:.1%}"
            for each in decision["estimates"]
        ]
    return "\n".join(shown)


def cache_text(cache: Mapping[str, Any]) -> str:
    """What a cache holds, as a person reads it."""
    joined = f" where {' and '.join(cache['semijoined'])} match" if "semijoined" in cache else ""
    return f"{' with '.join(cache['caches'])} for rows of {cache['path']}{joined}"


def cache_json(cache: Cache, inputs: Sequence[str]) -> dict[str, Any]:
    """A cache with the names of the join's inputs."""
    found: dict[str, Any] = {"path": inputs[cache.pipeline], "caches": [inputs[member] for member in cache.members]}
    if cache.semijoined:
        found["semijoined"] = [inputs[number] for number in cache.semijoined]
    return found
