"""What a cache costs and what it saves (thesis 5.5.1), in nanoseconds as they were measured.

    without    Σ d_l c_l                                        over the stages of the segment
    with       d_j probe + miss (Σ d_l c_l + d_k+1 update)      each lookup, and a segment and an update for each miss
    benefit    without - with
    cost       update Σ d of the members' insertions            over all members i_l, at stage k - j + 1 of each

(The thesis sums the cost over l from j to k; the pipelines are those of the members i_l.) Only ratios matter. A vain
row of a segment costs little, since its bucket says at once that it has no match; a lookup costs as much as six of
them, for it waits for a line and for the rows that the line lists. An insertion does not update a line but drops it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.plan.caches import Cache
from penstock.plan.probe_paths import ProbeCounts

#: What the first stage of a pipeline or segment costs, for it waits for memory; each probe, and each row that it finds.
FIRST, PROBE, MATCH = 50.0, 12.0, 10.0
#: What a lookup costs, each tuple that it gives, a line that is filled, and one that is dropped.
LOOKUP, TUPLE, FILL, DROP = 150.0, 25.0, 60.0, 120.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a cache saves in its pipeline, and what it costs to keep its store: in nanoseconds, over the same time."""

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
    probes = sum(stage_cost(counts, cache.pipeline, depth) for depth in cache.stages)
    return FIRST * counts.probes[cache.pipeline][cache.first] + probes


def whole_cost(counts: ProbeCounts) -> float:
    """The time of all probes along all paths."""
    inputs = range(len(counts.probes))
    probes = sum(stage_cost(counts, i, d) for i in inputs for d in range(len(counts.probes[i])))
    return 2 * FIRST * sum(line[0] for line in counts.probes) + probes


def estimate(counts: ProbeCounts, cache: Cache, miss: float) -> Estimate:
    """Benefit and cost of a cache over a time in which no cache was used in its pipeline, and so much was counted."""
    lookups = counts.probes[cache.pipeline][cache.first]
    tuples = counts.matches[cache.pipeline][cache.last]
    without = segment_cost(counts, cache)
    processing = LOOKUP * lookups + TUPLE * tuples + miss * (without + FILL * lookups)
    return Estimate(without - processing, drop_cost(counts, cache), processing, miss)


def drop_cost(counts: ProbeCounts, cache: Cache) -> float:
    """What it costs to drop lines: insertions into inputs that find combinations of all members."""
    watched = cache.store.watched
    return DROP * sum(counts.matches[number][len(watched) - 2] for number in watched)


def scaled(counts: ProbeCounts, misses: Mapping[Cache, float]) -> ProbeCounts:
    """What would have been counted without caches, if those in use missed so often.

    The stages of a segment are reached on misses only.
    """
    probes, matches = ([list(line) for line in lines] for lines in (counts.probes, counts.matches))
    for cache, miss in misses.items():
        least = max(miss, 0.01)
        for depth in cache.stages:
            for lines in (probes, matches):
                lines[cache.pipeline][depth] = round(lines[cache.pipeline][depth] / least)
    return ProbeCounts(_lines(probes), _lines(matches))


def _lines(lines: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(line) for line in lines)
