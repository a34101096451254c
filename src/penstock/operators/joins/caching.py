"""The subresult caches that a join uses, which may be replaced between two parts of a step (thesis 5.4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import thread_time_ns

from penstock.kernels.cached_mjoin import combine_cached
from penstock.operators.joins.join_caches import JoinCaches
from penstock.operators.joins.path_layout import PathLayout
from penstock.operators.joins.probing import Probing
from penstock.plan.caches import NO_CACHES, Cache, CacheChoice, CacheCounts, CacheUse, candidates, globally_consistent
from penstock.plan.join_choice import JoinChoice
from penstock.synopsis.events import Events, Some
from penstock.synopsis.indexed_inputs import JoinInput
from penstock.synopsis.memory import Ints


class Caching:
    """The caches of a join over inputs, of which those in `cached` may be in a cache."""

    def __init__(self, inputs: tuple[JoinInput, ...], cached: frozenset[int]) -> None:
        self._inputs, self._cached = inputs, cached
        self._caches: JoinCaches | None = None
        #: How caches were used that are replaced.
        self._before = CacheUse()

    def follow(self, choice: JoinChoice, layout: PathLayout) -> None:
        """Keeps the caches that these paths allow."""
        self._orders, self._layout = choice.orders, layout
        if self._caches is not None:
            self.use(self._caches.choice.kept_by(self.candidates()))

    def candidates(self) -> tuple[Cache, ...]:
        """The subresult caches that the paths in use allow."""
        uncached = set(range(len(self._inputs))) - self._cached
        given = (self._orders, [source.variables for source in self._inputs], uncached)
        return *candidates(*given), *globally_consistent(*given)

    @property
    def choice(self) -> CacheChoice:
        return NO_CACHES if self._caches is None else self._caches.choice

    def use(self, choice: CacheChoice) -> None:
        """Looks up these caches from the next part of a step on. What is used as before stays filled."""
        assert {*choice.used, *choice.profiled} <= {*self.candidates()}, "a cache must keep the prefix invariant"
        self._before = self.used()
        is_empty = not choice.used and not choice.profiled
        self._caches = None if is_empty else JoinCaches(self._inputs, self._layout.probes, choice, self._caches)

    def counts(self) -> dict[Cache, CacheCounts]:
        """How the caches were used since they were chosen."""
        return {} if self._caches is None else self._caches.counts()

    def used(self) -> CacheUse:
        """How caches were used since the join was built, and the memory that they take."""
        before, caches = self._before, self._caches
        if caches is None:
            return CacheUse(before.lookups, before.hits)
        own = [counts for cache, counts in caches.counts().items() if cache in caches.choice.used]
        lookups, hits = sum(each.lookups for each in own), sum(each.hits for each in own)
        return CacheUse(before.lookups + lookups, before.hits + hits, caches.nbytes)

    def clear(self) -> None:
        """Empties all caches: rows have come without an event, which they may lack."""
        if self._caches is not None:
            self._caches.clear()

    def blocks(
        self, probing: Probing, events: Sequence[Events], brings: Sequence[Some], room: tuple[Ints, Ints]
    ) -> Iterator[tuple[Ints, Ints, int]]:
        """Blocks of slots and of the numbers of events, found with the help of caches, and the time that each took."""
        caches = self._caches
        assert caches is not None
        caches.begin(events, brings)
        progress, places = self._layout.begun(), caches.places(len(self._inputs) - 1)
        while True:
            begin = thread_time_ns()
            count = combine_cached(*probing, caches.arrays, caches.step, progress, places, *room)
            yield room[0][:count], room[1][:count], thread_time_ns() - begin
            if progress.registers[0] == len(probing.probers.slots):
                return
