"""Certified groups: exact groups of one stream, with what counters of that stream say of the assertions they lean on.

The kernel (`kernels/certified_groups.py`) holds one row per group. It is forgotten when its bucket changes no more.
"""

from __future__ import annotations

import numpy as np

from penstock.algebra.bucket_counts import CertifiedGroups
from penstock.kernels import certified_groups
from penstock.synopsis.deltas import Bools, Deltas, assemble, is_null, part_of_rows, row_width
from penstock.synopsis.key_slots import KeySlots
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.store import BySlot


class CertifiedGroupsOperator:
    """Takes changes of groups and of results of counters, which have the same keys."""

    def __init__(self, memory: Scope, node: CertifiedGroups) -> None:
        self._node, self._keys = node, node.keys
        self._columns = len(node.groups.schema)
        self._values = self._columns - node.keys
        self._width = row_width(self._values)
        self._groups = KeySlots(memory, row_width(node.keys), index="groups", words="needed")
        self.store = self._groups.store
        self._state = BySlot(memory, "state", self.store, certified_groups.ROW + 2 * self._width)
        zero = np.zeros(1, np.int64)
        self._nothing = assemble([(zero, None if each else zero == 0) for each in node.zeros], 1)[0]

    def step(self, groups: Deltas, counts: Deltas, until: int) -> Deltas:
        """What changes of the groups that show, in the order of time."""
        ts, weights = np.concatenate((groups.ts, counts.ts)), np.concatenate((groups.weight, counts.weight))
        order = np.lexsort((weights > 0, ts))
        width = len(self._node.counts.schema)
        sides = ((groups.rows, self._columns), (counts.rows, width))
        keys = np.concatenate([part_of_rows(rows, range(self._keys), all_) for rows, all_ in sides])
        values = np.zeros((len(ts), max(1, self._width)), np.int64)
        values[: len(groups), : self._width] = part_of_rows(
            groups.rows, range(self._keys, self._columns), self._columns
        )
        values[len(groups) :, 0] = counts.rows[:, width - 1]
        slots = self._groups.of(np.ascontiguousarray(keys[order]) if self._keys else np.zeros((len(ts), 1), np.int64))
        self._groups.words.array()[slots] = 1
        out = np.empty((2 * len(ts), certified_groups.OUT_ROW + self._width), np.int64)
        are_groups = (np.arange(len(ts)) < len(groups)).astype(np.int64)[order]
        arrived = (ts[order], are_groups, weights[order], slots, values[order])
        count = certified_groups.certify(*arrived, self._nothing, self._node.emits, self._state.array(), out)
        changes = self._changes(out[:count])
        self._forget(until)
        return changes

    def held_column(self, column: int) -> Ints:
        """A column of the groups, of all that are held and of all that are shown."""
        if column < self._keys:
            return self.store.held_column(column)
        held, place = self._state.array()[self.store.held()], certified_groups.ROW + column - self._keys
        return np.concatenate((held[:, place], held[:, place + self._width]))

    def state_rows(self) -> int:
        return len(self.store)

    def _changes(self, out: Ints) -> Deltas:
        keys, rows = self.store.rows[out[:, certified_groups.SLOT]], out[:, certified_groups.OUT_ROW :]
        columns: list[tuple[Ints, Bools | None]] = [
            (keys[:, column], is_null(keys, column, self._keys)) for column in range(self._keys)
        ]
        columns += [(rows[:, column], is_null(rows, column, self._values)) for column in range(self._values)]
        columns.append((out[:, certified_groups.IS_CERTAIN], None))
        at, weight = out[:, certified_groups.AT].copy(), out[:, certified_groups.WEIGHT].copy()
        return Deltas(at, weight, assemble(columns, len(out)))

    def _forget(self, until: int) -> None:
        """Drops groups of buckets that change no more, or of a window that neither side has a row of."""
        held, node = self.store.held(), self._node
        state, needed = self._state.array(), self._groups.words.array()
        if node.place is None:
            over = (state[held, certified_groups.HAS_GROUP] == 0) & (state[held, certified_groups.HAS_RESULT] == 0)
        else:
            numbers = (self.store.rows[held, node.place] - node.buckets.base) // node.buckets.step
            ends = (numbers + 1) * node.buckets.width - node.buckets.shift + node.final_after
            over = ends < until
        gone = held[over]
        needed[gone] = 0
        state[gone] = 0
        self._groups.drop(held)
