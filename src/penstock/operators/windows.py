"""seq-window: streams to relations (thesis 2.1.2, table 2.1).

A window takes a stream's rows in the order of (ts, arrival) and gives events: each row comes at one instant and goes at
another. Rows are stored until they have gone, for whoever joins them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from penstock.algebra.relations import PartitionRows, Range, Rows, Unbounded, WindowSpec
from penstock.kernels.partitions import slide_partitions
from penstock.operators.events import Events, in_time
from penstock.synopsis.deltas import null_masks, null_words
from penstock.synopsis.index import Index
from penstock.synopsis.memory import Ints, Memory
from penstock.synopsis.queue import SlotQueue
from penstock.synopsis.store import BySlot, RowStore


class WindowOperator(Protocol):
    store: RowStore

    def step(self, ts: Ints, rows: Ints, until: int) -> Events:
        """Rows of instants before `until`, and the events of all instants before it."""


def window_operator(
    spec: WindowSpec,
    memory: Memory,
    name: str,
    columns: int,
    width: int,
    by: tuple[int, ...] = (),
    *,
    forgets: bool = False,
) -> WindowOperator:
    """The operator of a window over rows of so many columns and words; `by` are the columns of its partitions.

    `forgets`: its rows may be forgotten before they leave.
    """
    if isinstance(spec, PartitionRows):
        return PartitionWindow(memory, name, width, columns, by, spec.count)
    store = RowStore(memory, name, width, null_words(columns) if columns else 0)
    match spec:
        case Unbounded():
            return UnboundedWindow(store)
        case Range(reach, int(slide)):
            return SlidingWindow(memory, name, store, reach, slide)
        case Range(reach):
            return RangeWindow(memory, name, store, reach)
        case Rows(count):
            return (CountingWindow if forgets else RowsWindow)(memory, name, store, count)


class ForgettingWindow(WindowOperator, Protocol):
    """A window whose rows may be forgotten before they leave it."""

    def forget(self, slots: Ints) -> None:
        """These rows, which have come, are wanted no more. They have no event when they leave."""


class RecallingWindow(ForgettingWindow, Protocol):
    """One to which rows may come back that were forgotten."""

    def oldest(self) -> int:
        """The slot of a row that none came before, or -1 if that is not known."""

    def bring_back(self, rows: Ints, starts: Ints, until: int) -> tuple[Ints, Events]:
        """Rows that were forgotten are wanted again. Gives their slots, and the events of those that leave again.

        These are the events before `until`, the end of this step, which the others have had.
        """


class UnboundedWindow:
    """`[UNBOUNDED]`: rows come and never go."""

    def __init__(self, store: RowStore) -> None:
        self.store = store

    def step(self, ts: Ints, rows: Ints, until: int) -> Events:
        slots = self.store.put(rows, ts)
        return Events(ts, np.ones(len(slots), np.int64), slots)

    def forget(self, slots: Ints) -> None:
        self.store.release(slots)

    def oldest(self) -> int:
        return -1

    def bring_back(self, rows: Ints, starts: Ints, until: int) -> tuple[Ints, Events]:
        nothing = np.zeros(0, np.int64)
        return self.store.put(rows, starts), Events(nothing, nothing, nothing)


class RangeWindow:
    """`[RANGE w]`: a row is there from its ts to w after it, so rows go in the order in which they came."""

    def __init__(self, memory: Memory, name: str, store: RowStore, reach: int) -> None:
        self.store = store
        self._queue = SlotQueue(memory, name)
        self._reach = reach

    def step(self, ts: Ints, rows: Ints, until: int) -> Events:
        slots = self.store.put(rows, ts)
        self._queue.push(slots)
        goers, going_ts = due(self._queue, self._queue.left, self._end, until)
        self._queue.left += len(goers)
        self.store.release(goers)
        return in_time(going_ts, goers, ts, slots, self.store.starts)

    def forget(self, slots: Ints) -> None:
        self._queue.remove(slots, self.store.capacity)
        self.store.release(slots)

    def oldest(self) -> int:
        return self._queue.first

    def bring_back(self, rows: Ints, starts: Ints, until: int) -> tuple[Ints, Events]:
        slots = self.store.put(rows, starts)
        ends = self._end(slots)
        leaves = ends < until
        leaving = slots[leaves][np.argsort(ends[leaves], kind="stable")]
        self._queue.insert(slots[~leaves], self.store.starts)
        self.store.release(leaving)
        return slots, Events(self._end(leaving), np.full(len(leaving), -1, np.int64), leaving)

    def _end(self, slots: Ints) -> Ints:
        """The first instant at which each row is not there any more."""
        return self.store.starts[slots] + (self._reach + 1)


class SlidingWindow:
    """`[RANGE w SLIDE m]`: a row is there from the first multiple of m at or after its ts to the last within w of it.

    Both ends of that interval grow with ts, so rows come and go in the order of the queue.
    """

    def __init__(self, memory: Memory, name: str, store: RowStore, reach: int, slide: int) -> None:
        self.store = store
        self._queue = SlotQueue(memory, name)
        self._memory, self._name = memory, name
        self._reach = reach
        self._slide = slide

    def step(self, ts: Ints, rows: Ints, until: int) -> Events:
        queue = self._queue
        coming = -(-ts // self._slide) * self._slide
        ends = ((ts + self._reach) // self._slide + 1) * self._slide
        seen = coming < ends
        slots = self.store.put(rows[seen], coming[seen])
        self._ends()[slots] = ends[seen]
        queue.push(slots)
        comers, coming_ts = due(queue, queue.entered, lambda some: self.store.starts[some], until)
        queue.entered += len(comers)
        goers, going_ts = due(queue, queue.left, lambda some: self._ends()[some], until)
        queue.left += len(goers)
        self.store.release(goers)
        return in_time(going_ts, goers, coming_ts, comers, self.store.starts)

    def forget(self, slots: Ints) -> None:
        # All of them have entered, so those that have not yet move up in the queue.
        self._queue.entered -= len(slots)
        self._queue.remove(slots, self.store.capacity)
        self.store.release(slots)

    def _ends(self) -> Ints:
        """The first instant at which each row is not there any more."""
        return self._memory.array(f"{self._name}.ends", self.store.capacity)


def due(queue: SlotQueue, start: int, times: Callable[[Ints], Ints], until: int) -> tuple[Ints, Ints]:
    """The slots from a position of the queue on whose time is before `until`, and their times, which never decrease.

    Time may also be counted in rows.
    """
    chunk, found, found_ts = 1024, [], []
    while start < queue.right:
        slots = queue.slots(start, min(queue.right, start + chunk))
        at = times(slots)
        count = int(np.searchsorted(at, until, side="left"))
        found.append(slots[:count])
        found_ts.append(at[:count])
        if count < len(slots):
            break
        start += count
        chunk *= 2
    nothing = np.zeros(0, np.int64)
    return (np.concatenate(found), np.concatenate(found_ts)) if found else (nothing, nothing)


class RowsWindow:
    """`[ROWS n]`: a row goes when the n-th one after it comes."""

    def __init__(self, memory: Memory, name: str, store: RowStore, count: int) -> None:
        self.store = store
        self._queue = SlotQueue(memory, name)
        self._count = count

    def step(self, ts: Ints, rows: Ints, until: int) -> Events:
        queue = self._queue
        slots = self.store.put(rows, ts)
        before = queue.right
        queue.push(slots)
        end = max(queue.left, queue.right - self._count)
        goers = queue.slots(queue.left, end)
        # The row at position p is pushed out by the one at p + n, which is one of the new ones.
        pushers = np.arange(queue.left, end) + self._count - before
        queue.left = end
        self.store.release(goers)
        return in_time(ts[pushers], goers, ts, slots, self.store.starts)


class CountingWindow:
    """`[ROWS n]` of which rows may be forgotten: so each has its number, and all count that ever came."""

    def __init__(self, memory: Memory, name: str, store: RowStore, count: int) -> None:
        self.store = store
        self._queue = SlotQueue(memory, name)
        self._count = count
        self._numbers = BySlot(memory, f"{name}.numbers", store)
        self._came = memory.array(f"{name}.came", 1)

    def step(self, ts: Ints, rows: Ints, until: int) -> Events:
        slots = self.store.put(rows, ts)
        before = int(self._came[0])
        self._came[0] += len(slots)
        self._numbers.array()[slots] = np.arange(before, self._came[0])
        self._queue.push(slots)
        goers, pushers = due(self._queue, self._queue.left, self._pusher, int(self._came[0]))
        self._queue.left += len(goers)
        self.store.release(goers)
        # Who is pushed out now is so by one of the new rows.
        return in_time(ts[pushers - before], goers, ts, slots, self.store.starts)

    def forget(self, slots: Ints) -> None:
        self._queue.remove(slots, self.store.capacity)
        self.store.release(slots)

    def _pusher(self, slots: Ints) -> Ints:
        """The number of the row that pushes each one out."""
        return self._numbers.array()[slots] + self._count


class PartitionWindow:
    """`[PARTITION BY ... ROWS n]`: a row goes when the n-th one after it of its partition comes."""

    def __init__(self, memory: Memory, name: str, width: int, columns: int, by: tuple[int, ...], count: int) -> None:
        self.store = RowStore(memory, name, width)
        self._memory, self._name = memory, name
        self._count = count
        self._by = np.array(by, np.int64)
        self._null_columns, self._null_masks = null_masks(by, columns)
        self._key_width = len(by) + len(self._null_masks)
        self._index = Index(memory, f"{name}.partitions", tuple(range(self._key_width)))
        self._registers = memory.array(f"{name}.partition_count", 1)
        if memory.restored:
            partitions = int(self._registers[0])
            self._index.rebuild(partitions, self._keys(partitions), np.arange(partitions))

    def step(self, ts: Ints, rows: Ints, until: int) -> Events:
        slots = self.store.put(rows, ts)
        room = int(self._registers[0]) + len(slots) + 1
        keys = self._keys(room)
        self._index.fit(room, room, keys)
        pushed = slide_partitions(
            self._count,
            slots,
            self.store.rows,
            self._by,
            self._null_columns,
            self._null_masks,
            keys,
            self._memory.array(f"{self._name}.partition", room, 3),
            self._memory.array(f"{self._name}.later", self.store.capacity),
            self._index.heads,
            self._index.mask,
            self._index.links,
            self._registers,
        )
        out = pushed >= 0
        self.store.release(pushed[out])
        return in_time(ts[out], pushed[out], ts, slots, self.store.starts)

    def _keys(self, room: int) -> Ints:
        return self._memory.array(f"{self._name}.keys", room, self._key_width)
