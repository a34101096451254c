"""mjoin: the n-way join, and on it semi-joins and anti-joins.

The join keeps nothing of its own but the hash indexes on its inputs' stores. Equalities are found by the indexes; other
predicates are tested on the combinations that the equalities leave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.matching import match
from penstock.kernels.mjoin import mjoin
from penstock.kernels.pointers import address
from penstock.operators.events import Events
from penstock.synopsis.deltas import Deltas, is_null, row_width
from penstock.synopsis.index import Index
from penstock.synopsis.memory import Ints, Memory
from penstock.synopsis.store import RowStore

#: Says of rows whether a predicate is true of them.
Test = Callable[[Ints], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class JoinInput:
    """An input: its store, its number of columns, and for each join variable the column that holds it, or None."""

    store: RowStore
    columns: int
    variables: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """A step of a pipeline: which input is probed, by which of its columns, with values from where."""

    target: int
    columns: tuple[int, ...]
    sources: tuple[tuple[int, int], ...]


def pipelines(inputs: tuple[JoinInput, ...]) -> tuple[tuple[Probe, ...], ...]:
    """For each input an order in which the others are probed: those that share a variable with what is bound first."""
    return tuple(_pipeline(start, inputs) for start in range(len(inputs)))


def _pipeline(start: int, inputs: tuple[JoinInput, ...]) -> tuple[Probe, ...]:
    bound = {v: (start, c) for v, c in enumerate(inputs[start].variables) if c is not None}
    left = [i for i in range(len(inputs)) if i != start]
    probes: list[Probe] = []
    while left:
        shared = {i: [v for v, c in enumerate(inputs[i].variables) if c is not None and v in bound] for i in left}
        target = max(left, key=lambda i: (len(shared[i]), -i))
        own = inputs[target].variables
        key = [(column, bound[v]) for v in shared[target] if (column := own[v]) is not None]
        probes.append(Probe(target, tuple(c for c, _ in key), tuple(source for _, source in key)))
        for v, column in enumerate(own):
            if column is not None:
                bound.setdefault(v, (target, column))
        left.remove(target)
    return tuple(probes)


class JoinCore:
    """The combinations of rows that come and go, by slots."""

    def __init__(
        self, memory: Memory, name: str, inputs: tuple[JoinInput, ...], kept: list[list[int]], test: Test | None
    ) -> None:
        self._memory = memory
        self._name = name
        self.inputs = inputs
        #: Of each input the columns that results carry, in the order of the inputs.
        self._kept = kept
        self._test = test
        self._plan = pipelines(inputs)
        self._build_indexes()
        self._build_pipelines()
        if memory.restored:
            for (owner, _), index in zip(self._index_keys, self._indexes, strict=True):
                store = inputs[owner].store
                index.rebuild(store.capacity, store.rows, np.flatnonzero(self._joined(owner) >= 0))

    def step(self, events: list[Events]) -> tuple[Ints, Ints, Ints, Ints]:
        """Slots, times, signs and rows of the combinations that come and go."""
        merged = self._merged([self._without_nulls(i, e) for i, e in enumerate(events)])
        for (owner, _), index in zip(self._index_keys, self._indexes, strict=True):
            index.fit(self.inputs[owner].store.capacity, self.inputs[owner].store.rows)
        stores = [self._joined(i) for i in range(len(self.inputs))]
        slots, times, signs = mjoin(*merged, self._input_table(stores), self._index_table(), *self._pipelines)
        rows = self._materialise(slots)
        if self._test is not None and len(rows):
            true = self._test(rows)
            slots, times, signs, rows = slots[true], times[true], signs[true], rows[true]
        return slots, times, signs, rows

    def _joined(self, number: int) -> Ints:
        """-1: not in the join; 0: never in a result; 1: has been in one."""
        capacity = self.inputs[number].store.capacity
        return self._memory.array(f"{self._name}.{number}.joined", capacity, fill=-1)

    def _without_nulls(self, number: int, events: Events) -> Events:
        """A NULL joins with nothing, so a row with one in a join column is as good as not there."""
        source = self.inputs[number]
        columns = {column for column in source.variables if column is not None}
        if not columns or not len(events):
            return events
        words = source.store.rows[:, source.columns :]
        if not words.any():
            return events
        rows = source.store.rows[events.slots]
        null = np.zeros(len(rows), np.bool_)
        for column in columns:
            null |= is_null(rows, column, source.columns)
        return Events(events.ts[~null], events.signs[~null], events.slots[~null])

    def _merged(self, events: list[Events]) -> tuple[Ints, Ints, Ints, Ints]:
        """The events of all inputs in the order of time: input, slot, time, sign."""
        numbers = np.concatenate([np.full(len(e), i, np.int64) for i, e in enumerate(events)])
        ts = np.concatenate([e.ts for e in events])
        slots = np.concatenate([e.slots for e in events])
        signs = np.concatenate([e.signs for e in events])
        order = np.argsort(ts, kind="stable")
        return numbers[order], slots[order], ts[order], signs[order]

    def _materialise(self, slots: Ints) -> Ints:
        """The rows of combinations: the kept columns of each input, and their null bits."""
        columns = sum(len(kept) for kept in self._kept)
        out = np.zeros((len(slots), row_width(columns)), np.int64)
        at = 0
        for number, kept in enumerate(self._kept):
            source = self.inputs[number]
            rows = source.store.rows[slots[:, number]]
            for column in kept:
                out[:, at] = rows[:, column]
                nulls = is_null(rows, column, source.columns)
                if nulls.any():
                    out[:, columns + at // 63] |= nulls.astype(np.int64) << (at % 63)
                at += 1
        return out

    def _build_indexes(self) -> None:
        keys = dict.fromkeys((probe.target, probe.columns) for pipeline in self._plan for probe in pipeline)
        self._index_keys = list(keys)
        self._indexes = [
            Index(self._memory, f"{self._name}.index{n}", columns) for n, (_, columns) in enumerate(self._index_keys)
        ]

    def _input_table(self, joined: list[Ints]) -> Ints:
        lines = [
            (address(i.store.rows), address(i.store.starts), address(flags), i.store.rows.shape[1])
            for i, flags in zip(self.inputs, joined, strict=True)
        ]
        return np.array(lines, np.int64)

    def _index_table(self) -> Ints:
        lines = [
            (owner, len(columns), address(index.heads), address(index.links), len(index.heads) - 1)
            for (owner, columns), index in zip(self._index_keys, self._indexes, strict=True)
        ]
        return np.array(lines, np.int64)

    def _build_pipelines(self) -> None:
        """The pipelines as arrays, for the kernel."""
        width, depths = len(self.inputs), len(self.inputs) - 1
        most = max([1, *(len(columns) for _, columns in self._index_keys)])
        index_columns = np.zeros((len(self._index_keys), most), np.int64)
        for n, (_, columns) in enumerate(self._index_keys):
            index_columns[n, : len(columns)] = columns
        targets = np.zeros((width, depths), np.int64)
        probes = np.zeros((width, depths), np.int64)
        key_inputs = np.zeros((width, depths, most), np.int64)
        key_columns = np.zeros((width, depths, most), np.int64)
        for i, pipeline in enumerate(self._plan):
            for d, probe in enumerate(pipeline):
                targets[i, d] = probe.target
                probes[i, d] = self._index_keys.index((probe.target, probe.columns))
                for c, (origin, column) in enumerate(probe.sources):
                    key_inputs[i, d, c] = origin
                    key_columns[i, d, c] = column
        self._pipelines = (index_columns, targets, probes, key_inputs, key_columns)


class JoinOperator:
    """Join: all combinations."""

    def __init__(self, core: JoinCore) -> None:
        self._core = core

    def step(self, events: list[Events]) -> Deltas:
        _, times, signs, rows = self._core.step(events)
        return Deltas(times, signs, rows).in_order()


class SemiJoinOperator:
    """SemiJoin and AntiJoin: the rows of the first input that have a match in the second, or have none."""

    def __init__(self, memory: Memory, name: str, core: JoinCore, wants_match: bool) -> None:
        self._memory = memory
        self._name = name
        self._core = core
        self._wants_match = wants_match

    def step(self, events: list[Events]) -> Deltas:
        slots, times, signs, _ = self._core.step(events)
        left, store = events[0], self._core.inputs[0].store
        ts = np.concatenate((left.ts, times))
        kinds = np.repeat(np.array([0, 1], np.int64), (len(left), len(times)))
        order = np.argsort(ts, kind="stable")
        state = self._memory.array(f"{self._name}.matches", store.capacity, 4)
        shown = match(
            self._wants_match,
            ts[order],
            kinds[order],
            np.concatenate((left.signs, signs))[order],
            np.concatenate((left.slots, slots[:, 0]))[order],
            state,
        )
        return Events(*shown).deltas(store)
