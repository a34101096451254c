"""What rows close by being many: CA(k), OA(k) and RIDS(k), as if punctuations of values came (thesis 6.1.1).

    CLUSTERED BY a WITHIN 2 ROWS     1 1 2 1 2 3 2 | 1 is closed with the third row of others, as if it were punctuated
    ORDERED BY a WITHIN 2 ROWS       1 2 5 3 4 | below 5 all is closed, two rows after it
    REFERENCES s (a) WITHIN 2 ROWS   a row refers to 7, then s has 5 3 | 7 is closed

All is decided by instants, so it does not depend on how rows are cut into steps. Each cell counts all rows.
"""

from __future__ import annotations

import numpy as np

from penstock.closing.group_closers import ByRows
from penstock.kernels.clusters import follow
from penstock.kernels.sets import first_equals
from penstock.retention.closing_state import without_nulls
from penstock.synopsis.deltas import NEVER, Deltas, whole_rows
from penstock.synopsis.evidence import Evidence
from penstock.synopsis.memory import Ints, Scope


class ClusterClosings:
    """The values of a stream whose clusters have ended, each with the instant at which it did."""

    def __init__(self, memory: Scope, columns: int, by: ByRows) -> None:
        self._columns, self._by = columns, by
        self.open = Evidence(memory.scope("open"), columns)
        self._count = memory.array("count", 1)[:1]

    def step(self, arrived: Deltas, until: int) -> tuple[Ints, Ints]:
        """Takes all rows before `until`. Gives the times and values of what has closed, in the order of time."""
        start = int(self._count[0])
        self._count[0] += len(arrived)
        ts, values = without_nulls(arrived, self._columns)
        before, after = (ts, ts) if self._by.in_time else _ranks(arrived.ts, ts, start)
        first = first_equals(values) if len(values) else np.zeros(0, np.int64)
        numbers, places = np.unique(first, return_inverse=True)
        known = np.ascontiguousarray(values[numbers])
        words = self.open.words(known)
        found = np.empty((len(ts), 2), np.int64)
        again = int(not self._by.in_time)
        count = follow(places.astype(np.int64), before, after, again, self._by.k, words, found)
        self.open.forget_keys(known)
        self.open.note(known, words)
        slots, keys, since = self.open.entries()
        now = until if self._by.in_time else int(self._count[0])
        ended = since + self._by.k < now
        self.open.forget(slots[ended])
        times = self._instants(np.concatenate((found[:count, 1], since[ended])), arrived.ts, start)
        rows = np.concatenate((known[found[:count, 0]], keys[ended]))
        order = np.argsort(times, kind="stable")
        return times[order], whole_rows(rows[order])

    def _instants(self, words: Ints, ts: Ints, start: int) -> Ints:
        """The instants at which values with these words closed, all in this step."""
        at: Ints = words + self._by.k
        return at if self._by.in_time else ts[at - start]


class ReferenceClosings:
    """The values of a stream that rows referred to, and which were among its next k rows or do not come again."""

    def __init__(self, memory: Scope, columns: int, k: int) -> None:
        self._columns, self._k = columns, k
        #: How many rows there were when a value was first referred to.
        self.open = Evidence(memory.scope("open"), columns)
        self._count = memory.array("count", 1)[:1]

    def step(self, referring: Deltas, counted: Deltas) -> tuple[Ints, Ints]:
        """Takes rows that refer, and all of the stream's. Gives times and values that have closed, in order of time."""
        start = int(self._count[0])
        self._count[0] += len(counted)
        ts, values = without_nulls(referring, self._columns)
        if self._k == 0:
            return ts, whole_rows(values)
        self.open.note(values, _ranks(counted.ts, ts, start)[1])
        slots, keys, since = self.open.entries()
        ended = since + self._k <= self._count[0]
        self.open.forget(slots[ended])
        times = counted.ts[since[ended] + (self._k - 1 - start)]
        order = np.argsort(times, kind="stable")
        return times[order], whole_rows(keys[ended][order])


class OrderClosings:
    """Below which value of a stream all is closed, and since when."""

    def __init__(self, memory: Scope, by: ByRows) -> None:
        self._memory, self._by = memory, by
        #: How many rows came, how many values wait, whether a value was passed, and which.
        self._registers = memory.array("registers", 4)[:4]
        self._times = self._passed = np.zeros(0, np.int64)
        self._before: int | None = None

    def step(self, arrived: Deltas, until: int) -> None:
        """Takes all rows before `until`."""
        start, size = int(self._registers[0]), int(self._registers[1])
        self._registers[0] += len(arrived)
        ts, values = without_nulls(arrived, 1)
        after = ts if self._by.in_time else _ranks(arrived.ts, ts, start)[1]
        new = np.stack((after, values[:, 0]), axis=1)
        waiting = np.concatenate((self._memory.array("waiting", size, 2)[:size], new))
        # Only values above all before them can pass others.
        highest = np.maximum.accumulate(waiting[:, 1]) if len(waiting) else waiting[:, 1]
        waiting = waiting[np.concatenate((np.ones(min(1, len(waiting)), np.bool_), highest[1:] > highest[:-1]))]
        if self._registers[2]:
            waiting = waiting[waiting[:, 1] > self._registers[3]]
        at = waiting[:, 0] + self._by.k
        is_old = at < until if self._by.in_time else at <= self._registers[0]
        old, rest = int(is_old.sum()), waiting[~is_old]
        self._before = int(self._registers[3]) if self._registers[2] else None
        self._passed = waiting[:old, 1]
        self._times = at[:old] if self._by.in_time else arrived.ts[np.maximum(at[:old] - 1 - start, 0)]
        if old:
            self._registers[2:] = 1, self._passed[-1]
        self._registers[1] = len(rest)
        self._memory.array("waiting", len(rest), 2)[: len(rest)] = rest

    def closed(self, values: Ints) -> Ints:
        """Since when values are closed: 0 if that was before this step, NEVER if they are not."""
        places = np.searchsorted(self._passed, values, side="right")
        times = np.append(self._times, NEVER)[places]
        return times if self._before is None else np.where(values < self._before, 0, times)


def _ranks(all_times: Ints, ts: Ints, start: int) -> tuple[Ints, Ints]:
    """How many rows there were before and after the instants of some rows."""
    before, after = (np.searchsorted(all_times, ts, side=side) + start for side in ("left", "right"))
    return before, after
