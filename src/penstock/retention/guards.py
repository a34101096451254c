"""Guards of a leaf (`plan/guards.py`): rows that come after a punctuation of their values are left out, and counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Schema
from penstock.plan.guards import Guard
from penstock.retention.monitors import values_text, violation
from penstock.retention.sweep import Holder, RowCodeOwner
from penstock.synopsis.deltas import Deltas, part_of_rows, row_width
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Memory
from penstock.synopsis.punctuated import Punctuated


class Guards:
    """The guards of one leaf.

    A row that is left out is a row of its stream all the same: where rows are counted, it still counts.
    """

    def __init__(self, memory: Memory, name: str, guards: Sequence[Guard], scan: Scan, dictionary: Dictionary) -> None:
        self._guards, self._schema, self._dictionary = guards, scan.schema, dictionary
        self._counts = scan.counts
        self._left_out = memory.array(f"{name}.left_out", 1)[:1]
        self._known = [
            Punctuated(memory, f"{name}.{n}", row_width(len(guard.places)), guard.lifespan)
            for n, guard in enumerate(guards)
        ]

    @property
    def holders(self) -> list[Holder]:
        """What holds codes of interned values."""
        return [
            RowCodeOwner(known.held_column, self._columns(guard))
            for guard, known in zip(self._guards, self._known, strict=True)
        ]

    def violations(self) -> int:
        """How many rows were left out."""
        return int(self._left_out[0])

    def step(self, came: Deltas, told: Sequence[Deltas]) -> Deltas:
        """The rows that no punctuation had ruled out. `told` are those of each guard."""
        ruled_out = np.zeros(len(came), np.bool_)
        for guard, known, punctuations in zip(self._guards, self._known, told, strict=True):
            values = part_of_rows(came.rows, guard.places, len(self._schema))
            found = known.ruled_out(came.ts, values, punctuations.ts, punctuations.rows)
            if found.any():
                found &= came.weight != 0
                self._stop(guard, came, found)
                ruled_out |= found
        if not ruled_out.any():
            return came
        self._left_out[0] += int(ruled_out.sum())
        return came.counting(~ruled_out) if self._counts else came.take(~ruled_out)

    def _stop(self, guard: Guard, came: Deltas, found: NDArray[np.bool_]) -> None:
        if guard.stops is not None and found.any():
            first = int(np.argmax(found))
            key = part_of_rows(came.rows[first : first + 1], guard.places, len(self._schema))[0]
            raise violation(guard.stops, values_text(self._columns(guard), key, self._dictionary), int(came.ts[first]))

    def _columns(self, guard: Guard) -> Schema:
        return tuple(self._schema[place] for place in guard.places)
