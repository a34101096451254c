"""The rows that come to a join in a step, by the values that they have, for its monitors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.kernels.hashing import row_hashes, rows_below
from penstock.kernels.nulls import has_null
from penstock.kernels.rows import gather
from penstock.operators.events import Events
from penstock.operators.join import JoinCore
from penstock.synopsis.deltas import Deltas, null_masks
from penstock.synopsis.firsts import ALL, Keys
from penstock.synopsis.memory import Ints

#: Of each input of a join the rows that come in a step: as they arrive, or as they go into its window.
Rows = Mapping[int, Deltas | Events]


class Coming:
    """The same by the values that they have of the join's variables. A NULL joins nothing."""

    def __init__(self, rows: Rows, core: JoinCore) -> None:
        self._rows, self.core = rows, core
        self._known: dict[tuple[int, tuple[int, ...], int], tuple[Keys, Ints]] = {}
        self._stored: dict[int, Ints] = {}

    def count(self, number: int) -> int:
        """How many rows of an input come."""
        own = self._rows[number]
        return len(self._slots(number, own)) if isinstance(own, Events) else len(own)

    def of(self, number: int, variables: tuple[int, ...], below: int = ALL) -> tuple[Keys, Ints]:
        """The values that rows of an input have that come, if their hashes are below that, and their times."""
        sought = number, variables, below
        if sought not in self._known:
            self._known[sought] = self._find(*sought)
        return self._known[sought]

    def _find(self, number: int, variables: tuple[int, ...], below: int) -> tuple[Keys, Ints]:
        own, source = self._rows[number], self.core.inputs[number]
        places = self.core.places(number, variables)
        if isinstance(own, Events):
            rows, times, which = source.store.rows, source.store.starts, self._slots(number, own)
        else:
            rows, times, which = own.rows, own.ts, np.arange(len(own))
        if below == ALL:
            hashes = row_hashes(rows, which, places)
        else:
            which, hashes = rows_below(rows, which, places, below)
        if not isinstance(own, Events):
            null = has_null(rows, which, *null_masks(places.tolist(), source.columns))
            if null.any():
                which, hashes = which[~null], hashes[~null]
        return Keys(gather(rows, which, places), hashes), times[which]

    def _slots(self, number: int, own: Events) -> Ints:
        """Of rows that come, those that have no NULL."""
        if number not in self._stored:
            whole = self.core.without_nulls(number, own)
            self._stored[number] = whole.slots[whole.signs > 0]
        return self._stored[number]
