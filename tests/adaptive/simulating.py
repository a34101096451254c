"""Filters that are simulated: rows are profile tuples, and time is what filters are said to cost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from penstock.adaptive.filters.filter_tuner import FilterTuner
from penstock.adaptive.tuners import Tuners
from penstock.operators.filters.columns import Columns, InPlace
from penstock.operators.filters.filter_chain import FilterChain
from penstock.operators.filters.profile import FilterOrder
from penstock.operators.filters.undecided import Filter, Outcome
from penstock.plan.adaptivity import Adaptive
from penstock.synopsis.codes import Nulls
from penstock.synopsis.dictionary import Dictionary, Interned
from penstock.synopsis.memory import Ints
from penstock.synopsis.transient_codes import TransientCodes
from penstock.types import Type

Bits = NDArray[np.bool_]


class Tuples:
    """Rows whose only column has words: bit i is set if filter i drops the row."""

    def __init__(self, words: Ints) -> None:
        self.words = words

    def __len__(self) -> int:
        return len(self.words)

    def column(self, position: int, some: Ints | None = None) -> tuple[Ints, None]:
        return self.words if some is None else self.words[some], None

    def arguments(self, position: int, some: Ints | None = None) -> tuple[Ints, None]:
        raise NotImplementedError

    def strings(self, dictionary: Dictionary) -> TransientCodes:
        raise NotImplementedError

    def in_place(self, position: int, type_: Type) -> InPlace:
        raise NotImplementedError

    def nulls(self, position: int) -> Nulls:
        raise NotImplementedError

    def equal_to(self, position: int, values: Sequence[Interned], dictionary: Dictionary) -> Bits:
        raise NotImplementedError


class Clock:
    """A clock that filters put forward."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def filter_of(number: int, cost: int, clock: Clock) -> Filter:
    def drops(columns: Columns, rows: Ints | None, dictionary: Dictionary) -> Outcome:
        words, _ = columns.column(0, rows)
        clock.now += cost * len(words)
        return Outcome((words >> number) & 1 == 0)

    return drops


class Simulation:
    """A chain of simulated filters, with a tuner or without."""

    def __init__(self, costs: list[int], settings: Adaptive | None) -> None:
        self.clock = Clock()
        filters = [filter_of(number, cost, self.clock) for number, cost in enumerate(costs)]
        probability = settings.drop_profiling_probability if settings else 0.0
        self.chain = FilterChain(filters, probability=probability, clock=self.clock)
        names = tuple(f"F{number}" for number in range(len(costs)))
        found = Tuners(settings).tuner("simulated", names) if settings else None
        self.tuner = found if isinstance(found, FilterTuner) else None
        self._between = found.between if found else None
        if found is not None:
            found.adopt(self.chain)

    def run(self, words: Ints) -> int:
        """Evaluates rows, checks which pass, and returns the time that it took."""
        before = self.clock.now
        passes = self.chain.passing(Tuples(words), Dictionary(), None, self._between)
        assert (passes == (words == 0)).all()
        return self.clock.now - before


def words_of(drops: Bits) -> Ints:
    """Returns the profile tuples of rows, of which each filter drops those where its column is true."""
    found: Ints = (drops.astype(np.int64) << np.arange(drops.shape[1])).sum(axis=1)
    return found


def correlated(rng: np.random.Generator, rows: int, rates: list[float], groups: int) -> Ints:
    """Returns rows for filters that drop at these rates, of which those of a group agree mostly (thesis 4.7.2).

    Filters `i` and `j` are of one group if `i // groups == j // groups`. A filter takes the group's own random number
    with a probability that lets two of one rate agree on 80% of the rows, where that is possible.
    """
    count = len(rates)
    common = rng.random((rows, -(-count // groups)))
    drops = np.empty((rows, count), np.bool_)
    for number, rate in enumerate(rates):
        apart = 2 * rate * (1 - rate)
        shares = 1.0 if groups == 1 or apart == 0 else 1 - min(1.0, 0.2 / apart)
        own = rng.random(rows) if groups > 1 else common[:, number]
        uses = rng.random(rows) < np.sqrt(max(shares, 0.0)) if groups > 1 else np.ones(rows, np.bool_)
        drops[:, number] = np.where(uses, common[:, number // groups], own) < rate
    return words_of(drops)


def cost_of(words: Ints, order: FilterOrder, costs: list[int]) -> int:
    """Returns what an order costs for these rows."""
    total, left = 0, words
    for number in order:
        total += costs[number] * len(left)
        left = left[(left >> number) & 1 == 0]
    return total


def optimum(words: Ints, costs: list[int]) -> tuple[int, FilterOrder]:
    """Returns the least cost of all orders, by dynamic programming over the sets of filters that were evaluated."""
    count = len(costs)
    values, counts = np.unique(words, return_counts=True)
    left = [int(counts[(values & done) == 0].sum()) for done in range(1 << count)]
    best: list[tuple[int, FilterOrder]] = [(0, ())] * (1 << count)
    for done in range(1, 1 << count):
        options = []
        for last in range(count):
            if done >> last & 1:
                before = done & ~(1 << last)
                cost, order = best[before]
                options.append((cost + costs[last] * left[before], (*order, last)))
        best[done] = min(options)
    return best[-1]


def exhaustive(words: Ints, costs: list[int]) -> int:
    """Returns the least cost of all orders, which are tried one by one."""
    return min(cost_of(words, order, costs) for order in permutations(range(len(costs))))
