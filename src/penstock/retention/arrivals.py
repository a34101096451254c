"""The rows that come to a join in a step, by the values that they have, for its monitors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.kernels.hashing import row_hashes
from penstock.kernels.nulls import has_null
from penstock.kernels.recent import Came, Seen, seen
from penstock.kernels.rows import gather
from penstock.synopsis.deltas import Deltas, null_masks
from penstock.synopsis.events import Events
from penstock.synopsis.firsts import Keys
from penstock.synopsis.indexed_inputs import IndexedInputs
from penstock.synopsis.memory import Ints

_NONE = np.zeros(0, np.int64)

#: Of each input of a join the rows that come in a step: as they arrive, or as they go into its window.
ArrivingRows = Mapping[int, Deltas | Events]


class Arrivals:
    """The same by the values that they have of the join's variables. A NULL joins nothing."""

    def __init__(self, rows: ArrivingRows, core: IndexedInputs) -> None:
        self._rows = {n: own.weighing() if isinstance(own, Deltas) else own for n, own in rows.items()}
        self._times = {n: own.ts for n, own in rows.items() if isinstance(own, Deltas)}
        self.core = core
        self._known: dict[tuple[int, tuple[int, ...]], tuple[Keys, Ints]] = {}
        self._seen: dict[tuple[int, tuple[int, ...], int], Seen] = {}
        self._stored: dict[int, Ints] = {}

    def count(self, number: int) -> int:
        """How many rows of an input come."""
        own = self._rows[number]
        return len(self._slots(number, own)) if isinstance(own, Events) else len(own)

    def times(self, number: int) -> Ints:
        """The times of all rows of an input that arrive, also of those that are only counted."""
        return self._times.get(number, _NONE)

    def of(self, number: int, variables: tuple[int, ...]) -> tuple[Keys, Ints]:
        """The values that rows of an input have that come, and their times."""
        sought = number, variables
        if sought not in self._known:
            self._known[sought] = self._find(self._came(*sought))
        return self._known[sought]

    def seen(self, number: int, variables: tuple[int, ...], below: int) -> Seen:
        """The same of those whose values have hashes below that. Several monitors see the same rows."""
        sought = number, variables, below
        if sought not in self._seen:
            self._seen[sought] = seen(self._came(number, variables), below)
        return self._seen[sought]

    def _came(self, number: int, variables: tuple[int, ...]) -> Came:
        """The rows of an input that come, and where their values are."""
        own, source = self._rows[number], self.core.inputs[number]
        places = self.core.places(number, variables)
        if isinstance(own, Events):
            return Came(source.store.rows, source.store.starts, self._slots(number, own), places, _NONE, _NONE)
        return Came(own.rows, own.ts, self._all(number), places, *null_masks(places.tolist(), source.columns))

    def _find(self, came: Came) -> tuple[Keys, Ints]:
        null = has_null(came.rows, came.some, came.null_words, came.null_masks)
        some = came.some[~null] if null.any() else came.some
        keys = Keys(gather(came.rows, some, came.columns), row_hashes(came.rows, some, came.columns))
        return keys, came.times[some]

    def _all(self, number: int) -> Ints:
        if number not in self._stored:
            self._stored[number] = np.arange(len(self._rows[number]))
        return self._stored[number]

    def _slots(self, number: int, own: Events) -> Ints:
        """Of rows that come, those that have no NULL."""
        if number not in self._stored:
            whole = self.core.without_nulls(number, own)
            self._stored[number] = whole.slots[whole.signs > 0]
        return self._stored[number]
