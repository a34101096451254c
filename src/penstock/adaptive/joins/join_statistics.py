"""What is known of a join: of each input how many combinations its events have with sets of other inputs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.adaptive.joins.cheapest_path import ON_THE_WAY, Order, Sizes, path_cost, sets_on_the_way
from penstock.operators.joins.join_sampler import SetSamples
from penstock.plan.join_choice import Orders

Floats = NDArray[np.float64]


class SampleWindow:
    """The latest samples of one input's events, at most `capacity`, and what they say."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._sets: tuple[int, ...] = ()
        self._samples: list[Floats] = []

    def __len__(self) -> int:
        return sum(map(len, self._samples))

    def add(self, samples: SetSamples) -> None:
        if samples.sets != self._sets:  # Sets are others where there are too many, and the order has changed.
            self._sets, self._samples = samples.sets, []
        if len(samples.estimates):
            self._samples.append(samples.estimates)
        while len(self) - len(self._samples[0] if self._samples else ()) >= self._capacity:
            self._samples.pop(0)

    def sizes(self) -> dict[int, float]:
        """The mean of each set."""
        return dict(zip(self._sets, np.concatenate(self._samples).mean(axis=0).tolist(), strict=True))

    def saved(self, order: Order, new: Order) -> tuple[float, float]:
        """What another order saves of an event's cost, and the standard error of that: the same events pay both."""
        samples, place = np.concatenate(self._samples), {members: n for n, members in enumerate(self._sets)}
        old_sets, new_sets = ([place[s] for s in sets_on_the_way(each)] for each in (order, new))
        saved = ON_THE_WAY * (samples[:, old_sets].sum(axis=1) - samples[:, new_sets].sum(axis=1))
        return float(saved.mean()), float(saved.std()) / sqrt(len(saved))


@dataclass(frozen=True, slots=True)
class JoinSizes:
    """Sizes of sets by input, with the share of all events that it has, as they were at a decision."""

    sizes: tuple[Sizes, ...]
    shares: tuple[float, ...]
    samples: int

    def cost(self, orders: Orders) -> float:
        """What an event costs in these orders, in probes. Sets of which nothing is known count as their order does."""
        parts = zip(orders, self.sizes, self.shares, strict=True)
        return sum(share * path_cost(order, sizes) for order, sizes, share in parts if is_known(order, sizes))

    def rates(self, orders: Orders) -> list[list[float]]:
        """By input and depth how many rows a probe matches in these orders; none where it is not known."""
        found: list[list[float]] = []
        for order, sizes in zip(orders, self.sizes, strict=True):
            if not is_known(order, sizes):
                found.append([])
                continue
            line = [1.0, *(sizes[s] for s in sets_on_the_way(order)), sizes[sum(1 << t for t in order)]]
            found.append([b / a if a else 0.0 for a, b in pairwise(line)])
        return found


def is_known(order: Order, sizes: Sizes) -> bool:
    """Whether the sizes of all sets of an order are known."""
    return all(members in sizes for members in (*sets_on_the_way(order), sum(1 << t for t in order)))
