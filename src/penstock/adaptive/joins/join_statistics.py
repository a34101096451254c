"""What is known of a join: of each input how many combinations its events have with sets of other inputs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.adaptive.joins.cheapest_path import Order, Sizes, path_cost, sets_along, weights
from penstock.operators.joins.join_sampler import SetSamples
from penstock.plan.join_choice import Orders

Floats = NDArray[np.float64]

#: What is left of how far probes walked when there are new samples.
DECAY = 0.5


class SampleWindow:
    """The latest samples of one input's events, at most `capacity`, and what they say."""

    def __init__(self, inputs: int, capacity: int) -> None:
        self._capacity = capacity
        self._sets: tuple[int, ...] = ()
        self._samples: list[Floats] = []
        self._walks = np.zeros((inputs, 2))

    def __len__(self) -> int:
        return sum(map(len, self._samples))

    def add(self, samples: SetSamples) -> None:
        if samples.sets != self._sets:  # Sets are others where there are too many, and the order has changed.
            self._sets, self._samples = samples.sets, []
        if len(samples.estimates):
            self._samples.append(samples.estimates)
            self._walks = DECAY * self._walks + samples.walks
        while self._samples and len(self) - len(self._samples[0]) >= self._capacity:
            self._samples.pop(0)

    def sizes(self) -> Sizes:
        """The mean of each set, and how far probes walk."""
        means = np.concatenate(self._samples).mean(axis=0).tolist()
        walks = (self._walks[:, 1] / np.maximum(self._walks[:, 0], 1)).tolist()
        return Sizes(dict(zip(self._sets, means, strict=True)), tuple(walks))

    def saved(self, order: Order, new: Order, sizes: Sizes) -> tuple[float, float]:
        """What another order saves of an event's cost, and the standard error of that: the same events pay both."""
        samples, place = np.concatenate(self._samples), {members: n for n, members in enumerate(self._sets)}
        old_weights, new_weights = weights(order, sizes), weights(new, sizes)
        factors, fixed = np.zeros(len(place)), old_weights.pop(0) - new_weights.pop(0)
        for members, weight in old_weights.items():
            factors[place[members]] += weight
        for members, weight in new_weights.items():
            factors[place[members]] -= weight
        saved = fixed + samples @ factors
        return float(saved.mean()), float(saved.std()) / sqrt(len(saved))


@dataclass(frozen=True, slots=True)
class JoinSizes:
    """Sizes of sets by input, with the share of all events that it has, as they were at a decision."""

    #: None of inputs of which there were too few samples.
    sizes: tuple[Sizes | None, ...]
    shares: tuple[float, ...]
    samples: int

    def cost(self, orders: Orders) -> float:
        """What an event costs in these orders, in probes, as far as that is known."""
        parts = zip(orders, self.sizes, self.shares, strict=True)
        return sum(share * path_cost(order, own) for order, own, share in parts if own and own.knows(order))

    def rates(self, orders: Orders) -> list[list[float]]:
        """By input and depth how many rows a probe matches in these orders; none where it is not known."""
        found: list[list[float]] = []
        for order, own in zip(orders, self.sizes, strict=True):
            if own is None or not own.knows(order):
                found.append([])
                continue
            along = [1.0, *(own.combinations[members] for members in sets_along(order)[1:])]
            found.append([b / a if a else 0.0 for a, b in pairwise(along)])
        return found
