"""mjoin: the n-way join, and on it semi-joins and anti-joins.

The join keeps nothing of its own but the hash indexes on its inputs' stores. Equalities are found by the indexes; other
predicates are tested on the combinations that the equalities leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from time import thread_time_ns
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.cached_mjoin import combine_cached
from penstock.kernels.hashing import row_hashes
from penstock.kernels.index import link_rows, unlink_rows
from penstock.kernels.matching import match
from penstock.kernels.mjoin import Paths as PathArrays
from penstock.kernels.mjoin import (
    Probers,
    Progress,
    StageCounts,
    admit,
    ask_for_first,
    combine,
    in_order,
    materialise,
    number_events,
    promising,
    settle,
)
from penstock.kernels.path_counting import ENTRIES, KEY, SUM_WIDTH, AllEvents, Memo, Sums, count_along
from penstock.kernels.pointers import address
from penstock.operators.blocks import Blocks, whole_instants
from penstock.operators.joins.join_caches import JoinCaches
from penstock.operators.joins.join_sampler import JoinSampler, SetSamples
from penstock.operators.joins.join_tuner import CacheTuner, JoinTuner
from penstock.plan.caches import NO_CACHES, Cache, CacheChoice, CacheCounts, CacheUse, candidates, globally_consistent
from penstock.plan.join_choice import JoinChoice
from penstock.plan.probe_paths import BLOCK, Key, Paths, Probe, ProbeCounts, located, paths_in_order
from penstock.synopsis.deltas import NULL_BITS, Deltas, row_width
from penstock.synopsis.events import Events, Some, one_after_the_other
from penstock.synopsis.indexed_inputs import IndexColumns, IndexedInputs, JoinInput, positions
from penstock.synopsis.memory import Int32s, Ints, Scope
from penstock.synopsis.store import BySlot

#: Says of rows whether a predicate is true of them.
Test = Callable[[Ints], NDArray[np.bool_]]
#: What `kernels.mjoin.combine` is given of a step.
Probing = tuple[Probers, Ints, Ints, PathArrays, Ints, bool, StageCounts]

_ALL = slice(None)

#: So many combinations are looked at first where a row may need but one.
FEW = 1 << 10


class Gathering(NamedTuple):
    """How `kernels.mjoin.materialise` makes rows of some columns of a combination, and how wide they are."""

    places: Ints
    nulls: Ints
    width: int

    @staticmethod
    def of(inputs: tuple[JoinInput, ...], columns: tuple[int, ...]) -> Gathering:
        """`columns` are positions among the columns of all inputs."""
        own = [(number, column) for number, source in enumerate(inputs) for column in range(source.columns)]
        places: list[tuple[int, ...]] = []
        nulls: dict[tuple[int, int], int] = {}
        for here, (number, column) in enumerate(own[at] for at in columns):
            word, bit = column // NULL_BITS, column % NULL_BITS
            places.append((number, column, word, bit, len(columns) + here // NULL_BITS, here % NULL_BITS))
            nulls[number, word] = nulls.get((number, word), 0) | 1 << bit
        masks = [(number, word, mask) for (number, word), mask in nulls.items()]
        return Gathering(_matrix(places, 6), _matrix(masks, 3), row_width(len(columns)))

    def rows(self, slots: Ints, inputs: Ints) -> Ints:
        """The rows of combinations."""
        rows = np.empty((len(slots), self.width), np.int64)
        materialise(slots, inputs, self.places, self.nulls, rows)
        return rows


@dataclass(frozen=True, slots=True)
class Residual:
    """What no index evaluates: a test of rows of some columns, which are positions among those of all inputs."""

    test: Test
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ColumnSum:
    """A column of an input whose values are added up, or only counted."""

    input: int
    column: int
    is_sum: bool


class Combinations(NamedTuple):
    """A block of combinations: their slots and rows, and of each the number of the event that found it.

    The slots are there until the next block is asked for. `order` has the places of those who have these numbers among
    the `events`.
    """

    slots: Ints
    by: Ints
    rows: Ints
    order: Ints
    events: Events
    #: How often each counts, if some inputs are counted.
    weights: Ints | None

    def deltas(self) -> Deltas:
        """What comes and goes."""
        places = self.order[self.by - 1]
        signs = self.events.signs[places]
        return Deltas(self.events.ts[places], signs if self.weights is None else signs * self.weights, self.rows)

    def take(self, some: Some) -> Combinations:
        weights = None if self.weights is None else self.weights[some]
        return self._replace(slots=self.slots[some], by=self.by[some], rows=self.rows[some], weights=weights)

    def matches(self) -> Deltas:
        """The combinations as matches of the first input's rows, by their slots."""
        places = self.order[self.by - 1]
        return Deltas(self.events.ts[places], self.events.signs[places], self.slots[:, :1].copy())


