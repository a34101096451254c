"""What a cache costs and what it saves (thesis 5.5.1), in units of one probe that finds one row.

    without    Σ d_l c_l                                        over the stages of the segment
    with       d_j probe + miss (Σ d_l c_l + d_k+1 update)      each lookup, and a segment and an update for each miss
    benefit    without - with
    cost       update Σ d of the members' insertions            over all members i_l, at stage k - j + 1 of each

(The thesis sums the cost over l from j to k; the pipelines are those of the members i_l.) Here a hit costs what two
probes cost, an update what one does; and an insertion does not update a line but drops it, so that a hit passes over
tuples that went.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.plan.caches import Cache
from penstock.plan.probe_paths import ProbeCounts

#: What a probe costs that finds nothing, and each row that it finds; a lookup, each tuple that it gives, and an update.
PROBE, MATCH = 0.6, 0.4
LOOKUP, TUPLE, UPDATE = 1.2, 0.4, 0.8


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a cache saves in its pipeline, and what it costs to keep its store: in probes, over the same time."""

    benefit: float
    cost: float
    #: The time of using the cache in its pipeline, without its cost (`proc` of 5.5.4).
    processing: float = 0.0
    miss: float = 1.0

    @property
    def net(self) -> float:
        return self.benefit - self.cost

    def differs_from(self, other: Estimate, by: float) -> bool:
        """Whether benefit or cost has changed by more than a part of what it was."""
        pairs = ((self.benefit, other.benefit), (self.cost, other.cost))
        return any(abs(now - before) > by * abs(before) for now, before in pairs)


def stage_cost(counts: ProbeCounts, pipeline: int, depth: int) -> float:
    """d c of a stage: the time of its probes, and of the rows that they find."""
    return PROBE * counts.probes[pipeline][depth] + MATCH * counts.matches[pipeline][depth]


def segment_cost(counts: ProbeCounts, cache: Cache) -> float:
    """Σ d_l c_l over the stages of a segment."""
    return sum(stage_cost(counts, cache.pipeline, depth) for depth in cache.stages)


def whole_cost(counts: ProbeCounts) -> float:
    """The time of all probes along all paths."""
    inputs = range(len(counts.probes))
    return sum(stage_cost(counts, i, d) for i in inputs for d in range(len(counts.probes[i])))


def estimate(counts: ProbeCounts, cache: Cache, miss: float) -> Estimate:
    """Benefit and cost of a cache over a time in which no cache was used in its pipeline, and so much was counted."""
    lookups = counts.probes[cache.pipeline][cache.first]
    tuples = counts.matches[cache.pipeline][cache.last]
    without = segment_cost(counts, cache)
    looked_up = LOOKUP * lookups + TUPLE * (1 - miss) * tuples
    processing = looked_up + miss * (without + UPDATE * lookups + TUPLE * tuples)
    return Estimate(without - processing, drop_cost(counts, cache), processing, miss)


def drop_cost(counts: ProbeCounts, cache: Cache) -> float:
    """What it costs to drop lines: insertions into members that find combinations of all members."""
    last = len(cache.members) - 2
    return UPDATE * sum(counts.matches[member][last] for member in cache.members)


def scaled(counts: ProbeCounts, misses: Mapping[Cache, float]) -> ProbeCounts:
    """What would have been counted without caches, if those in use missed so often.

    Stages of a segment are reached on misses only; what comes out of it is counted on hits, too.
    """
    probes, matches = ([list(line) for line in lines] for lines in (counts.probes, counts.matches))
    for cache, miss in misses.items():
        least = max(miss, 0.01)
        for depth in cache.stages:
            probes[cache.pipeline][depth] = round(probes[cache.pipeline][depth] / least)
            if depth < cache.last:
                matches[cache.pipeline][depth] = round(matches[cache.pipeline][depth] / least)
    return ProbeCounts(_lines(probes), _lines(matches))


def _lines(lines: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(line) for line in lines)
