"""The filter chain: filters that commute, evaluated in an order that a tuner may replace between two chunks of rows.

It is the Executor of thesis chapter 4, and takes the Profiler's samples on its way. Sampled rows stay with the chunk
when they have been dropped, as *ghosts*, so that each filter is called once per chunk, and evaluates no row twice:

    order          F2                  F0                  F1
    chunk    ┌───────────┬────┐  ┌──────┬────┐       ┌───┬────┐
             │ survivors │ ss │  │      │ sg │       │   │ gg │      s: sampled and alive, g: ghost
             └───────────┴────┘  └──────┴────┘       └───┴────┘

A row passes if no filter is false or NULL on it. A filter may fail on a row: that counts only if no other filter drops
the row, so the row stays until they have been evaluated (`undecided`), and the result does not depend on the order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from math import inf, nan
from time import perf_counter_ns

import numpy as np

from penstock.operators.filters.columns import Columns
from penstock.operators.filters.profile import (
    MOST_FILTERS,
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
from penstock.operators.filters.undecided import Filter, Outcome, Undecided
from penstock.operators.functions.failures import Tally
from penstock.synopsis.deltas import Bools
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints

#: Rows of a chunk; of one that a tuner waits for; and the sampled ones among them.
CHUNK = 1 << 11
SMALL_CHUNK = 1 << 10
#: Nanoseconds for a row below which chunks are twice as large, for what is done once per chunk counts then: a call of
#: each filter costs some 40 microseconds before it sees a row.
CHEAP = 1000
MOST_SAMPLES = 64
#: Rows that are profiled at once when nothing is known of them.
AT_ONCE = 256
#: Calls on fewer rows say little about the time for a row. The lower quartile of the last calls sees no disturbances.
TIMED_ROWS = 64
TIMED_CALLS = 16
#: The part of the time of filters that profiles may take: ghosts, and what it takes to keep them with a chunk.
BUDGET = 0.03

_NONE = np.zeros(0, np.int64)

#: What is called between two chunks, and may give the chain another order.
Between = Callable[["FilterChain"], None]


class FilterChain:
    """Filters in an order. `profile` gives what they measured, and `use` another order."""

    def __init__(
        self,
        filters: Sequence[Filter],
        probability: float = 0.01,
        budget: float = BUDGET,
        *,
        tally: Tally | None = None,
        clock: Callable[[], int] = perf_counter_ns,
        chunk: int | None = None,
    ) -> None:
        assert 0 < len(filters) <= MOST_FILTERS
        self._filters = tuple(filters)
        self.order: FilterOrder = tuple(range(len(filters)))
        #: By filter, the rows that it was evaluated on since the start.
        self.evaluations = np.zeros(len(filters), np.int64)
        self._chunk, self._clock, self._budget = chunk or CHUNK, clock, budget
        self._tally = tally or Tally()
        self._probability = probability
        self._sampler = Sampler(probability)
        self._wanted = PROFILE_ALL
        self._at_once = AT_ONCE if probability > 0 else 0
        self._times: list[deque[float]] = [deque(maxlen=TIMED_CALLS) for _ in filters]
        #: By filter, the lower quartile of these times, when rows were profiled last.
        self._costs: tuple[float, ...] = (nan,) * len(filters)
        self._spent = self._spent_on_profiles = 0.0
        #: Whether this chunk is profiled at once. That is rare, and no part of the budget: else nothing was left of it.
        self._is_at_once = False
        #: The nanoseconds that a row of the latest chunk took.
        self._row_took = inf
        self._begin()

    def _begin(self) -> None:
        self._entered, self._passed = [0] * len(self._filters), [0] * len(self._filters)
        #: Of chunks since the last profile that were no news.
        self._quiet = PassCounts(len(self._filters))
        self._samples: list[Ints] = []
        #: By position, the rates at which rows passed when they were last profiled.
        self._rates: list[float] | None = None

    def sample(self, probability: float, budget: float) -> None:
        """Samples such a part of the rows from now on, at such a part of the time."""
        self._probability, self._budget, self._sampler = probability, budget, Sampler(probability)
        self._at_once = AT_ONCE if probability > 0 else 0
        self._spent = self._spent_on_profiles = 0.0

    def has_news(self) -> bool:
        """Returns whether rows were sampled since the last profile, or passed otherwise than it says."""
        if self._rates is None or self._samples or are_news(self._rates, self._entered, self._passed):
            return True
        # Each chunk is judged by itself: among all rows since the last profile a change would show late.
        self._quiet.add(self._entered, self._passed)
        self._entered, self._passed = [0] * len(self._filters), [0] * len(self._filters)
        return False

    def profile(self) -> FilterProfile:
        """Returns what was measured since the last call."""
        samples = _NONE
        if self._samples:
            samples = np.concatenate(self._samples)
            self._costs = tuple(map(_lower_quartile, self._times))
        found = FilterProfile(self.order, self._entered, self._passed, samples, self._costs, self._quiet)
        self._begin()
        self._rates = rates_of(found)
        return found

    def use(self, order: FilterOrder, wanted: ProfileRequest | None = None) -> None:
        """Evaluates filters in this order from now on. What was measured under another one is forgotten.

        Without `wanted` the next rows are profiled at once, for a choice is to be checked as soon as it is made.
        """
        assert sorted(order) == list(range(len(self._filters)))
        if order != self.order:
            self.order = order
            self._begin()
        wanted = wanted or ProfileRequest(at_once=AT_ONCE)
        if self._probability > 0:
            self._at_once = max(self._at_once, wanted.at_once)
            if wanted.share != self._wanted.share:
                self._sampler = Sampler(self._probability * wanted.share)
                self._spent = self._spent_on_profiles = 0.0
        self._wanted = wanted

    def passing(
        self, columns: Columns, dictionary: Dictionary, some: Ints | None = None, between: Between | None = None
    ) -> Bools:
        """Returns which of all rows, or of some, pass all filters. `between` is called after each chunk."""
        passes = np.zeros(len(columns), np.bool_)
        start, end = 0, len(columns) if some is None else len(some)
        while start < end:
            stop = self._stop(start, end)
            if some is not None:
                rows: Ints | None = some[start:stop]
            else:
                rows = None if stop - start == end else np.arange(start, stop)
            began = self._clock()
            found = self._evaluate(columns, rows, stop - start, dictionary)
            self._row_took = (self._clock() - began) / (stop - start)
            passes[found] = True
            start = stop
            if between is not None:
                began, rates = self._clock(), self._rates
                between(self)
                if self._rates is not rates:
                    # The tuner has asked for a profile: what it makes of it is a part of what profiles cost.
                    self._spent_on_profiles += self._clock() - began
        return passes

    def _stop(self, start: int, end: int) -> int:
        """Returns the end of the next chunk. No chunk is smaller than half of the usual, but for the last."""
        size = 2 * self._chunk if self._row_took < CHEAP else self._chunk
        if self._at_once:
            size = min(self._chunk, SMALL_CHUNK)
        return end if end - start < size + size // 2 else start + size

    def _evaluate(self, columns: Columns, rows: Ints | None, count: int, dictionary: Dictionary) -> Ints:
        """Returns the rows of a chunk that pass."""
        picked = self._picked(count)
        if not len(picked):
            return self._survivors(columns, rows, count, dictionary)
        began, spent = self._clock(), self._spent
        numbers = np.arange(count) if rows is None else rows
        others = np.ones(count, np.bool_)
        others[picked] = False
        found = self._with_ghosts(columns, numbers[others], numbers[picked], dictionary)
        if not self._is_at_once:
            self._spent_on_profiles += self._clock() - began - (self._spent - spent)
        return found

    def _survivors(self, columns: Columns, rows: Ints | None, count: int, dictionary: Dictionary) -> Ints:
        """Returns the rows of a chunk that pass, where none is profiled."""
        undecided = Undecided()
        for position, number in enumerate(self.order):
            if not count:
                break
            outcome = self._call(number, columns, rows, count, dictionary)
            true = undecided.noted(outcome, number, rows) if outcome.has_failed else outcome.true
            self._entered[position] += count
            rows = np.flatnonzero(true) if rows is None else rows[true]
            count = len(rows)
            self._passed[position] += count
        assert rows is not None or not count
        return undecided.decided(_NONE if rows is None else rows, self._tally)

    def _with_ghosts(self, columns: Columns, alive: Ints, sampled: Ints, dictionary: Dictionary) -> Ints:
        """Returns the rows of a chunk that pass, and notes which filters drop each of the sampled ones."""
        undecided = Undecided()
        words = np.zeros(len(sampled), np.int64)
        #: Of each sampled row the position at which it was dropped.
        dropped_at = np.full(len(sampled), len(self.order))
        for position, number in enumerate(self.order):
            is_alive = dropped_at == len(self.order)
            tested = np.flatnonzero(is_alive | self._is_wanted(dropped_at, position))
            rows = np.concatenate([alive, sampled[tested]])
            if not len(rows):
                continue
            living = int(np.count_nonzero(is_alive))
            spent = self._spent
            outcome = self._call(number, columns, rows, len(rows), dictionary)
            if not self._is_at_once:
                self._spent_on_profiles += (self._spent - spent) * (len(tested) - living) / len(rows)
            true = undecided.noted(outcome, number, rows) if outcome.has_failed else outcome.true
            self._entered[position] += len(alive) + living
            alive, drops = alive[true[: len(alive)]], tested[~true[len(alive) :]]
            words[drops] |= 1 << number
            dropped_at[drops] = np.minimum(dropped_at[drops], position)
            self._passed[position] += len(alive) + int(np.count_nonzero(dropped_at == len(self.order)))
        self._samples.append(words)
        return undecided.decided(np.concatenate([alive, sampled[words == 0]]), self._tally)

    def _is_wanted(self, dropped_at: Ints, position: int) -> Bools:
        """Returns which ghosts are to be evaluated by the filter at a position."""
        match self._wanted.ghosts:
            case Ghosts.ALL:
                return np.ones(len(dropped_at), np.bool_)
            case Ghosts.NEXT:
                return np.equal(dropped_at, position - 1)
        return np.full(len(dropped_at), position == self._wanted.position)

    def _call(self, number: int, columns: Columns, rows: Ints | None, count: int, dictionary: Dictionary) -> Outcome:
        began = self._clock()
        outcome = self._filters[number](columns, rows, dictionary)
        took = self._clock() - began
        self._spent += took
        self.evaluations[number] += count
        if count >= TIMED_ROWS:
            self._times[number].append(took / count)
        return outcome

    def _picked(self, count: int) -> Ints:
        """Returns the places of the rows of a chunk that are to be profiled."""
        self._is_at_once = self._at_once > 0
        if self._at_once:
            some = min(self._at_once, count)
            self._at_once -= some
            return np.arange(some) * count // some
        is_within_budget = self._spent_on_profiles <= self._budget * self._wanted.share * self._spent
        return self._sampler.rows(count, MOST_SAMPLES if is_within_budget else 0)


def _lower_quartile(times: deque[float]) -> float:
    return sorted(times)[len(times) // 4] if times else nan
