"""Windows whose rows may be forgotten before they leave: those of the inputs of a join that purges.

They are the windows of `windows`, over a queue from whose middle slots are taken.
"""

from __future__ import annotations

import numpy as np

from penstock.algebra.relations import PartitionRows, Range, Rows, Unbounded, WindowSpec
from penstock.operators.windows.windows import RangeWindow, SlidingWindow, UnboundedWindow
from penstock.retention.windows import PurgeableWindow
from penstock.synopsis.deltas import null_words
from penstock.synopsis.events import Events, in_time
from penstock.synopsis.holed import HoledQueue
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.store import BySlot, RowStore


def purgeable_window(spec: WindowSpec, memory: Scope, columns: int, width: int) -> PurgeableWindow:
    """The operator of a window over rows of so many columns and words."""
    store = RowStore(memory, width, null_words(columns) if columns else 0)
    match spec:
        case Unbounded():
            return PurgeableUnbounded(store)
        case Range(reach, int(slide)):
            return PurgeableSliding(memory, store, HoledQueue(memory, store), reach, slide)
        case Range(reach):
            return PurgeableRange(store, HoledQueue(memory, store), reach)
        case Rows(count):
            return CountingWindow(memory, store, count)
        case PartitionRows():
            raise AssertionError("rows of partitions are not forgotten")


class PurgeableUnbounded(UnboundedWindow):
    def forget(self, slots: Ints) -> None:
        self.store.release(slots)

    def oldest(self) -> int:
        return -1

    def bring_back(self, rows: Ints, starts: Ints, until: int) -> tuple[Ints, Events]:
        nothing = np.zeros(0, np.int64)
        return self.store.put(rows, starts), Events(nothing, nothing, nothing)


class _Forgetting:
    """Rows that have come are in the queue."""

    store: RowStore
    _queue: HoledQueue

    def forget(self, slots: Ints) -> None:
        self._queue.remove(slots)
        self.store.release(slots)

    def oldest(self) -> int:
        return self._queue.first


class PurgeableRange(_Forgetting, RangeWindow[HoledQueue]):
    def bring_back(self, rows: Ints, starts: Ints, until: int) -> tuple[Ints, Events]:
        slots = self.store.put(rows, starts)
        ends = self._ends(slots)
        leaves = ends < until
        leaving = slots[leaves][np.argsort(ends[leaves], kind="stable")]
        self._queue.insert(slots[~leaves], self.store.starts)
        self.store.release(leaving)
        return slots, Events(self._ends(leaving), np.full(len(leaving), -1, np.int64), leaving)


class PurgeableSliding(_Forgetting, SlidingWindow[HoledQueue]):
    pass


class CountingWindow(_Forgetting):
    """`[ROWS n]`, where each row has its number, and all count that ever came."""

    def __init__(self, memory: Scope, store: RowStore, count: int) -> None:
        self.store = store
        self._queue = HoledQueue(memory, store)
        self._count = count
        self._numbers = BySlot(memory, "numbers", store)
        self._came = memory.array("came", 1)

    def step(self, ts: Ints, rows: Ints, until: int) -> Events:
        slots = self.store.put(rows, ts)
        before = int(self._came[0])
        self._came[0] += len(slots)
        self._numbers.array()[slots] = np.arange(before, self._came[0])
        self._queue.push(slots)
        numbers = self._numbers.array()
        goers = self._queue.take(numbers, int(self._came[0]) - self._count)
        self.store.release(goers)
        # Who is pushed out now is so by one of the new rows.
        return in_time(ts[numbers[goers] + self._count - before], goers, ts, slots, self.store.starts)
