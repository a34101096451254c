"""The tuners of a run: of each place with filters the one that has learnt their order, by name.

They outlive what they tune: operators and readers are renewed, and take up what is known.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.adaptive.filters.filter_tuner import FilterTuner
from penstock.plan.adaptivity import Adaptive


class Tuners:
    """Tuners by name."""

    def __init__(self, settings: Adaptive) -> None:
        self.settings = settings
        self._tuners: dict[str, FilterTuner] = {}

    def __iter__(self) -> Iterator[tuple[str, FilterTuner]]:
        return iter(self._tuners.items())

    @property
    def probability(self) -> float:
        return self.settings.drop_profiling_probability

    @property
    def budget(self) -> float:
        return self.settings.profiling_budget

    def tuner(self, name: str, filters: tuple[str, ...]) -> FilterTuner:
        """Returns the tuner of the filters of this name: the one that there is, if they are the same."""
        found = self._tuners.get(name)
        if found is None or found.filters != filters:
            found = self._tuners[name] = FilterTuner(filters, self.settings)
        return found

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

    def tuner(self, name: str, filters: tuple[str, ...]) -> FilterTuner:
        return self._tuners.tuner(f"{self._place} {name}", filters)


def tuners_of(settings: Adaptive) -> Tuners | None:
    """Returns tuners for settings; None where nothing adapts."""
    return Tuners(settings) if settings.orders else None
