"""Choices of joins at random after every part of a step: for tests that no result depends on a choice."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from penstock.adaptive.caches.random_caches import nested_orders, random_caches
from penstock.operators.joins.mjoin import JoinCore


class RandomJoinTuner:
    """Gives a join other probe paths, products among them, and other caches after every part; samples any number."""

    def __init__(self, inputs: tuple[str, ...], seed: int = 0) -> None:
        self.inputs = inputs
        self._random = Random(seed)

    def adopt(self, join: JoinCore) -> None:
        self.between(join)

    def between(self, join: JoinCore) -> None:
        inputs = range(len(join.inputs))
        orders = [self._random.sample([n for n in inputs if n != start], len(inputs) - 1) for start in inputs]
        # Orders that stay let caches fill, and those whose prefixes agree allow most of them.
        if self._random.random() < 0.5:
            orders = [list(order) for order in nested_orders(len(inputs), self._random)]
        if self._random.random() < 0.5:
            join.use(replace(join.choice, paths=join.in_order(orders).paths))
        if self._random.random() < 0.7:
            join.caching.use(random_caches(join.caching.candidates(), self._random))
        join.wanted_samples = self._random.choice([0, 0, 3, 50])
