"""Guards of a leaf (`plan/guards.py`): rows that come after a punctuation of their values are left out, and counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.relations import Schema
from penstock.plan.guards import Guard
from penstock.retention.closing_state import without_nulls
from penstock.retention.monitors import values_text, violation
from penstock.retention.sweep import Holder, RowCodeOwner
from penstock.synopsis.deltas import Deltas, is_null
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Memory
from penstock.synopsis.punctuated import PunctuatedValues


class Guards:
    """The guards of one leaf, whose rows have this schema."""

    def __init__(
        self, memory: Memory, name: str, guards: Sequence[Guard], schema: Schema, dictionary: Dictionary
    ) -> None:
        self._guards, self._schema, self._dictionary = guards, schema, dictionary
        self._left_out = memory.array(f"{name}.left_out", 1)[:1]
        self._known = [PunctuatedValues(memory, f"{name}.{n}", len(g.places), g.lifespan) for n, g in enumerate(guards)]

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
            told_of = without_nulls(punctuations, len(guard.places))
            found = known.ruled_out(came.ts, came.rows, np.array(guard.places), *told_of)
            if found.any():
                found &= ~self._has_null(guard, came)
                self._stop(guard, came, found)
                ruled_out |= found
        if not ruled_out.any():
            return came
        self._left_out[0] += int(ruled_out.sum())
        return came.take(~ruled_out)

    def _stop(self, guard: Guard, came: Deltas, found: NDArray[np.bool_]) -> None:
        if guard.stops is not None and found.any():
            first = int(np.argmax(found))
            key = came.rows[first, guard.places]
            raise violation(guard.stops, values_text(self._columns(guard), key, self._dictionary), int(came.ts[first]))

    def _has_null(self, guard: Guard, came: Deltas) -> NDArray[np.bool_]:
        """A punctuation says nothing of NULLs."""
        null = np.zeros(len(came), np.bool_)
        for place in guard.places:
            null |= is_null(came.rows, place, len(self._schema))
        return null

    def _columns(self, guard: Guard) -> Schema:
        return tuple(self._schema[place] for place in guard.places)
