"""r-stream: all of a relation, at each instant at which a row arrives or the relation changes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from penstock.operators.bag import Bag
from penstock.operators.blocks import Blocks
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.memory import Ints, Memory
from penstock.synopsis.store import RowStore


class RelationStream:
    def __init__(self, memory: Memory, name: str, width: int) -> None:
        self._bag = Bag(memory, name, width)
        self._width = width

    @property
    def store(self) -> RowStore:
        return self._bag.store

    def blocks(self, netted: Iterable[Deltas], arrivals: Ints) -> Blocks:
        """The relation at each instant of `arrivals` and of its own changes, whose blocks end with an instant."""
        start, before = 0, None
        for block in netted:
            if before is not None and len(before):
                end = int(np.searchsorted(arrivals, before.ts[-1], side="right"))
                yield self.step(before, arrivals[start:end])
                start = end
            before = block
        assert before is not None
        yield self.step(before, arrivals[start:])

    def step(self, netted: Deltas, arrivals: Ints) -> Deltas:
        """The relation at each instant of `arrivals` and of its own changes."""
        held = self._held()
        events = self._bag.step(netted)
        instants = np.union1d(arrivals, netted.ts)
        if not len(instants):
            return Deltas(instants, instants, np.zeros((0, self._width), np.int64))
        # A stored row is there from its instant on, a row that went until then: one interval of instants per row.
        came = events.signs > 0
        slots = np.concatenate((held, events.slots[came]))
        first = np.concatenate((np.zeros(len(held), np.int64), np.searchsorted(instants, events.ts[came])))
        last = np.full(self._bag.store.capacity, len(instants), np.int64)
        last[events.slots[~came]] = np.searchsorted(instants, events.ts[~came])
        times = np.maximum(last[slots] - first, 0)
        at = np.repeat(first, times) + _ramps(times)
        order = np.argsort(at, kind="stable")
        rows = self._bag.store.rows[np.repeat(slots, times)[order]]
        return Deltas(instants[at[order]], np.ones(len(rows), np.int64), rows)

    def _held(self) -> Ints:
        return np.flatnonzero(self._bag._present() == 1)


def _ramps(counts: Ints) -> Ints:
    """0, 1, ..., n-1 for each n."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)
