"""Orders at random after every chunk: for tests that no result depends on an order."""

from __future__ import annotations

from random import Random

from penstock.operators.filters.profile import OrderedFilters, ProfileRequest


class RandomTuner:
    """Gives a chain another order after every chunk, and samples of any size."""

    def __init__(self, filters: tuple[str, ...], seed: int = 0) -> None:
        self.filters = filters
        self._random = Random(seed)

    def adopt(self, chain: OrderedFilters) -> None:
        self.between(chain)

    def between(self, chain: OrderedFilters) -> None:
        order = self._random.sample(range(len(self.filters)), len(self.filters))
        chain.use(tuple(order), ProfileRequest(at_once=self._random.choice([0, 0, 1, 5])))
