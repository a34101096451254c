"""mjoin: the n-way join, and on it semi-joins and anti-joins.

The join keeps nothing of its own but the hash indexes on its inputs' stores. Equalities are found by the indexes; other
predicates are tested on the combinations that the equalities leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.evidence import holds, mark_rows
from penstock.kernels.hashing import row_hashes
from penstock.kernels.index import link_rows, unlink_rows
from penstock.kernels.matching import match
from penstock.kernels.mjoin import (
    ABSENT,
    PRESENT,
    admit,
    ask_for_first,
    combine,
    materialise,
    number_events,
    promising,
    settle,
)
from penstock.kernels.nulls import has_null
from penstock.kernels.pointers import address
from penstock.kernels.rows import gather
from penstock.operators.events import Events, Some, one_after_the_other
from penstock.synopsis.deltas import NULL_BITS, Deltas, null_masks, row_width
from penstock.synopsis.index import Index
from penstock.synopsis.memory import Halves, Ints, Memory
from penstock.synopsis.store import HalvesBySlot, RowStore

#: Says of rows whether a predicate is true of them.
Test = Callable[[Ints], NDArray[np.bool_]]


_ALL = slice(None)


@dataclass(frozen=True, slots=True)
class JoinInput:
    """An input: its store, its number of columns, and for each join variable the column that holds it, or None."""

    store: RowStore
    columns: int
    variables: tuple[int | None, ...]

    def null_words(self) -> tuple[Ints | None, int]:
        """Where the null words of rows are, if there are any, and how many other words stand before them."""
        return (self.store.nulls, 0) if self.store.nulls_apart else (self.store.rows, self.columns)


@dataclass(frozen=True, slots=True)
class Probe:
    """A step of a pipeline: which input is probed, by which of its columns, with values from where."""

    target: int
    columns: tuple[int, ...]
    sources: tuple[tuple[int, int], ...]


#: An input, and variables of which no two of its rows have the same values.
Key = tuple[int, tuple[int, ...]]


def pipelines(inputs: tuple[JoinInput, ...], keys: Iterable[Key] = ()) -> tuple[tuple[Probe, ...], ...]:
    """For each input an order in which the others are probed: those that share a variable with what is bound first.

    Of these, inputs that are probed by a key come before all others. They have a match or none; so of what is
    probed after them there is less, and not more.
    """
    return tuple(_pipeline(start, inputs, list(keys)) for start in range(len(inputs)))


def _pipeline(start: int, inputs: tuple[JoinInput, ...], keys: Sequence[Key]) -> tuple[Probe, ...]:
    bound = {v: (start, c) for v, c in enumerate(inputs[start].variables) if c is not None}
    left = [i for i in range(len(inputs)) if i != start]
    probes: list[Probe] = []
    while left:
        shared = {i: [v for v, c in enumerate(inputs[i].variables) if c is not None and v in bound] for i in left}
        keyed = {i for i, key in keys if i in left and set(key) <= set(shared[i])}
        target = max(left, key=lambda i: (i in keyed, len(shared[i]), -i))
        own = inputs[target].variables
        key = [(column, bound[v]) for v in shared[target] if (column := own[v]) is not None]
        probes.append(Probe(target, tuple(c for c, _ in key), tuple(source for _, source in key)))
        for v, column in enumerate(own):
            if column is not None:
                bound.setdefault(v, (target, column))
        left.remove(target)
    return tuple(probes)


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


class JoinCore:
    """The combinations of rows that come and go, by slots, and rows of those columns of theirs that are `shown`.

    With `only_coming` nobody wants to know which of them go: then no row that goes is probed for.
    """

    def __init__(
        self,
        memory: Memory,
        name: str,
        inputs: tuple[JoinInput, ...],
        test: Test | None,
        shown: tuple[int, ...],
        *,
        only_coming: bool,
        looked_up: Iterable[tuple[int, tuple[int, ...]]] = (),
        keys: Iterable[Key] = (),
    ) -> None:
        """`looked_up`: inputs and variables by which others look for rows, beside the join itself."""
        self._memory = memory
        self._name = name
        self.inputs = inputs
        self._test = test
        self._lives = [
            HalvesBySlot(memory, f"{name}.{number}.lives", source.store) for number, source in enumerate(inputs)
        ]
        self._places: dict[Key, Ints] = {}
        self._numbers: dict[Key, int] = {}
        self._only_coming = only_coming
        #: Of each input's events of this step, the hashes by which they are probed first.
        self._hashes: dict[int, Ints] = {}
        self.plan = pipelines(inputs, keys)
        self._build_indexes({(number, self._positions(number, variables)) for number, variables in looked_up})
        self._build_pipelines()
        #: Of all columns, which the test reads, and of those that are shown.
        self._all = Gathering.of(inputs, tuple(range(sum(source.columns for source in inputs))))
        self._shown = Gathering.of(inputs, shown)
        if memory.restored:
            for (owner, _), index in zip(self._index_keys, self._indexes, strict=True):
                store = inputs[owner].store
                index.rebuild(store.capacity, store.rows, np.flatnonzero(self.lives(owner) != ABSENT))

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
        lives = [self.lives(i) for i in range(len(self.inputs))]
        since = np.empty(len(order) + 1, np.int64)
        tables = (self._input_table(lives), self._index_table())
        chosen = self._admitted(events, brings, np.split(numbers, ends[:-1]), lives, since, tables)
        chosen = chosen[np.argsort(numbers[chosen])]
        sources = np.searchsorted(ends, chosen, side="right")
        picked = together.take(chosen)
        of_events = (sources, picked.slots, picked.signs, numbers[chosen])
        found, by = combine(*of_events, *tables, *self._pipelines, since, not self._only_coming)
        if self._test is not None and len(found):
            true = self._test(materialise(found, tables[0], *self._all))
            found, by = found[true], by[true]
        rows = materialise(found, tables[0], *self._shown)
        self._settle([e.take(new) for e, new in zip(events, brings, strict=True)], lives)
        return Combinations(found, by, rows, order, together)

    def forget(self, number: int, slots: Ints) -> None:
        """Rows of an input are in the join no more, and nothing comes out for it."""
        self.lives(number)[slots] = ABSENT
        for index in self._own(number):
            unlink_rows(index.heads, index.links, slots, np.full(len(slots), -1, np.int64))

    def bring_back(self, number: int, slots: Ints) -> None:
        """Rows of an input that were forgotten are in the join again, as before this step; nothing comes out for it."""
        store = self.inputs[number].store
        self.lives(number)[slots] = PRESENT
        for index in self._own(number):
            index.fit(len(store), store.capacity, store.rows)
            index.put(store.rows, slots)

    def follow(self, number: int, events: Events) -> Events:
        """Events of an input in place of those that entered: the same, and others of rows that are there and go."""
        columns = np.array(self._first_columns[number], np.int64)
        self._hashes[number] = row_hashes(self.inputs[number].store.rows, events.slots, columns)
        return events

    @property
    def has_test(self) -> bool:
        """Whether there are predicates that the indexes do not see to."""
        return self._test is not None

    def indexes(self) -> list[tuple[tuple[int, tuple[int, ...]], Index]]:
        """The indexes, each with its input and columns."""
        return list(zip(self._index_keys, self._indexes, strict=True))

    def index_number(self, number: int, variables: tuple[int, ...]) -> int:
        """Which index finds rows of an input by these variables."""
        if (number, variables) not in self._numbers:
            self._numbers[number, variables] = self._index_keys.index((number, self._positions(number, variables)))
        return self._numbers[number, variables]

    def index(self, number: int, columns: tuple[int, ...]) -> Index:
        return self._indexes[self._index_keys.index((number, columns))]

    def index_on(self, number: int, variables: tuple[int, ...]) -> Index:
        return self._indexes[self.index_number(number, variables)]

    def places(self, number: int, variables: tuple[int, ...]) -> Ints:
        """The columns of an input that hold variables."""
        if (number, variables) not in self._places:
            self._places[number, variables] = np.array(self._positions(number, variables), np.int64)
        return self._places[number, variables]

    def has_variables(self, number: int, variables: tuple[int, ...]) -> bool:
        return all(self.inputs[number].variables[variable] is not None for variable in variables)

    def variable(self, number: int, column: int) -> int:
        """The variable that a column of an input holds."""
        return self.inputs[number].variables.index(column)

    def has_null(self, number: int, slots: Ints) -> NDArray[np.bool_]:
        """Which rows of an input have a NULL in a join column."""
        source = self.inputs[number]
        columns = {column for column in source.variables if column is not None}
        nulls, first = source.null_words()
        if nulls is None or not columns or not len(slots):
            return np.zeros(len(slots), np.bool_)
        return np.asarray(has_null(nulls, slots, *null_masks(columns, first)), np.bool_)

    def keys(self, number: int, variables: tuple[int, ...], slots: Ints) -> Ints:
        """The values that rows of an input have of variables."""
        return gather(self.inputs[number].store.rows, slots, self.places(number, variables))

    def holds(self, number: int, variables: tuple[int, ...], keys: Ints) -> NDArray[np.bool_]:
        """Whether an input has a row with each key."""
        found = np.zeros(len(keys), np.int64)
        index = self.index_on(number, variables)
        rows = self.inputs[number].store.rows
        if index.mask >= 0:  # Before the first step there is nothing.
            holds(keys, rows, index.columns, index.heads, index.mask, index.links, found)
        return found.astype(np.bool_)

    def mark_rows(self, number: int, variables: tuple[int, ...], keys: Ints, marks: Halves, as_what: int) -> None:
        """Marks the rows of an input that have one of these keys, by slot, if they are not marked as more."""
        index = self.index_on(number, variables)
        if index.mask >= 0:
            rows, hashes = (
                self.inputs[number].store.rows,
                row_hashes(keys, np.arange(len(keys)), np.arange(keys.shape[1])),
            )
            mark_rows(keys, hashes, rows, index.columns, index.heads, index.mask, index.links, marks, as_what)

    def _positions(self, number: int, variables: tuple[int, ...]) -> tuple[int, ...]:
        columns = (self.inputs[number].variables[variable] for variable in variables)
        return tuple(column for column in columns if column is not None)

    def _admitted(
        self,
        events: list[Events],
        brings: list[Some],
        numbers: list[Ints],
        lives: list[Halves],
        since: Ints,
        tables: tuple[Ints, Ints],
    ) -> Ints:
        """Notes who sees whom, and gives the events that may have results, as places in their concatenation."""
        found = np.empty(max(map(len, events)) + 1, np.int64)
        places, start = [], 0
        for i, e in enumerate(events):
            new = brings[i]
            admit(lives[i], e.slots[new], e.signs[new], numbers[i][new], since)
            target, probed = self._pipelines.targets[i, 0], self._pipelines.probes[i, 0]
            index, hashes = self._indexes[probed], self._hashes[i]
            count = promising(index.heads, index.mask, hashes, e.signs, not self._only_coming, found)
            ask_for_first(found[:count], hashes, tables[0], target, tables[1], probed)
            places.append(start + found[:count])
            start += len(e)
        return np.concatenate(places)

    def _settle(self, events: list[Events], lives: list[Halves]) -> None:
        for i, e in enumerate(events):
            settle(lives[i], e.slots, e.signs)
            for index in self._own(i):
                unlink_rows(index.heads, index.links, e.slots, e.signs)

    def _own(self, number: int) -> Iterable[Index]:
        """The indexes on an input's rows."""
        return self._by_owner[number].values()

    def lives(self, number: int) -> Halves:
        """Of each slot what `kernels.mjoin` calls its life."""
        return self._lives[number].array()

    def without_nulls(self, number: int, events: Events) -> Events:
        """A NULL joins with nothing, so a row with one in a join column is as good as not there."""
        null = self.has_null(number, events.slots)
        if not null.any():
            return events
        return Events(events.ts[~null], events.signs[~null], events.slots[~null])

    def _build_indexes(self, more: set[tuple[int, tuple[int, ...]]]) -> None:
        """The indexes that some pipeline probes, or somebody else, in the order of their owners."""
        keys = {(probe.target, probe.columns) for pipeline in self.plan for probe in pipeline}
        self._index_keys = sorted(keys | more)
        self._indexes = [
            Index(self._memory, f"{self._name}.index{n}", columns) for n, (_, columns) in enumerate(self._index_keys)
        ]
        found = list(zip(self._index_keys, self._indexes, strict=True))
        self._by_owner = [{key: index for (owner, key), index in found if owner == n} for n in range(len(self.inputs))]

    def _input_table(self, lives: list[Halves]) -> Ints:
        lines = []
        for source, own in zip(self.inputs, lives, strict=True):
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
        self._first_columns = [tuple(column for _, column in pipeline[0].sources) for pipeline in self.plan]
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
        for i, pipeline in enumerate(self.plan):
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

    def __init__(self, memory: Memory, name: str, core: JoinCore, wants_match: bool) -> None:
        self._memory = memory
        self._name = name
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
        return self._memory.array(f"{self._name}.matches", self._core.inputs[0].store.capacity, 4)
