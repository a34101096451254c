"""Falls back from counters to an exact count, from the bucket after one whose interval was too wide on.

Until then rows of the counters pass, afterwards those of buckets before. What is counted exactly begins with that
bucket (`operators/switching.py`). Where buckets show once, its groups wait for their end.
"""

from __future__ import annotations

import numpy as np

from penstock.algebra.bucket_counts import FallBack
from penstock.operators.bag import Bag
from penstock.plan.decisions import PlanDecision
from penstock.synopsis.deltas import Bools, Deltas, assemble, is_null, merged, row_width
from penstock.synopsis.memory import Ints, Scope


class FallBackOperator:
    """Takes rows of counters, groups that are counted exactly, and what says that an interval was too wide."""

    def __init__(self, memory: Scope, node: FallBack) -> None:
        self._node = node
        self._keys = len(node.exact.schema) - 1
        #: The number of the first bucket that is counted exactly, plus 1; 0 as long as there is none.
        self._first = memory.array("first", 1)
        self.open = Bag(memory.scope("open"), row_width(self._keys + 1))

    def step(self, counts: Deltas, exact: Deltas, wide: Deltas, until: int) -> Deltas:
        """What shows in a step, in the order of time."""
        if self._first[0] == 0 and len(wide):
            self._first[0] = self._node.first_exact(int(wide.ts.min())) + 1
        shown = [self._of_counts(counts)]
        if self._first[0]:
            groups = exact if self._node.emits_after is None else self._closed(exact, until)
            shown.append(self._certain(groups))
        return merged(iter(shown), len(self._node.schema))

    def decisions(self) -> tuple[PlanDecision, ...]:
        """That it has fallen back, if it has."""
        if not self._first[0]:
            return ()
        start = self._node.buckets.start(int(self._first[0]) - 1)
        return (PlanDecision("", 0, start, "wide", f"the exact join for buckets from {start} on"),)

    def state_rows(self) -> int:
        return len(self.open.store)

    def _of_counts(self, counts: Deltas) -> Deltas:
        columns = len(self._node.counts.schema)
        passes = counts.rows[:, columns - 1] == 0
        if self._first[0]:
            passes &= self._bucket(counts.rows) < self._first[0] - 1
        rows = counts.rows[passes]
        kept: list[tuple[Ints, Bools | None]] = [
            (rows[:, column], is_null(rows, column, columns)) for column in range(columns - 1)
        ]
        return Deltas(counts.ts[passes], counts.weight[passes], assemble(kept, len(rows)))

    def _closed(self, exact: Deltas, until: int) -> Deltas:
        """The groups whose bucket is over for good before an instant, each then. Changes behind that do not show."""
        in_time = exact.ts < self._end(exact.rows)
        self.open.step(exact.take(in_time))
        slots = self.open.store.staying()
        rows = self.open.store.rows[slots]
        ends = self._end(rows)
        over = np.flatnonzero(ends < until)
        over = over[np.lexsort((*rows[over].T[::-1], ends[over]))]
        found = Deltas(ends[over], np.ones(len(over), np.int64), rows[over].copy())
        self.open.forget(slots[over])
        self.open.store.end_step()
        return found

    def _bucket(self, rows: Ints) -> Ints:
        return (rows[:, self._node.place] - self._node.buckets.base) // self._node.buckets.step

    def _end(self, rows: Ints) -> Ints:
        after = self._node.emits_after or 0
        ends: Ints = (self._bucket(rows) + 1) * self._node.buckets.width - self._node.buckets.shift + after
        return ends

    def _certain(self, groups: Deltas) -> Deltas:
        """Exact counts as intervals."""
        rows, width = groups.rows, self._keys + 1
        columns: list[tuple[Ints, Bools | None]] = [
            (rows[:, column], is_null(rows, column, width)) for column in range(self._keys)
        ]
        columns += [(rows[:, self._keys], None)] * 3 + [(np.ones(len(rows), np.int64), None)]
        return Deltas(groups.ts, groups.weight, assemble(columns, len(rows)))
