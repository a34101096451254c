"""Pipelined filters: each row is looked up in the sides' keys in the current order, until a filter drops it.

The order is a choice, which `use` replaces between two chunks of rows. A sample of the rows is tested on when they have
been dropped (drop-profiling, thesis 4.3.1); how many rows came to each filter and passed it is counted anyway. Filters
differ in which rows they drop, and hardly in what a look-up costs, so times are not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from penstock.kernels import filters as kernel
from penstock.kernels.pointers import address
from penstock.operators.filters.filter_chain import AT_ONCE, BUDGET, CHUNK, SMALL_CHUNK
from penstock.operators.filters.filters import FilterTuner, Tuning
from penstock.operators.filters.profile import (
    PROFILE_ALL,
    FilterOrder,
    FilterProfile,
    Ghosts,
    PassCounts,
    ProfileRequest,
    are_news,
    rates_of,
)
from penstock.operators.filters.sampler import Sampler
from penstock.synopsis.deltas import Bools, Deltas, is_null, one_after_the_other
from penstock.synopsis.key_counts import KeyCounts
from penstock.synopsis.memory import Ints, Scope

_GHOSTS = {Ghosts.ALL: kernel.ALL, Ghosts.NEXT: kernel.NEXT, Ghosts.ONE: kernel.ONE}


@dataclass(frozen=True, slots=True)
class Lookup:
    """A filter in terms of rows: which columns are looked up in which side, and whether they should be there."""

    text: str
    wants_match: bool
    side: int
    columns: tuple[int, ...]
    #: Says of which rows a match is possible at all, if not of all.
    where: Callable[[Ints], Bools] | None = None


class PipelinedFiltersOperator:
    """The filters over rows of so many columns, and the key counts of their sides."""

    def __init__(
        self,
        memory: Scope,
        columns: int,
        lookups: Sequence[Lookup],
        sides: Sequence[KeyCounts],
        name: str = "filters",
    ) -> None:
        self._sides, self._columns, self._lookups = sides, columns, lookups
        self._lines = np.array([(each.side, each.wants_match, 0) for each in lookups], np.int64)
        self._key_columns = np.zeros((len(lookups), max(1, *(len(each.columns) for each in lookups))), np.int64)
        for line, each in zip(self._key_columns, lookups, strict=True):
            line[: len(each.columns)] = each.columns
        # The order is part of the state: whoever goes on from it need not learn it again.
        self._order = memory.array("order", len(lookups))[: len(lookups)]
        if not self._order.any():
            self._order[:] = range(len(lookups))
        #: By filter, the rows that it was evaluated on since the start.
        self.evaluated = np.zeros(len(lookups), np.int64)
        #: Its name among all filters of a run that are tuned, and what orders it.
        self.name = name
        self.tuner: FilterTuner | None = None
        self._probability, self._sampler, self._budget = 0.0, Sampler(0.0), 0.0
        #: Evaluations that were needed to judge rows; the others were for profile tuples.
        self._needed = 0
        self._wanted, self._at_once = PROFILE_ALL, 0
        self._begin()

    def _begin(self) -> None:
        self._entered, self._passed = (np.zeros(len(self._lookups), np.int64) for _ in range(2))
        self._quiet = PassCounts(len(self._lookups))
        self._samples: list[Ints] = []
        self._rates: list[float] | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The filters as they are written."""
        return tuple(each.text for each in self._lookups)

    @property
    def order(self) -> FilterOrder:
        return tuple(self._order.tolist())

    def evaluations(self) -> dict[str, int]:
        """Returns on how many rows each filter was evaluated, in the current order, since the start."""
        return {self.texts[number]: int(self.evaluated[number]) for number in self.order}

    def tune(self, tuner: FilterTuner, probability: float, budget: float = BUDGET) -> None:
        """Lets a tuner order the filters from now on, which sees so many of the rows as profile tuples.

        These may take as many evaluations as `budget` says, in proportion to those that are needed.
        """
        self.tuner, self._probability, self._sampler = tuner, probability, Sampler(probability)
        self._budget, self._at_once = budget, 0
        tuner.adopt(self)

    def retune(self, tuning: Tuning) -> None:
        """Lets another tuner order the filters from now on."""
        if len(self._lookups) > 1:
            self.tune(tuning.tuner(self.name, self.texts), tuning.probability, tuning.budget)

    def use(self, order: FilterOrder, wanted: ProfileRequest | None = None) -> None:
        """Evaluates the filters in this order from now on. What was measured under another one is forgotten."""
        assert sorted(order) == list(range(len(self._lookups))), order
        if order != self.order:
            self._order[:] = order
            self._begin()
        wanted = wanted or ProfileRequest(at_once=AT_ONCE)
        if self._probability > 0:
            self._at_once = max(self._at_once, wanted.at_once)
            if wanted.share != self._wanted.share:
                self._sampler = Sampler(self._probability * wanted.share)
        self._wanted = wanted

    def has_news(self) -> bool:
        """Returns whether rows were sampled since the last profile, or passed otherwise than it says."""
        entered, passed = self._entered.tolist(), self._passed.tolist()
        if self._rates is None or self._samples or are_news(self._rates, entered, passed):
            return True
        self._quiet.add(entered, passed)
        self._entered[:] = self._passed[:] = 0
        return False

    def profile(self) -> FilterProfile:
        """Returns what was measured since the last call."""
        samples = np.concatenate([np.zeros(0, np.int64), *self._samples])
        unknown = (nan,) * len(self._lookups)
        found = FilterProfile(self.order, self._entered.tolist(), self._passed.tolist(), samples, unknown, self._quiet)
        self._begin()
        self._rates = rates_of(found)
        return found

    def enter(self, changes: Sequence[Deltas]) -> None:
        """Begins a step, in which the sides have these changes, in the order of time."""
        parts = (side.enter(_whole_keys(own, side.width)) for side, own in zip(self._sides, changes, strict=True))
        self._tables = np.stack(list(parts))

    def passing(self, deltas: Deltas) -> Deltas:
        """Returns those of some rows that pass all filters, each at its own instant. Calls are in the order of time."""
        if self.tuner is None or len(deltas) == 0:
            return self._passing(deltas)
        chunks, start = [], 0
        while start < len(deltas):
            stop = start + (SMALL_CHUNK if self._at_once else CHUNK)
            chunks.append(self._passing(deltas.take(slice(start, stop))))
            start = stop
            self.tuner.between(self)
        return one_after_the_other(chunks)

    def _passing(self, deltas: Deltas) -> Deltas:
        ts, rows = np.ascontiguousarray(deltas.ts), np.ascontiguousarray(deltas.rows)
        eligible = [self._eligible(each, rows) for each in self._lookups]
        self._lines[:, kernel.ELIGIBLE] = [0 if mask is None else address(mask) for mask in eligible]
        sampled = self._sampled(len(deltas))
        passing, words = np.empty(len(deltas), np.int64), np.empty(len(sampled), np.int64)
        entered = int(self._entered.sum())
        judged = kernel.Judged(passing, self._entered, self._passed, self.evaluated, words)
        how = (self._order, sampled, _GHOSTS[self._wanted.ghosts], self._wanted.position)
        count = kernel.judge(ts, rows, self._lines, self._key_columns, self._tables, *how, judged)
        self._needed += int(self._entered.sum()) - entered
        if len(words):
            self._samples.append(words)
        return deltas if count == len(deltas) else deltas.take(passing[:count])

    def leave(self) -> None:
        """Ends a step."""
        kernel.apply_all_changes(self._tables)
        for side in self._sides:
            side.leave()

    def _eligible(self, lookup: Lookup, rows: Ints) -> Ints | None:
        """Returns which rows can have a match, as words: NULL has none. None: all."""
        masks = [] if lookup.where is None else [lookup.where(rows)]
        if rows[:, self._columns :].any():
            masks += [~is_null(rows, column, self._columns) for column in lookup.columns]
        return np.logical_and.reduce(masks).astype(np.int64) if masks else None

    def _sampled(self, count: int) -> Ints:
        """Returns the rows of a chunk that are to be profiled."""
        if not self._at_once:
            spent = int(self.evaluated.sum()) - self._needed
            return self._sampler.rows(count, count if spent <= self._budget * self._needed else 0)
        some = min(self._at_once, count)
        self._at_once -= some
        return np.arange(some) * count // some


def _whole_keys(changes: Deltas, columns: int) -> Deltas:
    """Returns the changes of keys without NULL, which nothing equals, and without null words."""
    nulls = changes.rows[:, columns:]
    whole = changes.take(np.flatnonzero(~nulls.any(axis=1))) if nulls.any() else changes
    return Deltas(whole.ts, whole.weight, whole.rows[:, :columns])
