"""Windows whose rows may be forgotten before they leave: those of the inputs of a join that purges.

They are the windows of `windows`, over a queue from whose middle slots are taken.
"""

from __future__ import annotations

import numpy as np

from penstock.algebra.relations import PartitionRows, Range, Rows, Unbounded, WindowSpec
from penstock.operators.windows.windows import NumberedRows, RangeWindow, SlidingWindow, UnboundedWindow
from penstock.retention.windows import PurgeableWindow
from penstock.synopsis.deltas import null_words
from penstock.synopsis.events import Events
from penstock.synopsis.holed import HoledQueue
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.store import RowStore


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
            return PurgeableRows(memory, store, HoledQueue(memory, store), count)
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


class PurgeableRows(_Forgetting, NumberedRows[HoledQueue]):
    """A row that was dropped was counted when it arrived."""
