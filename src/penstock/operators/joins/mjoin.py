"""mjoin: the n-way join, and the core of all others.

The join keeps nothing of its own but the hash indexes on its inputs' stores. Equalities are found by the indexes; other
predicates are tested along the paths (`residuals`). What nothing above reads is counted (`path_counting`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from time import thread_time_ns

import numpy as np

from penstock.kernels.hashing import row_hashes
from penstock.kernels.index import link_rows, unlink_rows
from penstock.kernels.mjoin import (
    Probers,
    Segment,
    StageCounts,
    admit,
    ask_for_first,
    combine,
    in_order,
    number_events,
    promising,
    settle,
)
from penstock.kernels.path_counting import WEIGHED, AllEvents
from penstock.kernels.pointers import address
from penstock.operators.blocks import Blocks
from penstock.operators.joins.caching import Caching
from penstock.operators.joins.combinations import Combinations, Gathering
from penstock.operators.joins.join_profile import JoinProfile
from penstock.operators.joins.join_sampler import JoinSampler, SetSamples
from penstock.operators.joins.join_tuner import CacheTuner, JoinTuner
from penstock.operators.joins.path_counting import Counted, PathCounter, once_paths
from penstock.operators.joins.path_layout import PathLayout, probed
from penstock.operators.joins.probing import Probing
from penstock.operators.joins.residuals import Residual, ResidualTests
from penstock.plan.caches import NO_CACHES
from penstock.plan.join_choice import JoinChoice
from penstock.plan.probe_paths import BLOCK, Key, Paths, ProbeCounts, located, paths_in_order
from penstock.synopsis.events import Events, Some, one_after_the_other
from penstock.synopsis.indexed_inputs import IndexedInputs, JoinInput, positions
from penstock.synopsis.memory import Int32s, Ints, Scope

_ALL = slice(None)
_NOTHING_COUNTED = Counted()

#: So many combinations are looked at first where a row may need but one.
FEW = 1 << 10


class JoinCore(IndexedInputs):
    """The combinations of rows that come and go, by slots, and rows of those columns of theirs that are `shown`.

    A join that is `insert_only` gives no deletions: then no row that leaves is probed for.
    """

    def __init__(
        self,
        memory: Scope,
        inputs: tuple[JoinInput, ...],
        residual: Residual | None,
        shown: tuple[int, ...],
        paths: Paths,
        *,
        insert_only: bool = False,
        in_any_order: bool = False,
        indexed: Iterable[tuple[int, tuple[int, ...]]] = (),
        counted: Counted = _NOTHING_COUNTED,
        keys: Sequence[Key] = (),
        cached: Collection[int] = (),
    ) -> None:
        """`paths` are used as long as the state has no others, and nothing is chosen. `keys` are those of inputs.

        `in_any_order`: that rows come in no order of time. Then a combination is of the instant of its latest row.

        `indexed`: inputs and variables by which rows are found, besides those that the join itself probes.

        `cached`: inputs whose rows may be in subresult caches. Each row of theirs comes and goes by an event, or is
        forgotten.
        """
        self._variables = [source.variables for source in inputs]
        #: The probes of the paths that it began with. Where something else finds rows, too, their indexes last.
        self.first_probes = located(paths, self._variables)
        self.first_orders = JoinChoice(paths).orders
        more = {(number, positions(inputs[number], variables)) for number, variables in indexed}
        lasting = probed(self.first_probes) | more if more else set()
        super().__init__(memory, inputs, lasting, has_residual=residual is not None)
        self._insert_only = insert_only
        self._in_any_order = in_any_order
        #: Of each input's events of this step, the hashes by which they are probed first.
        self._hashes: dict[int, Ints] = {}
        self._tests = ResidualTests(inputs, residual)
        self._shown = Gathering.of(inputs, shown)
        self._counted = counted
        self._counter: PathCounter | None = None
        self._room = (np.empty((BLOCK, len(inputs)), np.int64), np.empty(BLOCK, np.int64))
        shape = len(inputs), len(inputs) - 1
        self._events = np.zeros(len(inputs), np.int64)
        #: Insertions and deletions since it was built.
        self.event_count = 0
        self._tally = StageCounts(np.zeros(shape, np.int64), np.zeros(shape, np.int64))
        self._keys = tuple(keys)
        self.caching = Caching(inputs, frozenset() if counted.inputs else frozenset(cached))
        #: Nanoseconds of this thread that probing took since the join was built.
        self.probing_time = 0
        #: How many events are to be sampled in the next part.
        self.wanted_samples = 0
        self._sampler: JoinSampler | None = None
        self._samples: tuple[SetSamples, ...] = ()
        self._examined = 0
        #: What replaces its choice, and its caches, between two parts of a step; None leaves them as they are.
        self.tuner: JoinTuner | None = None
        self.cache_tuner: CacheTuner | None = None
        self._adopt(self._remembered() or JoinChoice(paths))

    def probe_counts(self) -> ProbeCounts:
        """What was found along the paths since the join was built: by this process, since it is not persisted."""
        probes, matches = (tuple(map(tuple, counts.tolist())) for counts in self._tally)
        return ProbeCounts(probes, matches)

    def profile(self) -> JoinProfile:
        """What was measured; its samples are those since the last call."""
        stored = tuple(len(source.store) for source in self.inputs)
        counts = (self._events, self.event_count, *self._tally)
        found = JoinProfile(self.choice, *counts, self._samples, self._examined, stored)
        self._samples, self._examined = (), 0
        return found

    def in_order(self, orders: Sequence[Sequence[int]]) -> JoinChoice:
        """The choice of probing in these orders, one for each input."""
        return JoinChoice(paths_in_order(self._variables, orders, self._keys))

    def use(self, choice: JoinChoice) -> None:
        """Works by this choice from the next part of a step on. Indexes that are missing are built, others dropped."""
        if choice == self.choice:
            return
        if len(self.inputs) > 2:
            self._persisted_orders()[:] = choice.orders
        self._adopt(choice)

    def _remembered(self) -> JoinChoice | None:
        """The choice that was in use when the state was persisted; None if it was the one it began with."""
        if len(self.inputs) <= 2:  # Each has but one other to probe.
            return None
        orders = self._persisted_orders()
        return self.in_order(orders.tolist()) if orders.any() else None

    def _persisted_orders(self) -> Ints:
        """By input, the order of its path, once another one was chosen than it began with.

        The choice is part of the state: whoever goes on from it need not learn it again.
        """
        count = len(self.inputs)
        return self._memory.array("orders", count, count - 1)[:count]

    def _adopt(self, choice: JoinChoice) -> None:
        self.choice = choice
        self.probes = located(choice.paths, self._variables)
        modes = [self.probes, *once_paths(self._counted, self._variables)]
        self.keep_indexes(set().union(*map(probed, modes)))
        width = len(self.inputs)
        self._layout = PathLayout(width, self.probes, self._indexes)
        #: By input, the columns of its rows by which they probe first; and those of which hashes are needed at all.
        self._first_columns = [tuple(column for _, column in path[0].sources) for path in self.probes]
        self._hashed = [
            {key: np.array(key, np.int64) for key in (first, *self._by_owner[number])}
            for number, first in enumerate(self._first_columns)
        ]
        if self._counted.inputs:
            self._counter = PathCounter(self._counted, modes, width, self._indexes)
        self._tests.follow(choice.paths)
        self.caching.follow(choice, self._layout)

    def bring_back(self, number: int, slots: Ints) -> None:
        super().bring_back(number, slots)
        self.caching.clear()

    def enter(self, number: int, events: Events, brings: Some = _ALL) -> Events:
        """Puts the rows of an input that come into its indexes. Gives its events that are of the join.

        `brings` are those that bring a row; others are of rows that are there.
        """
        events = self.without_nulls(number, events)
        store = self.inputs[number].store
        hashes = {key: row_hashes(store.rows, events.slots, columns) for key, columns in self._hashed[number].items()}
        for key, index in self._by_owner[number].items():
            index.fit(len(store), store.capacity, store.rows)
            of_key = hashes[key][brings]
            link_rows(index.heads, index.mask, index.links, of_key, events.slots[brings], events.signs[brings])
        self._hashes[number] = hashes[self._first_columns[number]]
        return events

    def follow(self, number: int, events: Events) -> Events:
        """Events of an input in place of those that entered: the same, and others of rows that are there and go."""
        columns = np.array(self._first_columns[number], np.int64)
        self._hashes[number] = row_hashes(self.inputs[number].store.rows, events.slots, columns)
        return events

    def blocks(
        self,
        events: list[Events],
        brings: list[Some] | None = None,
        decided: Ints | None = None,
        *,
        lists: bool = False,
    ) -> Iterator[Combinations]:
        """What is found by events that have entered, in the order of time, block by block; at least one.

        `brings` are those of each input's events that bring a row. With `decided` only the first combinations of a
        row of the first input are wanted, until somebody says at its slot, between two blocks, that it has enough. If
        it `lists`, all rows of a combination are given even where they could be counted.
        """
        brings = brings or [_ALL] * len(events)
        together = one_after_the_other(events)
        numbers, order = (np.empty(len(together), np.int64) for _ in range(2))
        bounds = np.array([0, *accumulate(map(len, events))], np.int64)
        number_events(together.ts, together.signs, bounds[:-1].copy(), bounds[1:], numbers, order)
        visibility = [self.visibility(i) for i in range(len(self.inputs))]
        since = np.empty(len(order) + 1, np.int64)
        tables = (self._input_table(visibility), self._index_table())
        inputs_by = self._admitted(events, brings, numbers, visibility, since, tables)
        self._events += np.diff(bounds)
        self.event_count += len(order)
        if self.wanted_samples and len(order):
            self._sample(events, numbers, visibility, since, tables)
        probers = Probers(*np.empty((4, len(order) + 1), np.int64))
        count = in_order(order, inputs_by, together.slots, together.signs, probers)
        probers = Probers(*(part[:count] for part in probers))
        probing = Probing(probers, *tables, self._layout.arrays, since, not self._insert_only, self._tally)
        if self._counter is not None:
            everything = AllEvents(together.slots, together.signs, order, bounds[1:])
            yield from self._counted_along(self._counter, probing, everything, together, lists)
        else:
            self._tests.begin(is_early=self.caching.choice == NO_CACHES)
            for slots, by in self._listed(probing, events, brings, decided):
                passes = self._tests.passing(slots, partial(_sources, probers, by), tables[0])
                kept, of = (slots, by) if passes is None else (slots[passes], by[passes])
                times = self._latest(kept) if self._in_any_order else None
                yield Combinations(kept, of, self._shown.rows(kept, tables[0]), order, together, times=times)
        self._settle([e.take(new) for e, new in zip(events, brings, strict=True)], visibility)

    def _latest(self, slots: Ints) -> Ints:
        """The latest instant of the rows of each combination."""
        latest: Ints = np.maximum.reduce(
            [source.store.starts[slots[:, number]] for number, source in enumerate(self.inputs)]
        )
        return latest

    def _sample(
        self, events: list[Events], numbers: Ints, visibility: list[Int32s], since: Ints, tables: tuple[Ints, Ints]
    ) -> None:
        """Samples events that have been admitted, before they probe."""
        if self._sampler is None or not self._sampler.serves(self.choice.orders, self._indexes):
            self._sampler = JoinSampler(self.inputs, self.choice.orders, self._indexes)
        how = (events, numbers, visibility, since, tables, not self._insert_only)
        samples, examined = self._sampler.sample(self.wanted_samples, *how)
        self._samples, self._examined = tuple(samples), self._examined + examined
        self.wanted_samples = 0

    def _listed(
        self, probing: Probing, events: list[Events], brings: list[Some], decided: Ints | None
    ) -> Iterator[tuple[Ints, Ints]]:
        """Blocks of slots and of the numbers of events: combinations that the tests before the end of paths leave."""
        if self.caching.choice == NO_CACHES:
            is_empty = True
            for slots, by in self._segment(probing, probing.probers, np.empty((0, 0), np.int64), 0, decided):
                yield slots, by
                is_empty = False
            if is_empty:
                yield self._room[0][:0], self._room[1][:0]
            return
        for slots, by, time in self.caching.blocks(probing, events, brings, self._room):
            self.probing_time += time
            yield slots, by

    def _segment(
        self, probing: Probing, all_probers: Probers, prefixes: Ints, number: int, decided: Ints | None = None
    ) -> Iterator[tuple[Ints, Ints]]:
        """What the probers find from one depth behind which something is tested to the next, and on to the end."""
        ends = self._tests.ends
        segment = Segment(ends[number - 1] if number else 0, ends[number], prefixes)
        for slots, by in self._combined(probing, segment, decided):
            if number == len(ends) - 1:
                yield slots, by
                continue
            sources = _sources(all_probers, by)
            kept = self._tests.undropped(ends[number] - 1, slots, sources, probing.inputs)
            if kept.any():
                events = by[kept]
                places = np.searchsorted(all_probers.numbers, events)
                own = Probers(sources[kept], all_probers.slots[places], all_probers.signs[places], events)
                yield from self._segment(probing._replace(probers=own), all_probers, slots[kept], number + 1)

    def _combined(self, probing: Probing, segment: Segment, decided: Ints | None) -> Iterator[tuple[Ints, Ints]]:
        """Blocks of slots and of the numbers of events. Where few may be enough, they are short as long as they are."""
        progress = self._layout.begun()
        skipped = 0 if decided is None else address(decided)
        size = BLOCK if decided is None else FEW
        while True:
            slots, by = (part[:size] for part in self._room)
            begin = thread_time_ns()
            count = combine(*probing, skipped, segment, progress, slots, by)
            self.probing_time += thread_time_ns() - begin
            yield slots[:count], by[:count]
            if progress.registers[0] == len(probing.probers.slots):
                return
            if decided is not None:
                size = max(FEW, size // 4) if decided[slots[:, 0]].any() else min(BLOCK, 2 * size)

    def _counted_along(
        self, counter: PathCounter, probing: Probing, all_events: AllEvents, together: Events, lists: bool
    ) -> Iterator[Combinations]:
        order, columns = all_events.order, len(self._shown.places)
        for found in counter.blocks(probing, all_events, lists=lists):
            passes = self._tests.passing(found.slots, lambda: np.empty(0, np.int64), probing.inputs)
            block = found if passes is None else found.take(passes)
            signs = together.signs[order[block.by - 1]]
            shown = self._shown.rows(block.slots, probing.inputs)
            rows = block.rows(shown, columns, signs, self._counted)
            weights = np.where(block.modes == WEIGHED, block.weights, 0)
            yield Combinations(block.slots, block.by, rows, order, together, weights)

    def _admitted(
        self,
        events: list[Events],
        brings: list[Some],
        numbers: Ints,
        visibility: list[Int32s],
        since: Ints,
        tables: tuple[Ints, Ints],
    ) -> Int32s:
        """Notes who sees whom, and gives by event the number of its input, from 1 on, or 0 if it has no results."""
        by, start = np.empty(len(numbers), np.int32), 0
        arrays = self._layout.arrays
        for i, e in enumerate(events):
            new = brings[i]
            own, start = slice(start, start + len(e)), start + len(e)
            admit(visibility[i], e.slots[new], e.signs[new], numbers[own][new], since)
            first, hashes = self.probes[i][0], self._hashes[i]
            index = self._indexes[first.target, first.columns]
            wants_going, probes = not self._insert_only, self._tally.probes
            promising(index.heads, index.mask, hashes, e.signs, wants_going, i, by[own], probes)
            ask_for_first(by[own], hashes, tables[0], arrays.targets[i, 0], tables[1], arrays.probes[i, 0])
        return by

    def _settle(self, events: list[Events], visibility: list[Int32s]) -> None:
        for i, e in enumerate(events):
            settle(visibility[i], e.slots, e.signs)
            for index in self._own(i):
                unlink_rows(index.heads, index.links, e.slots, e.signs)

    def _input_table(self, visibility: list[Int32s]) -> Ints:
        lines = []
        for source, own in zip(self.inputs, visibility, strict=True):
            rows, (nulls, before) = source.store.rows, source.null_words()
            where = (0, 0) if nulls is None else (address(nulls) + 8 * before, nulls.shape[1])
            lines.append((address(rows), address(own), rows.shape[1], *where))
        return np.array(lines, np.int64)

    def _index_table(self) -> Ints:
        lines = [(len(index.columns), index.heads, index.links, index.mask) for index in self._indexes.values()]
        return np.array(lines, np.int64)


def _sources(probers: Probers, by: Ints) -> Ints:
    """The inputs of events, by their numbers."""
    return probers.sources[np.searchsorted(probers.numbers, by)]


class JoinOperator:
    """Join: all combinations."""

    def __init__(self, core: JoinCore) -> None:
        self._core = core

    def step(self, events: list[Events]) -> Blocks:
        for found in self._core.blocks([self._core.enter(i, e) for i, e in enumerate(events)]):
            yield found.deltas()
