"""Events: deltas of a relation whose rows are stored, by slot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.rows import merge
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.memory import Ints
from penstock.synopsis.store import RowStore

#: Picks some of a sequence.
Some = slice | NDArray[np.bool_] | Ints


@dataclass(frozen=True, slots=True)
class Events:
    """Rows that come (+1) or go (-1), in the order of time."""

    ts: Ints
    signs: Ints
    slots: Ints

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, some: Some) -> Events:
        return Events(self.ts[some], self.signs[some], self.slots[some])

    def deltas(self, store: RowStore) -> Deltas:
        return Deltas(self.ts, self.signs, store.whole(self.slots))


def one_after_the_other(parts: list[Events]) -> Events:
    """Events of instants that follow each other, or of inputs that do."""
    if len(parts) == 1:
        return parts[0]
    nothing = np.zeros(0, np.int64)
    return Events(
        np.concatenate([nothing, *(part.ts for part in parts)]),
        np.concatenate([nothing, *(part.signs for part in parts)]),
        np.concatenate([nothing, *(part.slots for part in parts)]),
    )


def in_time(leaving_ts: Ints, leaving: Ints, arriving_ts: Ints, arriving: Ints, starts: Ints) -> Events:
    """Two sequences in the order of time as one. At one instant rows leave first: that keeps stores small.

    A row that leaves at the instant at which it comes is in no bag, and so has no events.
    """
    if not len(leaving):
        return Events(arriving_ts, np.ones(len(arriving), np.int64), arriving)
    fleeting = starts[leaving] == leaving_ts
    if fleeting.any():
        kept = ~np.isin(arriving, leaving[fleeting])
        arriving_ts, arriving = arriving_ts[kept], arriving[kept]
        leaving_ts, leaving = leaving_ts[~fleeting], leaving[~fleeting]
    ts, signs, slots = np.empty((3, len(leaving) + len(arriving)), np.int64)
    merge(leaving_ts, leaving, arriving_ts, arriving, ts, signs, slots)
    return Events(ts, signs, slots)
