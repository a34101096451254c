"""The tuners of a run: of each place with filters, and of each join, the one that has learnt its order, by name.

They outlive what they tune: operators and readers are renewed, and take up what is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.adaptive.caches.cache_tuner import CacheTuner
from penstock.adaptive.filters.filter_tuner import FilterTuner
from penstock.adaptive.filters.pinned_order import PinnedOrder
from penstock.adaptive.filters.random_orders import RandomTuner
from penstock.adaptive.filters.remembered import restored, saved
from penstock.adaptive.joins.join_tuner import AdaptiveJoinTuner
from penstock.adaptive.joins.random_choices import RandomJoinTuner
from penstock.adaptive.joins.remembered import restored_join, saved_join
from penstock.operators.filters.profile import FilterOrder
from penstock.plan.adaptivity import Adaptive, Strategy

Tuner = FilterTuner | RandomTuner | PinnedOrder
JoinTuner = AdaptiveJoinTuner | RandomJoinTuner

#: Bytes that a join's conjunct may take to remember its outcomes, unless a budget is set.
OUTCOMES = 1 << 22


class Tuners:
    """Tuners by name. Filters whose order is pinned have it for good."""

    def __init__(self, settings: Adaptive, pinned: Mapping[str, FilterOrder] | None = None) -> None:
        self.settings = settings
        self._pinned = pinned or {}
        self._tuners: dict[str, Tuner] = {}
        self._join_tuners: dict[str, JoinTuner] = {}
        #: What was known before, of filters that have not been asked for yet.
        self._known: dict[str, Any] = {}
        self._saved = 0

    def __iter__(self) -> Iterator[tuple[str, FilterTuner]]:
        return ((name, tuner) for name, tuner in self._tuners.items() if isinstance(tuner, FilterTuner))

    @property
    def probability(self) -> float:
        return self.settings.drop_profiling_probability if self.settings.orders else 0.0

    @property
    def budget(self) -> float:
        return self.settings.profiling_budget

    @property
    def outcome_memory(self) -> int:
        given = self.settings.cache_memory
        return (OUTCOMES if given is None else given) if self.settings.caches else 0

    def tuner(self, name: str, filters: tuple[str, ...]) -> Tuner:
        """Returns the tuner of the filters of this name: the one that there is, if they are the same."""
        found = self._tuners.get(name)
        if found is None or found.filters != filters:
            found = self._tuners[name] = self._new_tuner(name, filters)
        return found

    def join_tuner(self, name: str, inputs: tuple[str, ...]) -> JoinTuner | None:
        """Returns the tuner of the join of this name: the one that there is, if its inputs are the same."""
        if not self.settings.orders:
            return None
        found = self._join_tuners.get(name)
        if found is None or found.inputs != inputs:
            is_random = self.settings.strategy == Strategy.RANDOM.value
            found = RandomJoinTuner(inputs) if is_random else self._known_join_tuner(name, inputs)
            self._join_tuners[name] = found
        return found

    def cache_tuner(self, name: str, inputs: tuple[str, ...]) -> CacheTuner | None:
        """Returns a tuner of a join's caches. It begins anew with each join, as caches do."""
        tunes = self.settings.caches and self.settings.strategy != Strategy.RANDOM.value
        return CacheTuner(self.settings, name, inputs) if tunes else None

    def _known_join_tuner(self, name: str, inputs: tuple[str, ...]) -> AdaptiveJoinTuner:
        known = self._known.pop(name, None)
        if known is None or tuple(known.get("inputs", ())) != inputs:
            return AdaptiveJoinTuner(inputs, self.settings)
        return restored_join(self.settings, known)

    def _new_tuner(self, name: str, filters: tuple[str, ...]) -> Tuner:
        if name in self._pinned or not self.settings.orders:
            return PinnedOrder(filters, self._pinned.get(name))
        is_random = self.settings.strategy == Strategy.RANDOM.value
        return RandomTuner(filters) if is_random else self._known_tuner(name, filters)

    def _known_tuner(self, name: str, filters: tuple[str, ...]) -> FilterTuner:
        known = self._known.pop(name, None)
        if known is None or tuple(known.get("filters", ())) != filters:
            return FilterTuner(filters, self.settings)
        return restored(filters, self.settings, known)

    def saved(self) -> dict[str, Any]:
        """Returns what all tuners know, as JSON."""
        self._saved = self._decided()
        joins = {n: saved_join(each) for n, each in self._join_tuners.items() if isinstance(each, AdaptiveJoinTuner)}
        return {**self._known, **{name: saved(tuner) for name, tuner in self}, **joins}

    def restore(self, known: Mapping[str, Any]) -> None:
        """Takes over what was saved, before the first tuner is asked for."""
        self._known = dict(known)

    def has_news(self) -> bool:
        """Returns whether there was a decision since it was saved."""
        return self._decided() != self._saved

    def _decided(self) -> int:
        return sum(tuner.log.added for _, tuner in self)

    def within(self, place: str) -> TunersWithin:
        """Returns the tuners of a place, under names of its own."""
        return TunersWithin(self, place)


class TunersWithin:
    """The tuners of one place of a run, such as a cell."""

    def __init__(self, tuners: Tuners, place: str) -> None:
        self._tuners, self._place = tuners, place

    @property
    def probability(self) -> float:
        return self._tuners.probability

    @property
    def budget(self) -> float:
        return self._tuners.budget

    @property
    def outcome_memory(self) -> int:
        return self._tuners.outcome_memory

    def tuner(self, name: str, filters: tuple[str, ...]) -> Tuner:
        return self._tuners.tuner(f"{self._place} {name}", filters)

    def join_tuner(self, name: str, inputs: tuple[str, ...]) -> JoinTuner | None:
        return self._tuners.join_tuner(f"{self._place} {name}", inputs)

    def cache_tuner(self, name: str, inputs: tuple[str, ...]) -> CacheTuner | None:
        return self._tuners.cache_tuner(f"{self._place} {name}", inputs)


def retuned(before: Tuners | None, settings: Adaptive, pinned: Mapping[str, FilterOrder]) -> Tuners:
    """Returns tuners for other settings, which know what the ones before have learnt."""
    tuners = Tuners(settings, pinned)
    if before is not None:
        tuners.restore(before.saved())
    return tuners


def tuners_of(settings: Adaptive) -> Tuners | None:
    """Returns tuners for settings; None where nothing adapts."""
    return Tuners(settings) if settings.orders else None
