"""The tuner of caches watches, profiles, tries and uses, and declines where nothing is gained. No clock is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import numpy as np

from penstock.adaptive.caches import cache_tuner
from penstock.adaptive.caches.cache_tuner import CacheTuner, Phase
from penstock.operators.joins.mjoin import JoinCore
from penstock.plan.adaptivity import Adaptive
from penstock.plan.cache_decisions import Verdict
from penstock.plan.caches import NO_CACHES, Cache, CacheChoice, CacheCounts, candidates
from penstock.plan.probe_paths import ProbeCounts

CHAIN = ((1, 2), (2, 0), (1, 0))
VARIABLES = [(0, None), (0, 1), (None, 0)]
(CACHE,) = candidates(CHAIN, VARIABLES)


@dataclass
class FakeJoin:
    """A chain of three in which a part has 2,000 rows of input 0, each of which finds so many vain rows.

    `miss` is how often a cache misses, and `faster` the part of its time that a part takes with it.
    """

    vain: int
    miss: float = 0.1
    faster: float = 0.5
    choice: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(orders=CHAIN))
    caches: CacheChoice = NO_CACHES
    probing_time: int = 0
    rows: int = 1 << 12
    _counts: ProbeCounts = field(default_factory=lambda: ProbeCounts(((0, 0),) * 3, ((0, 0),) * 3))
    _lookups: int = 0
    _hits: int = 0

    @property
    def inputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(store=SimpleNamespace(rows=np.zeros(self.rows, np.int64)))]

    @property
    def caching(self) -> SimpleNamespace:
        return SimpleNamespace(
            choice=self.caches,
            use=self._use,
            counts=self._cache_counts,
            candidates=lambda: candidates(self.choice.orders, VARIABLES),
        )

    def _use(self, choice: CacheChoice) -> None:
        self.caches, self._lookups, self._hits = choice, 0, 0

    def probe_counts(self) -> ProbeCounts:
        return self._counts

    def _cache_counts(self) -> dict[Cache, CacheCounts]:
        some = (*self.caches.used, *self.caches.profiled)
        return {cache: CacheCounts(self._lookups, self._hits) for cache in some}

    def part(self) -> None:
        is_cached = bool(self.caches.used)
        probing = round(2000 * self.miss) if is_cached else 2000
        own = ((probing, probing * self.vain), (20, 20), (20, 20)), ((probing * self.vain, probing), (20, 20), (20, 20))
        sums = [
            tuple(tuple(a + b for a, b in zip(*line, strict=True)) for line in zip(old, new, strict=True))
            for old, new in zip((self._counts.probes, self._counts.matches), own, strict=True)
        ]
        self._counts = ProbeCounts(sums[0], sums[1])
        self._lookups += 2000
        self._hits += round(2000 * (1 - self.miss))
        self.probing_time += round(1_000_000 * (self.faster if is_cached else 1.0))


def parts(tuner: CacheTuner, join: FakeJoin, count: int) -> list[Phase]:
    phases = []
    for _ in range(count):
        join.part()
        tuner.between(cast(JoinCore, join))
        phases.append(tuner._phase)
    return phases


def begun(join: FakeJoin, settings: Adaptive | None = None) -> CacheTuner:
    tuner = CacheTuner(settings or Adaptive(), "join", ("a", "b", "c"))
    tuner.adopt(cast(JoinCore, join))
    return tuner


def verdicts(tuner: CacheTuner) -> list[str]:
    return [decision.verdict for decision in tuner.decisions]


def test_a_cache_that_pays_is_profiled_tried_compared_and_used() -> None:
    join = FakeJoin(vain=32)
    phases = parts(begun(join), join, 40)
    assert list(dict.fromkeys(phases)) == list(Phase)
    assert join.caching.choice.used == (CACHE,)


def test_what_cannot_pay_even_without_misses_is_not_profiled() -> None:
    join = FakeJoin(vain=1)
    tuner = begun(join)
    assert set(parts(tuner, join, 200)) == {Phase.WATCH}
    assert not tuner.decisions


def test_what_misses_too_often_is_declined_and_considered_ever_more_rarely() -> None:
    join = FakeJoin(vain=32, miss=0.98)
    tuner = begun(join)
    phases = parts(tuner, join, 400)
    assert set(verdicts(tuner)) == {Verdict.NOT_WORTH_IT.value}
    assert phases.count(Phase.PROFILE) < 40


def test_what_is_not_faster_by_the_clock_is_declined() -> None:
    join = FakeJoin(vain=32, faster=1.2)
    tuner = begun(join)
    parts(tuner, join, 30)
    assert verdicts(tuner) == [Verdict.TRIED.value, Verdict.NOT_FASTER.value]
    assert join.caching.choice == NO_CACHES


def test_what_hurts_is_left_at_once() -> None:
    join = FakeJoin(vain=32)
    tuner = begun(join)
    parts(tuner, join, 40)
    join.miss = 1.0
    parts(tuner, join, 1)
    assert join.caching.choice == NO_CACHES
    assert verdicts(tuner)[-1] == Verdict.HURTS.value


def test_other_orders_begin_anew() -> None:
    join = FakeJoin(vain=32)
    tuner = begun(join)
    parts(tuner, join, 40)
    join.choice = SimpleNamespace(orders=((1, 2), (0, 2), (1, 0)))
    parts(tuner, join, 1)
    assert join.caching.choice == NO_CACHES
    assert tuner._phase is Phase.WATCH


def test_caches_shrink_with_the_rows_of_their_join() -> None:
    join = FakeJoin(vain=32, rows=1 << 20)
    tuner = begun(join)
    parts(tuner, join, 40)
    before = join.caching.choice.memory
    join.rows = 1 << 10
    parts(tuner, join, 1)
    assert join.caching.choice.used == (CACHE,)
    assert join.caching.choice.memory < before


def test_memory_that_is_given_is_kept_to() -> None:
    join = FakeJoin(vain=32)
    parts(begun(join, Adaptive(cache_memory=1 << 15)), join, 40)
    assert join.caching.choice.memory == 1 << 15


def test_decisions_are_reported_once_with_names() -> None:
    join = FakeJoin(vain=32)
    tuner = begun(join)
    parts(tuner, join, 40)
    tried, used = tuner.report()
    assert (tried["verdict"], used["verdict"]) == ("tried", "used")
    assert used["used"] == [{"path": "a", "caches": ["b", "c"]}]
    assert tuner.report() == ()


def test_parts_of_few_rows_count_together() -> None:
    join = FakeJoin(vain=32)
    tuner = begun(join)
    before, cache_tuner.ROWS = cache_tuner.ROWS, 40_000
    try:
        assert set(parts(tuner, join, 4 * cache_tuner.FIRST_WATCH)) == {Phase.WATCH}
    finally:
        cache_tuner.ROWS = before