@dataclass(frozen=True, slots=True)
class JoinProfile:
    """What a join measured. Counts are those since it was built, of this process."""

    #: By which choice it works.
    choice: JoinChoice
    #: Events of each input, and all of them.
    events: Ints
    total: int
    #: Combinations that probed by input and depth of its path, and the rows that they matched.
    probes: Ints
    matches: Ints
    #: By input, the events that were sampled since the last profile; none if no part was.
    samples: tuple[SetSamples, ...]
    #: Rows that were examined for samples.
    examined: int
    #: Rows that each input keeps.
    stored: tuple[int, ...]


def _matrix(lines: Sequence[tuple[int, ...]], width: int) -> Ints:
    return np.array(lines, np.int64).reshape(-1, width)


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
        indexed: Iterable[tuple[int, tuple[int, ...]]] = (),
        counted: Sequence[int] = (),
        sums: Sequence[ColumnSum] = (),
        keys: Sequence[Key] = (),
        cached: Sequence[int] = (),
    ) -> None:
        """`paths` are used as long as the state has no others, and nothing is chosen. `keys` are those of inputs.

        `indexed`: inputs and variables by which rows are found, besides those that the join itself probes.

        `counted`: inputs whose rows are only counted; nothing of them is shown or tested, but `sums` of their columns
        lie behind the columns of each row.

        `cached`: inputs whose rows may be in subresult caches. Each row of theirs comes and goes by an event, or is
        forgotten.
        """
        #: The probes of the paths that it began with. Where something else finds rows, too, their indexes last.
        self.first_probes = probes = located(paths, [source.variables for source in inputs])
        self.first_orders = JoinChoice(paths).orders
        more = {(number, positions(inputs[number], variables)) for number, variables in indexed}
        lasting = _probed(probes) | more if more else set()
        super().__init__(memory, inputs, lasting, has_residual=residual is not None)
        self._insert_only = insert_only
        #: Of each input's events of this step, the hashes by which they are probed first.
        self._hashes: dict[int, Ints] = {}
        self._residual = residual
        self._tested = Gathering.of(inputs, () if residual is None else residual.columns)
        self._shown = Gathering.of(inputs, shown)
        self._counted = frozenset(counted)
        self._sums, self._sums_width = _sum_lines(sums)
        self._room = (np.empty((BLOCK, len(inputs)), np.int64), np.empty(BLOCK, np.int64))
        self._more_room = (np.empty(BLOCK, np.int64), np.empty((BLOCK, self._sums_width), np.int64))
        shape = len(inputs), len(inputs) - 1
        self._events = np.zeros(len(inputs), np.int64)
        #: Insertions and deletions since it was built.
        self.event_count = 0
        self._tally = StageCounts(np.zeros(shape, np.int64), np.zeros(shape, np.int64))
        self._keys = tuple(keys)
        self._cached = frozenset() if counted else frozenset(cached)
        self._caches: JoinCaches | None = None
        #: How caches were used that are replaced.
        self._cache_use = CacheUse()
        #: What replaces its caches between two parts of a step; None leaves them as they are.
        self.cache_tuner: CacheTuner | None = None
        #: Nanoseconds of this thread that probing took since the join was built.
        self.probing_time = 0
        #: How many events are to be sampled in the next part.
        self.wanted_samples = 0
        self._sampler: JoinSampler | None = None
        self._samples: tuple[SetSamples, ...] = ()
        self._examined = 0
        #: What replaces its choice between two parts of a step; None leaves it as it is.
        self.tuner: JoinTuner | None = None
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
        return JoinChoice(paths_in_order([source.variables for source in self.inputs], orders, self._keys))

    def use(self, choice: JoinChoice) -> None:
        """Works by this choice from the next part of a step on. Indexes that are missing are built, others dropped."""
        if choice == self.choice:
            return
        # The choice is part of the state: whoever goes on from it need not learn it again.
        self._memory.array("orders", len(self.inputs), len(self.inputs))[: len(self.inputs), 1:] = choice.orders
        self._adopt(choice)

    def _remembered(self) -> JoinChoice | None:
        """The choice that was in use when the state was persisted; None if it was the one it began with."""
        orders = self._memory.array("orders", 0, len(self.inputs))
        return self.in_order(orders[: len(self.inputs), 1:].tolist()) if len(orders) else None

    def _adopt(self, choice: JoinChoice) -> None:
        self.choice = choice
        self.probes = located(choice.paths, [source.variables for source in self.inputs])
        self.keep_indexes(_probed(self.probes))
        self._lay_out_paths()
        if self._caches is not None:
            self.use_caches(self._caches.choice.kept_by(self.cache_candidates()))

    def cache_candidates(self) -> tuple[Cache, ...]:
        """The subresult caches that the paths in use allow."""
        uncached = set(range(len(self.inputs))) - self._cached
        given = (self.choice.orders, [source.variables for source in self.inputs], uncached)
        return *candidates(*given), *globally_consistent(*given)

    @property
    def cache_choice(self) -> CacheChoice:
        return NO_CACHES if self._caches is None else self._caches.choice

    def use_caches(self, choice: CacheChoice) -> None:
        """Looks up these caches from the next part of a step on. What is used as before stays filled."""
        assert {*choice.used, *choice.profiled} <= {*self.cache_candidates()}, "a cache must keep the prefix invariant"
        self._cache_use = self.cache_use()
        is_empty = not choice.used and not choice.profiled
        self._caches = None if is_empty else JoinCaches(self.inputs, self.probes, choice, self._caches)

    def cache_counts(self) -> dict[Cache, CacheCounts]:
        """How its caches were used since they were chosen."""
        return {} if self._caches is None else self._caches.counts()

    def cache_use(self) -> CacheUse:
        """How its caches were used since the join was built, and the memory that they take."""
        before, caches = self._cache_use, self._caches
        if caches is None:
            return CacheUse(before.lookups, before.hits)
        own = [counts for cache, counts in caches.counts().items() if cache in caches.choice.used]
        lookups, hits = sum(each.lookups for each in own), sum(each.hits for each in own)
        return CacheUse(before.lookups + lookups, before.hits + hits, caches.nbytes)

    def bring_back(self, number: int, slots: Ints) -> None:
        super().bring_back(number, slots)
        if self._caches is not None:
            # These rows come without an event, so what is cached may lack them.
            self._caches.clear()

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

    def blocks(
        self, events: list[Events], brings: list[Some] | None = None, decided: Ints | None = None
    ) -> Iterator[Combinations]:
        """What is found by events that have entered, in the order of time, block by block; at least one.

        `brings` are those of each input's events that bring a row. With `decided` only the first combinations of a
        row of the first input are wanted, until somebody says at its slot, between two blocks, that it has enough.
        """
        brings = brings or [_ALL] * len(events)
        together = one_after_the_other(events)
        numbers, order = (np.empty(len(together), np.int64) for _ in range(2))
        bounds = np.array([0, *accumulate(map(len, events))], np.int64)
        ends = bounds[1:]
        number_events(together.ts, together.signs, bounds[:-1].copy(), ends, numbers, order)
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
        probing = (probers, *tables, self._arrays, since, not self._insert_only, self._tally)
        if self._is_counted.any():
            everything = AllEvents(together.slots, together.signs, order, ends)
            for slots, by, weights, partials in self._counted_along(probing, count, everything):
                rows = self._shown.rows(slots, tables[0])
                rows = np.concatenate((rows, partials), axis=1) if self._sums_width else rows
                yield Combinations(slots, by, rows, order, together, weights)
        else:
            if self._caches is None:
                blocks = self._combined(probing, count, decided)
            else:
                self._caches.begin(events, brings)
                blocks = self._combined_cached(self._caches, probing, count)
            for slots, by in blocks:
                found, rows = self._matching(slots, by, tables[0])
                yield Combinations(*found, rows, order, together, None)
        self._settle([e.take(new) for e, new in zip(events, brings, strict=True)], visibility)

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

    def _combined(self, probing: Probing, events: int, decided: Ints | None) -> Iterator[tuple[Ints, Ints]]:
        """Blocks of slots and of the numbers of events. Where few may be enough, they are short as long as they are."""
        progress = self._begun()
        skipped = 0 if decided is None else address(decided)
        size = BLOCK if decided is None else FEW
        while True:
            slots, by = (part[:size] for part in self._room)
            begin = thread_time_ns()
            count = combine(*probing, skipped, progress, slots, by)
            self.probing_time += thread_time_ns() - begin
            yield slots[:count], by[:count]
            if progress.registers[0] == events:
                return
            if decided is not None:
                size = max(FEW, size // 4) if decided[slots[:, 0]].any() else min(BLOCK, 2 * size)

    def _combined_cached(self, caches: JoinCaches, probing: Probing, events: int) -> Iterator[tuple[Ints, Ints]]:
        """The blocks of `_combined`, found with the help of caches."""
        progress, places = self._begun(), caches.places(len(self.inputs) - 1)
        slots, by = self._room
        while True:
            begin = thread_time_ns()
            count = combine_cached(*probing, caches.arrays, caches.step, progress, places, slots, by)
            self.probing_time += thread_time_ns() - begin
            yield slots[:count], by[:count]
            if progress.registers[0] == events:
                return

    def _counted_along(
        self, probing: Probing, count: int, events: AllEvents
    ) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
        """Blocks of slots, of the numbers of events, of how often each counts, and of partial aggregates."""
        progress, weights = self._begun(), np.empty(len(self.inputs), np.int64)
        most = self._arrays.index_columns.shape[1]
        depths, width = self._arrays.targets.shape[1], len(self._sums) * SUM_WIDTH
        sums = Sums(self._sums, np.zeros((depths, width), np.int64), np.zeros(depths, np.int64))
        entries = np.zeros((ENTRIES, KEY + most + width), np.int64)
        memo = Memo(entries, np.full(1, -1, np.int64), self._counting_indexes, np.empty((1, most), np.int64))
        slots, by = self._room
        copies, partials = self._more_room
        while True:
            where = (progress, weights, sums, slots, by, copies, partials)
            found = count_along(*probing, self._is_counted, memo, events, *where)
            yield slots[:found], by[:found], copies[:found], partials[:found]
            if progress.registers[0] == count:
                return

    def _matching(self, slots: Ints, by: Ints, inputs: Ints) -> tuple[tuple[Ints, Ints], Ints]:
        """The combinations that the residual predicates leave, and their rows."""
        if self._residual is not None and len(slots):
            true = self._residual.test(self._tested.rows(slots, inputs))
            slots, by = slots[true], by[true]
        return (slots, by), self._shown.rows(slots, inputs)

    def _begun(self) -> Progress:
        depths, most = self._arrays.targets.shape[1], self._arrays.index_columns.shape[1]
        registers, bound, cursor = (
            np.array([0, -1, 1]),
            np.empty(len(self.inputs), np.int64),
            np.empty(depths, np.int64),
        )
        return Progress(registers, bound, cursor, np.empty((depths, most), np.int64))

    def follow(self, number: int, events: Events) -> Events:
        """Events of an input in place of those that entered: the same, and others of rows that are there and go."""
        columns = np.array(self._first_columns[number], np.int64)
        self._hashes[number] = row_hashes(self.inputs[number].store.rows, events.slots, columns)
        return events

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
        for i, e in enumerate(events):
            new = brings[i]
            own, start = slice(start, start + len(e)), start + len(e)
            admit(visibility[i], e.slots[new], e.signs[new], numbers[own][new], since)
            target, probed = self._arrays.targets[i, 0], self._arrays.probes[i, 0]
            first, hashes = self.probes[i][0], self._hashes[i]
            index = self._indexes[first.target, first.columns]
            wants_going, probes = not self._insert_only, self._tally.probes
            promising(index.heads, index.mask, hashes, e.signs, wants_going, i, by[own], probes)
            ask_for_first(by[own], hashes, tables[0], target, tables[1], probed)
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

    def _lay_out_paths(self) -> None:
        """The paths as arrays, for the kernel."""
        width, depths = len(self.inputs), len(self.inputs) - 1
        numbers = {key: number for number, key in enumerate(self._indexes)}
        most = max([1, *(len(columns) for _, columns in numbers)])
        self._first_columns = [tuple(column for _, column in path[0].sources) for path in self.probes]
        #: By input, the columns of which hashes are needed when a row enters.
        self._hashed = [
            {key: np.array(key, np.int64) for key in (first, *self._by_owner[number])}
            for number, first in enumerate(self._first_columns)
        ]
        self._arrays = PathArrays(
            np.zeros((len(numbers), most), np.int64),
            np.zeros((width, depths), np.int64),
            np.zeros((width, depths), np.int64),
            np.zeros((width, depths, most), np.int64),
            np.zeros((width, depths, most), np.int64),
        )
        index_columns, targets, probes, key_inputs, key_columns = self._arrays
        for (_, columns), n in numbers.items():
            index_columns[n, : len(columns)] = columns
        for i, path in enumerate(self.probes):
            for d, probe in enumerate(path):
                targets[i, d] = probe.target
                probes[i, d] = numbers[probe.target, probe.columns]
                for c, (origin, column) in enumerate(probe.sources):
                    key_inputs[i, d, c] = origin
                    key_columns[i, d, c] = column
        self._lay_out_counting()

    def _lay_out_counting(self) -> None:
        """By input and depth whether a stage is counted, and by input the indexes that such stages probe."""
        stages = [
            [
                probe.target in self._counted
                and all(origin != probe.target for later in path[d + 1 :] for origin, _ in later.sources)
                for d, probe in enumerate(path)
            ]
            for path in self.probes
        ]
        self._is_counted = np.array(stages, np.int64)
        targets, probes = self._arrays.targets, self._arrays.probes
        self._counting_indexes = np.full((len(self.inputs), max(1, probes.size)), -1, np.int64)
        for number, line in enumerate(self._counting_indexes):
            own = np.unique(probes[(self._is_counted != 0) & (targets == number)])
            line[: len(own)] = own


def _sum_lines(sums: Sequence[ColumnSum]) -> tuple[Ints, int]:
    """The table of sums of `kernels.path_counting`, and how many words results have of them."""
    lines, width = [], 0
    for each in sums:
        null = (each.column // NULL_BITS, each.column % NULL_BITS)
        lines.append((each.input, each.column, *null, int(each.is_sum), width))
        width += SUM_WIDTH if each.is_sum else 1
    return _matrix(lines, 6), width


def _probed(probes: Sequence[Sequence[Probe]]) -> set[IndexColumns]:
    """By which columns of which inputs rows are found along paths."""
    return {(probe.target, probe.columns) for path in probes for probe in path}


class JoinOperator:
    """Join: all combinations."""

    def __init__(self, core: JoinCore) -> None:
        self._core = core

    def step(self, events: list[Events]) -> Blocks:
        for found in self._core.blocks([self._core.enter(i, e) for i, e in enumerate(events)]):
            yield found.deltas()


class SemiJoinOperator:
    """SemiJoin and AntiJoin: the rows of the first input that have a match in the second, or have none.

    If rows only arrive (`grows`), what has one match needs no other: it is then looked for no more.
    """

    def __init__(self, memory: Scope, core: JoinCore, wants_match: bool, *, grows: bool = False) -> None:
        self._memory = memory
        self._core = core
        self._wants_match = wants_match
        self._decided = BySlot(memory, "decided", core.inputs[0].store) if grows else None

    def step(self, events: list[Events]) -> Blocks:
        entered = [self._core.enter(i, e) for i, e in enumerate(events)]
        yield from self.shown(events[0], self.matches(entered))

    def matches(
        self,
        entered: list[Events],
        kept: Callable[[Combinations], Some] = lambda found: _ALL,
        observe: Callable[[Ints], None] = lambda slots: None,
    ) -> Blocks:
        """The matches of left rows by their slots, of combinations that are `kept`, whose slots somebody observes."""
        decided = None if self._decided is None else self._decided.array()
        if decided is not None:
            decided[entered[0].slots] = 0
        for found in self._core.blocks(entered, decided=decided):
            some = found.take(kept(found))
            observe(some.slots)
            matches = some.matches()
            if decided is not None:
                decided[matches.rows[:, 0]] = 1
            yield matches

    def shown(self, left: Events, matches: Iterable[Deltas]) -> Blocks:
        """What shows when these rows of the first input come and go, and these matches of them."""
        start, before = 0, None
        for block in whole_instants(matches):
            if before is not None and len(before):
                end = int(np.searchsorted(left.ts, before.ts[-1], side="right"))
                yield self._shown(left.take(slice(start, end)), before)
                start = end
            before = block
        assert before is not None
        yield self._shown(left.take(slice(start, None)), before)

    def _shown(self, left: Events, matches: Deltas) -> Deltas:
        store = self._core.inputs[0].store
        ts = np.concatenate((left.ts, matches.ts))
        kinds = np.repeat(np.array([0, 1], np.int64), (len(left), len(matches)))
        order = np.argsort(ts, kind="stable")
        shown = match(
            self._wants_match,
            ts[order],
            kinds[order],
            np.concatenate((left.signs, matches.weight))[order],
            np.concatenate((left.slots, matches.rows[:, 0]))[order],
            self.state(),
        )
        return Events(*shown).deltas(store)

    def forget(self, slots: Ints) -> None:
        """Rows of the left input show, or do not, as they did, and are counted no more."""
        self.state()[slots] = 0

    def bring_back(self, slots: Ints) -> None:
        """Rows of the left input that were forgotten when they had no match are counted again."""
        self.state()[slots] = 1, 0, 0, 0
        if self._decided is not None:
            self._decided.array()[slots] = 0

    def state(self) -> Ints:
        """Of each slot of the left input what `kernels.matching` keeps."""
        return self._memory.array("matches", self._core.inputs[0].store.capacity, 4)
