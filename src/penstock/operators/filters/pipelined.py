"""Pipelined filters: each row is looked up in the sides' keys in the current order, until a filter drops it.

The order is a choice, which `use` replaces between two steps. A sample of the rows is tested by all filters, whatever
drops them first (drop-profiling, thesis 4.3.1); how many rows came to each filter and passed it is counted anyway.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.kernels.filters import ELIGIBLE, FILTER_WIDTH, Judged, apply_all_changes, judge
from penstock.kernels.pointers import address
from penstock.operators.filters.profile import FilterOrder, FilterProfile
from penstock.synopsis.deltas import Bools, Deltas, is_null
from penstock.synopsis.key_counts import KeyCounts
from penstock.synopsis.memory import Ints, Scope

#: So many profile tuples are held for whoever asks for them; older ones are dropped.
MOST_SAMPLES = 4096


@dataclass(frozen=True, slots=True)
class Lookup:
    """A filter in terms of rows: which columns are looked up in which side, and whether they should be there."""

    wants_match: bool
    side: int
    columns: tuple[int, ...]
    #: Says of which rows a match is possible at all, if not of all.
    where: Callable[[Ints], Bools] | None = None


class PipelinedFiltersOperator:
    """The filters over rows of so many columns, and the key counts of their sides."""

    def __init__(self, memory: Scope, columns: int, lookups: Sequence[Lookup], sides: Sequence[KeyCounts]) -> None:
        self.sides = sides
        self._columns, self._lookups = columns, lookups
        self._lines = np.array([(each.side, each.wants_match, 0) for each in lookups], np.int64)
        self._lines = self._lines.reshape(-1, FILTER_WIDTH)
        self._key_columns = np.zeros((len(lookups), max(1, *(len(each.columns) for each in lookups))), np.int64)
        for line, each in zip(self._key_columns, lookups, strict=True):
            line[: len(each.columns)] = each.columns
        self._order = memory.array("order", len(lookups))[: len(lookups)]
        if not self._order.any():
            self._order[:] = range(len(lookups))
        self._entered, self._passed = (np.zeros(len(lookups), np.int64) for _ in range(2))
        self._samples: deque[Ints] = deque()
        self._sampling, self._gaps, self._next_sample = 0, np.random.default_rng(0), 0

    @property
    def order(self) -> FilterOrder:
        return tuple(self._order.tolist())

    def use(self, order: FilterOrder) -> None:
        """Evaluates the filters in this order from now on."""
        assert sorted(order) == list(range(len(self._lookups))), order
        self._order[:] = order

    def sample(self, every: int) -> None:
        """Samples one row in so many from now on, or none (0)."""
        self._sampling, self._next_sample = every, 0

    def profile(self) -> FilterProfile:
        """What was measured since it was last asked for."""
        samples = np.concatenate([np.zeros(0, np.int64), *self._samples])
        unknown = np.full(len(self._lookups), np.nan)
        profile = FilterProfile(self.order, self._entered.copy(), self._passed.copy(), samples, unknown)
        self._entered[:] = self._passed[:] = 0
        self._samples.clear()
        return profile

    def enter(self, changes: Sequence[Deltas]) -> None:
        """Begins a step, in which the sides have these changes, in the order of time."""
        parts = (side.enter(_whole_keys(own, side.width)) for side, own in zip(self.sides, changes, strict=True))
        self._tables = np.stack(list(parts))

    def passing(self, deltas: Deltas) -> Deltas:
        """Those of some rows that pass all filters, each at its own instant. Calls come in the order of time."""
        eligible = [self._eligible(each, deltas.rows) for each in self._lookups]
        self._lines[:, ELIGIBLE] = [0 if mask is None else address(mask) for mask in eligible]
        sampled = self._sampled(len(deltas))
        passing, words = np.empty(len(deltas), np.int64), np.empty(len(sampled), np.int64)
        count = judge(
            np.ascontiguousarray(deltas.ts),
            np.ascontiguousarray(deltas.rows),
            self._lines,
            self._key_columns,
            self._tables,
            self._order,
            sampled,
            Judged(passing, self._entered, self._passed, words),
        )
        self._keep(words)
        return deltas if count == len(deltas) else deltas.take(passing[:count])

    def leave(self) -> None:
        """Ends a step."""
        apply_all_changes(self._tables)
        for side in self.sides:
            side.leave()

    def _eligible(self, lookup: Lookup, rows: Ints) -> Ints | None:
        """Which rows can have a match, as words: NULL has none. None: all."""
        masks = [] if lookup.where is None else [lookup.where(rows)]
        if rows[:, self._columns :].any():
            masks += [~is_null(rows, column, self._columns) for column in lookup.columns]
        return np.logical_and.reduce(masks).astype(np.int64) if masks else None

    def _sampled(self, count: int) -> Ints:
        """The rows to be sampled: the gaps between them are random, so that no period in the data goes with them."""
        if not self._sampling:
            return np.zeros(0, np.int64)
        gaps = self._gaps.integers(1, 2 * self._sampling, size=2 * count // self._sampling + 2)
        places = self._next_sample + np.concatenate(([0], np.cumsum(gaps)))
        here = places[places < count]
        self._next_sample = int(places[len(here)]) - count
        return here

    def _keep(self, words: Ints) -> None:
        self._samples.append(words)
        while len(self._samples) > 1 and sum(map(len, self._samples)) > MOST_SAMPLES:
            self._samples.popleft()


def _whole_keys(changes: Deltas, columns: int) -> Deltas:
    """The changes of keys without NULL, which nothing equals, and without null words."""
    nulls = changes.rows[:, columns:]
    whole = changes.take(np.flatnonzero(~nulls.any(axis=1))) if nulls.any() else changes
    return Deltas(whole.ts, whole.weight, whole.rows[:, :columns])
