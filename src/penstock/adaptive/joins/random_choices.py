"""Choices of joins at random after every part of a step: for tests that no result depends on a choice."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from penstock.operators.joins.mjoin import JoinCore


class RandomJoinTuner:
    """Gives a join other probe paths after every part, products among them, and samples any number of events."""

    def __init__(self, inputs: tuple[str, ...], seed: int = 0) -> None:
        self.inputs = inputs
        self._random = Random(seed)

    def adopt(self, join: JoinCore) -> None:
        self.between(join)

    def between(self, join: JoinCore) -> None:
        inputs = range(len(join.inputs))
        orders = [self._random.sample([n for n in inputs if n != start], len(inputs) - 1) for start in inputs]
        join.use(replace(join.choice, paths=join.in_order(orders).paths))
        join.wanted_samples = self._random.choice([0, 0, 3, 50])
