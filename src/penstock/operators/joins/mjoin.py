"""mjoin: the n-way join, and on it semi-joins and anti-joins.

The join keeps nothing of its own but the hash indexes on its inputs' stores. Equalities are found by the indexes; other
predicates are tested on the combinations that the equalities leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import row_hashes
from penstock.kernels.index import link_rows, unlink_rows
from penstock.kernels.matching import match
from penstock.kernels.mjoin import (
    admit,
    ask_for_first,
    combine,
    materialise,
    number_events,
    promising,
    settle,
)
from penstock.kernels.pointers import address
from penstock.plan.probe_paths import Key, probe_paths
from penstock.synopsis.deltas import NULL_BITS, Deltas, row_width
from penstock.synopsis.events import Events, Some, one_after_the_other
from penstock.synopsis.indexed_inputs import IndexedInputs, JoinInput, positions
from penstock.synopsis.memory import Int32s, Ints, Scope

#: Says of rows whether a predicate is true of them.
Test = Callable[[Ints], NDArray[np.bool_]]


_ALL = slice(None)


class _Pipelines(NamedTuple):
    """What `kernels.mjoin.combine` calls so."""

    index_columns: Ints
    targets: Ints
    probes: Ints
    key_inputs: Ints
    key_columns: Ints


class Gathering(NamedTuple):
    """How `kernels.mjoin.materialise` makes rows of some columns of a combination: its last three arguments."""

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


class Combinations(NamedTuple):
    """Slots and rows, and of each the number of the event that found it.

    `order` has the places of those who have these numbers among the `events`.
    """

    slots: Ints
    by: Ints
    rows: Ints
    order: Ints
    events: Events


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
        test: Test | None,
        shown: tuple[int, ...],
        *,
        insert_only: bool,
        indexed: Iterable[tuple[int, tuple[int, ...]]] = (),
        keys: Iterable[Key] = (),
    ) -> None:
        """`indexed`: inputs and variables by which rows are found, besides those that the join itself probes."""
        self.paths = probe_paths([source.variables for source in inputs], keys)
        probed = {(probe.target, probe.columns) for path in self.paths for probe in path}
        more = {(number, positions(inputs[number], variables)) for number, variables in indexed}
        super().__init__(memory, inputs, probed | more, has_residual=test is not None)
        self._test = test
        self._insert_only = insert_only
        #: Of each input's events of this step, the hashes by which they are probed first.
        self._hashes: dict[int, Ints] = {}
        self._build_pipelines()
        #: Of all columns, which the test reads, and of those that are shown.
        self._all = Gathering.of(inputs, tuple(range(sum(source.columns for source in inputs))))
        self._shown = Gathering.of(inputs, shown)

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

    def step(self, events: list[Events]) -> tuple[Ints, Ints, Ints, Ints]:
        """Slots, times, signs and rows of the combinations that come and go, in the order of time.

        All events have entered.
        """
        found = self.combinations(events, [_ALL] * len(events))
        by = found.events.take(found.order[found.by - 1])
        return found.slots, by.ts, by.signs, found.rows

    def combinations(self, events: list[Events], brings: list[Some]) -> Combinations:
        """What is found by events that have entered."""
        together = one_after_the_other(events)
        numbers, order = (np.empty(len(together), np.int64) for _ in range(2))
        ends = np.cumsum([len(e) for e in events])
        number_events(together.ts, together.signs, ends - [len(e) for e in events], ends, numbers, order)
        visibility = [self.visibility(i) for i in range(len(self.inputs))]
        since = np.empty(len(order) + 1, np.int64)
        tables = (self._input_table(visibility), self._index_table())
        chosen = self._admitted(events, brings, np.split(numbers, ends[:-1]), visibility, since, tables)
        chosen = chosen[np.argsort(numbers[chosen])]
        sources = np.searchsorted(ends, chosen, side="right")
        picked = together.take(chosen)
        of_events = (sources, picked.slots, picked.signs, numbers[chosen])
        found, by = combine(*of_events, *tables, *self._pipelines, since, not self._insert_only)
        if self._test is not None and len(found):
            true = self._test(materialise(found, tables[0], *self._all))
            found, by = found[true], by[true]
        rows = materialise(found, tables[0], *self._shown)
        self._settle([e.take(new) for e, new in zip(events, brings, strict=True)], visibility)
        return Combinations(found, by, rows, order, together)

    def follow(self, number: int, events: Events) -> Events:
        """Events of an input in place of those that entered: the same, and others of rows that are there and go."""
        columns = np.array(self._first_columns[number], np.int64)
        self._hashes[number] = row_hashes(self.inputs[number].store.rows, events.slots, columns)
        return events

    def _admitted(
        self,
        events: list[Events],
        brings: list[Some],
        numbers: list[Ints],
        visibility: list[Int32s],
        since: Ints,
        tables: tuple[Ints, Ints],
    ) -> Ints:
        """Notes who sees whom, and gives the events that may have results, as places in their concatenation."""
        found = np.empty(max(map(len, events)) + 1, np.int64)
        places, start = [], 0
        for i, e in enumerate(events):
            new = brings[i]
            admit(visibility[i], e.slots[new], e.signs[new], numbers[i][new], since)
            target, probed = self._pipelines.targets[i, 0], self._pipelines.probes[i, 0]
            index, hashes = self._indexes[probed], self._hashes[i]
            count = promising(index.heads, index.mask, hashes, e.signs, not self._insert_only, found)
            ask_for_first(found[:count], hashes, tables[0], target, tables[1], probed)
            places.append(start + found[:count])
            start += len(e)
        return np.concatenate(places)

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
        lines = [(len(index.columns), index.heads, index.links, index.mask) for index in self._indexes]
        return np.array(lines, np.int64)

    def _build_pipelines(self) -> None:
        """The pipelines as arrays, for the kernel."""
        width, depths = len(self.inputs), len(self.inputs) - 1
        most = max([1, *(len(columns) for _, columns in self._index_keys)])
        self._first_columns = [tuple(column for _, column in pipeline[0].sources) for pipeline in self.paths]
        #: By input, the columns of which hashes are needed when a row enters.
        self._hashed = [
            {key: np.array(key, np.int64) for key in (first, *self._by_owner[number])}
            for number, first in enumerate(self._first_columns)
        ]
        self._pipelines = _Pipelines(
            np.zeros((len(self._index_keys), most), np.int64),
            np.zeros((width, depths), np.int64),
            np.zeros((width, depths), np.int64),
            np.zeros((width, depths, most), np.int64),
            np.zeros((width, depths, most), np.int64),
        )
        index_columns, targets, probes, key_inputs, key_columns = self._pipelines
        for n, (_, columns) in enumerate(self._index_keys):
            index_columns[n, : len(columns)] = columns
        for i, pipeline in enumerate(self.paths):
            for d, probe in enumerate(pipeline):
                targets[i, d] = probe.target
                probes[i, d] = self._index_keys.index((probe.target, probe.columns))
                for c, (origin, column) in enumerate(probe.sources):
                    key_inputs[i, d, c] = origin
                    key_columns[i, d, c] = column


class JoinOperator:
    """Join: all combinations."""

    def __init__(self, core: JoinCore) -> None:
        self._core = core

    def step(self, events: list[Events]) -> Deltas:
        _, times, signs, rows = self._core.step([self._core.enter(i, e) for i, e in enumerate(events)])
        return Deltas(times, signs, rows).in_order()


class SemiJoinOperator:
    """SemiJoin and AntiJoin: the rows of the first input that have a match in the second, or have none."""

    def __init__(self, memory: Scope, core: JoinCore, wants_match: bool) -> None:
        self._memory = memory
        self._core = core
        self._wants_match = wants_match

    def step(self, events: list[Events]) -> Deltas:
        slots, times, signs, _ = self._core.step([self._core.enter(i, e) for i, e in enumerate(events)])
        return self.shown(events[0], Events(times, signs, slots[:, 0]))

    def shown(self, left: Events, matches: Events) -> Deltas:
        """What shows when these rows of the first input come and go, and these matches of them."""
        store = self._core.inputs[0].store
        ts = np.concatenate((left.ts, matches.ts))
        kinds = np.repeat(np.array([0, 1], np.int64), (len(left), len(matches)))
        order = np.argsort(ts, kind="stable")
        shown = match(
            self._wants_match,
            ts[order],
            kinds[order],
            np.concatenate((left.signs, matches.signs))[order],
            np.concatenate((left.slots, matches.slots))[order],
            self.state(),
        )
        return Events(*shown).deltas(store)

    def forget(self, slots: Ints) -> None:
        """Rows of the left input show, or do not, as they did, and are counted no more."""
        self.state()[slots] = 0

    def bring_back(self, slots: Ints) -> None:
        """Rows of the left input that were forgotten when they had no match are counted again."""
        self.state()[slots] = 1, 0, 0, 0

    def state(self) -> Ints:
        """Of each slot of the left input what `kernels.matching` keeps."""
        return self._memory.array("matches", self._core.inputs[0].store.capacity, 4)
