"""seq-window: streams to relations (thesis 2.1.2, table 2.1).

A window takes a stream's rows in the order of (ts, arrival) and gives events: each row comes at one instant and goes at
another. Rows are stored until they have gone, for whoever joins them. Windows of rows number them, and are given those
that a filter leaves out, too, with weight 0: these count, and are not stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import numpy as np

from penstock.algebra.relations import PartitionRows, Range, Rows, Unbounded, WindowSpec
from penstock.kernels.partitions import slide_partitions
from penstock.retention.windows import WindowOperator
from penstock.synopsis.deltas import NEVER, NULL_BITS, Bools, Deltas, assemble, null_masks, null_words
from penstock.synopsis.events import Events, in_time
from penstock.synopsis.index import Index
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.queue import SlotQueue
from penstock.synopsis.store import BySlot, RowStore


class Queue(Protocol):
    """Slots in the order in which they were put."""

    def push(self, slots: Ints) -> None: ...

    def take(self, times: Ints, until: int) -> Ints: ...


Q = TypeVar("Q", bound=Queue)


def window_operator(
    spec: WindowSpec, memory: Scope, columns: int, width: int, by: tuple[int, ...] = (), *, counts: bool = False
) -> WindowOperator:
    """The operator of a window over rows of so many columns and words; `by` are the columns of its partitions.

    With `counts` some rows are only counted.
    """
    if isinstance(spec, PartitionRows):
        return PartitionWindow(memory, width, columns, by, spec.count)
    store = RowStore(memory, width, null_words(columns) if columns else 0)
    match spec:
        case Unbounded():
            return UnboundedWindow(store)
        case Range(reach, int(slide)):
            return SlidingWindow(memory, store, SlotQueue(memory), reach, slide)
        case Range(reach):
            return RangeWindow(store, SlotQueue(memory), reach)
        case Rows(count):
            queue = SlotQueue(memory)
            return NumberedRows(memory, store, queue, count) if counts else RowsWindow(store, queue, count)


class UnboundedWindow:
    """`[UNBOUNDED]`: rows come and never go."""

    def __init__(self, store: RowStore) -> None:
        self.store = store

    def step(self, arrived: Deltas, until: int) -> Events:
        slots = self.store.put(arrived.rows, arrived.ts)
        return Events(arrived.ts, np.ones(len(slots), np.int64), slots)


class RangeWindow(Generic[Q]):
    """`[RANGE w]`: a row is there from its ts to w after it, so rows go in the order in which they came."""

    def __init__(self, store: RowStore, queue: Q, reach: int) -> None:
        self.store, self._queue, self._reach = store, queue, reach

    def step(self, arrived: Deltas, until: int) -> Events:
        slots = self.store.put(arrived.rows, arrived.ts)
        self._queue.push(slots)
        goers = self._queue.take(self.store.starts, until - self._reach - 1)
        self.store.release(goers)
        return in_time(self._ends(goers), goers, arrived.ts, slots, self.store.starts)

    def _ends(self, slots: Ints) -> Ints:
        """The first instant at which each row is not there any more."""
        return self.store.starts[slots] + (self._reach + 1)


class SlidingWindow(Generic[Q]):
    """`[RANGE w SLIDE m]`: a row is there from the first multiple of m at or after its ts to the last within w of it.

    Both ends of that interval grow with ts, so rows come and go in the order in which they arrive. Until they come,
    they wait in a queue of their own.
    """

    def __init__(self, memory: Scope, store: RowStore, queue: Q, reach: int, slide: int) -> None:
        self.store, self._queue = store, queue
        self._waiting = SlotQueue(memory.scope("arriving"))
        self._ends = BySlot(memory, "ends", store)
        self._reach, self._slide = reach, slide

    def step(self, arrived: Deltas, until: int) -> Events:
        enters = -(-arrived.ts // self._slide) * self._slide
        ends = ((arrived.ts + self._reach) // self._slide + 1) * self._slide
        seen = enters < ends
        slots = self.store.put(arrived.rows[seen], enters[seen])
        self._ends.array()[slots] = ends[seen]
        self._waiting.push(slots)
        entering = self._waiting.take(starts := self.store.starts, until)
        self._queue.push(entering)
        goers = self._queue.take(self._ends.array(), until)
        self.store.release(goers)
        return in_time(self._ends.array()[goers], goers, starts[entering], entering, starts)


class RowsWindow:
    """`[ROWS n]` that keeps all rows: a row goes when the n-th one after it comes, by its place in the queue."""

    def __init__(self, store: RowStore, queue: SlotQueue, count: int) -> None:
        self.store, self._queue, self._count = store, queue, count

    def step(self, arrived: Deltas, until: int) -> Events:
        assert arrived.weight.all(), "rows that are only counted need numbers"
        queue, ts = self._queue, arrived.ts
        slots = self.store.put(arrived.rows, ts)
        left, before = queue.left, queue.right
        queue.push(slots)
        goers = queue.pop(max(0, queue.right - self._count - left))
        # The row at position p is pushed out by the one at p + n, which is one of the new ones.
        pushers = left + np.arange(len(goers)) + self._count - before
        self.store.release(goers)
        return in_time(ts[pushers], goers, ts, slots, self.store.starts)


class NumberedRows(Generic[Q]):
    """`[ROWS n]` of which some rows are not kept, or dropped before they leave.

    Rows have numbers, in the order in which they arrive, and only those that weigh something are stored:

        number   0   1   2   3   4   5   6   ──▶ arrivals, of which 1, 3 and 5 fail the filter
        stored   a       b       c       d        with n = 3 row a leaves when 3 arrives, and b when 5 does
    """

    def __init__(self, memory: Scope, store: RowStore, queue: Q, count: int) -> None:
        self.store, self._queue, self._count = store, queue, count
        self._numbers = BySlot(memory, "numbers", store)
        self._came = memory.array("came", 1)

    def step(self, arrived: Deltas, until: int) -> Events:
        kept = np.flatnonzero(arrived.weight)
        ts = arrived.ts[kept]
        slots = self.store.put(arrived.rows[kept], ts)
        before = int(self._came[0])
        self._came[0] += len(arrived)
        numbers = self._numbers.array()
        numbers[slots] = before + kept
        self._queue.push(slots)
        goers = self._queue.take(numbers, int(self._came[0]) - self._count)
        self.store.release(goers)
        # Whoever pushes a row out now is one of those that arrived now.
        pushed = arrived.ts[numbers[goers] + self._count - before]
        return in_time(pushed, goers, ts, slots, self.store.starts)


class PartitionWindow:
    """`[PARTITION BY ... ROWS n]`: a row goes when the n-th one after it of its partition comes."""

    def __init__(self, memory: Scope, width: int, columns: int, by: tuple[int, ...], count: int) -> None:
        self.store = RowStore(memory, width)
        self._memory = memory
        self._count, self._columns = count, columns
        self._by = np.array(by, np.int64)
        self._null_columns, self._null_masks = null_masks(by, columns)
        self._key_width = len(by) + len(self._null_masks)
        self._index = Index(memory.scope("partitions"), tuple(range(self._key_width)))
        self._registers = memory.array("partition_count", 1)
        self._later = BySlot(memory, "later", self.store, 2)
        if memory.restored:
            partitions = int(self._registers[0])
            self._index.rebuild(partitions, self._keys(partitions), np.arange(partitions))

    def step(self, arrived: Deltas, until: int) -> Events:
        kept = arrived.weight != 0
        ts = arrived.ts[kept]
        slots = np.full(len(arrived), -1, np.int64)
        slots[kept] = self.store.put(arrived.rows[kept], ts)
        room = int(self._registers[0]) + len(arrived) + 1
        keys = self._keys(room)
        self._index.fit(room, room, keys)
        pushed = slide_partitions(
            self._count,
            slots,
            arrived.rows,
            self._by,
            self._null_columns,
            self._null_masks,
            keys,
            self._memory.array("partition", room, 3),
            self._later.array(),
            self._index.heads,
            self._index.mask,
            self._index.links,
            self._registers,
        )
        out = pushed >= 0
        self.store.release(pushed[out])
        return in_time(arrived.ts[out], pushed[out], ts, slots[kept], self.store.starts)

    def state_rows(self) -> int:
        """How many partitions there are."""
        return int(self._registers[0])

    def forget(self, closing: Callable[[Ints], Ints]) -> None:
        """Drops the partitions that have closed, and their rows, which nobody retracts any more."""
        count = int(self._registers[0])
        keys, partitions = self._keys(count)[:count], self._memory.array("partition", count, 3)[:count]
        left = closing(self._rows_of(keys)) == NEVER
        if left.all():
            return
        self.store.release(self._members(partitions[~left]))
        self._registers[0] = rest = int(left.sum())
        keys[:rest], partitions[:rest] = keys[left], partitions[left]
        self._index.rebuild(rest, self._keys(rest), np.arange(rest))

    def _members(self, partitions: Ints) -> Ints:
        """The slots of all rows of partitions."""
        slots, latest, later = partitions[:, 1], partitions[:, 2], self._later.array()
        found = [slots[slots >= 0]]
        latest = latest[slots >= 0]
        while len(found[-1]):
            more = found[-1] != latest
            latest = latest[more]
            found.append(later[found[-1][more], 1])
        return np.concatenate(found)

    def _rows_of(self, keys: Ints) -> Ints:
        """The values of partitions, followed by their null bits, as rows have them."""
        columns: list[tuple[Ints, Bools | None]] = []
        words = {int(column): number for number, column in enumerate(self._null_columns)}
        for place, column in enumerate(self._by.tolist()):
            word = keys[:, len(self._by) + words[self._columns + column // NULL_BITS]]
            columns.append((keys[:, place], (word >> (column % NULL_BITS)) & 1 == 1))
        return assemble(columns, len(keys))

    def _keys(self, room: int) -> Ints:
        return self._memory.array("keys", room, self._key_width)
