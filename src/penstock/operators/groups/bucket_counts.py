"""Bucket counts: streams are counted apart by bucket of time, and each count comes with a certified interval.

The kernel (`kernels/bucket_counts.py`) keeps a few counters per live group, however many rows come. A group ends when
its last bucket can change no more.
"""

from __future__ import annotations

import numpy as np

from penstock.algebra.bucket_counts import SLOTS, BucketCounts
from penstock.kernels import bucket_counts, bucket_records, window_counts
from penstock.operators.blocks import Blocks
from penstock.synopsis.deltas import Bools, Deltas, assemble, is_null, part_of_rows, row_width
from penstock.synopsis.key_slots import KeySlots
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.store import BySlot

#: The row of the one group that there is without further keys.
_ONE_GROUP = np.zeros((1, row_width(0)), np.int64)

#: Changes that are put out at once, at least.
_BLOCK = 1 << 14


class BucketCountsOperator:
    """Inputs have rows of the further keys: of the bucket stream, of those counted beside it, and of monitors."""

    def __init__(self, memory: Scope, node: BucketCounts) -> None:
        self._keys = len(node.further_keys)
        self._count = window_counts.count_windows if node.slides else bucket_counts.count_rows
        self._node = node
        self._place, self._step, self._base = node.place, node.buckets.step, node.buckets.base
        self._groups = KeySlots(memory, row_width(self._keys), index="groups", words="latest")
        self.store = self._groups.store
        streams = [[e.delay, int(e.subtracts), _number(e.above), int(e.in_window)] for e in node.counted]
        self._streams = np.array(streams, np.int64).reshape(-1, 4)
        buckets, after = node.buckets, (node.settles_after, node.final_after)
        within = (-1, 0) if node.within is None else (node.within.millionths, int(node.within.percent))
        #: Without any key there is a group, even of nothing.
        slides, self._always = int(node.slides), node.slides and not node.keys
        own = [SLOTS, int(node.emits), node.ring, *within, slides, int(self._always)]
        self._shape = np.array([buckets.width, buckets.shift, *after, *own])
        self._results = len(node.results)
        words = bucket_records.group_width(len(streams), SLOTS, node.ring)
        self._counters = BySlot(memory, "counters", self.store, words)
        self._registers = memory.array("registers", bucket_counts.REGISTERS)

    def step(self, inputs: list[Deltas], until: int) -> Blocks:
        """Takes what arrived of each input, and gives what changes before `until`, in blocks."""
        ts = np.concatenate([each.ts for each in inputs])
        order = np.argsort(ts, kind="stable")
        ts = ts[order]
        sources = np.repeat(self._sources(len(inputs)), [len(each) for each in inputs])[order]
        keys, since = self._keys_and_since(inputs)
        own = self._groups.of(np.ascontiguousarray(keys[order] if self._keys else _ONE_GROUP))
        groups = own if self._keys else np.repeat(own, len(ts))
        if self._always:
            self._begin(own)
        held, done = self.store.held(), 0
        most = 2 * len(held) + (4 + 2 * int(self._shape[bucket_records.RING])) * _longest(ts)
        while True:
            out = np.empty((max(_BLOCK, most), bucket_records.OUT), np.int64)
            done, count = self._count(
                ts,
                sources,
                groups,
                since[order],
                done,
                until,
                self._shape,
                self._streams,
                held,
                self._groups.words.array(),
                self._counters.array(),
                self._registers,
                out,
            )
            yield self._changes(out[:count])
            if done == len(ts) and not self._is_due(until):
                break
        self._groups.drop(held)

    def _keys_and_since(self, inputs: list[Deltas]) -> tuple[Ints, Ints]:
        """The further keys of all rows, and of a broken assertion the earliest time of its rows."""
        streams = len(self._streams) + 1
        monitors = [each.rows for each in inputs[streams:]]
        counted = sum(len(each) for each in inputs[:streams])
        own = [part_of_rows(rows, range(self._keys), self._keys + 1) for rows in monitors]
        keys = np.concatenate([*(each.rows for each in inputs[:streams]), *own])
        return keys, np.concatenate([np.zeros(counted, np.int64), *(rows[:, self._keys] for rows in monitors)])

    def _sources(self, inputs: int) -> Ints:
        """Behind the streams come monitors, whose rows are all alike."""
        numbers = np.arange(inputs)
        numbers[len(self._streams) + 1 :] = -1
        return numbers

    def state_rows(self) -> int:
        return len(self.store)

    def _is_due(self, until: int) -> bool:
        is_due = window_counts.is_boundary_due if self._node.slides else bucket_counts.is_due
        return bool(is_due(until - 1, self._shape, self._registers))

    def _begin(self, groups: Ints) -> None:
        """The one group is there from instant 0 on."""
        latest = self._groups.words.array()
        if not self._registers[window_counts.BEGUN]:
            self._registers[window_counts.BEGUN] = self._registers[window_counts.NEXT] = 1
            latest[groups] = 1

    def _changes(self, out: Ints) -> Deltas:
        keys = self.store.rows[out[:, 2]]
        columns: list[tuple[Ints, Bools | None]] = [
            (keys[:, column], is_null(keys, column, self._keys)) for column in range(self._keys)
        ]
        if self._place is not None:
            columns.insert(self._place, (out[:, 3] * self._step + self._base, None))
        columns += [(out[:, word], None) for word in range(4, 4 + self._results)]
        return Deltas(out[:, 0].copy(), out[:, 1].copy(), assemble(columns, len(out)))


def _number(above: int | None) -> int:
    return -1 if above is None else above


def _longest(ts: Ints) -> int:
    """The most rows that come at one instant."""
    if not len(ts):
        return 0
    starts = np.flatnonzero(np.diff(ts, prepend=ts[0] - 1))
    return int(np.diff(starts, append=len(ts)).max())
