"""Wait timeout: rows of a join that have waited too long are dropped, since what they wait for may be lost.

A row then joins nothing that arrives later than that, whenever it is dropped: so results do not depend on steps.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from penstock.retention.retained_join import RetainedJoin
from penstock.retention.rows import SlotsByInput
from penstock.synopsis.events import Some
from penstock.synopsis.memory import Ints


class WaitTimeout:
    """Rows of some inputs wait so long at most."""

    def __init__(self, join: RetainedJoin, inputs: Iterable[int], after: int | None) -> None:
        self._core, self._all_inputs = join.inputs, list(inputs)
        self.set(after)
        self._count = join.memory.array("timed_out", 1)

    def set(self, after: int | None) -> None:
        """Lets rows wait so long from now on; None: without limit."""
        self._after, self._inputs = after or 0, [] if after is None else self._all_inputs

    @property
    def is_set(self) -> bool:
        """Whether any row can wait too long."""
        return bool(self._inputs)

    def count(self) -> int:
        """How many rows were dropped."""
        return int(self._count[0])

    def late(self, now: int) -> SlotsByInput:
        """The rows that are dropped now."""
        late: dict[int, Ints] = {}
        for number in self._inputs:
            visible = np.flatnonzero(self._core.visibility(number) != 0)
            late[number] = visible[self._core.inputs[number].store.starts[visible] < now - self._after]
            self._count[0] += len(late[number])
        return late

    def in_time(self, found: Ints, times: Ints) -> Some:
        """Which results are of rows whose wait had not timed out before."""
        if not self._inputs:
            return slice(None)
        kept = np.ones(len(found), np.bool_)
        for number in self._inputs:
            starts = self._core.inputs[number].store.starts[found[:, number]]
            kept &= times - starts <= self._after
        return kept
