"""Guards of a leaf (`plan/guards.py`): rows that arrive after a punctuation of their values are rejected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.relations import Schema
from penstock.plan.guards import Guard
from penstock.retention.closing_state import without_nulls
from penstock.retention.code_owners import CodeOwner, RowCodeOwner
from penstock.retention.monitors import values_text, violation
from penstock.synopsis.deltas import Deltas, is_null
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Scope
from penstock.synopsis.punctuated import Punctuated


class Guards:
    """The guards of one leaf, whose rows have this schema."""

    def __init__(self, memory: Scope, guards: Sequence[Guard], schema: Schema, dictionary: Dictionary) -> None:
        self._guards, self._schema, self._dictionary = guards, schema, dictionary
        self._rejected = memory.array("rejected", 1)[:1]
        self._known = [Punctuated(memory.scope("guard", n), len(g.places), g.lifespan) for n, g in enumerate(guards)]

    @property
    def code_owners(self) -> list[CodeOwner]:
        """What stores codes of interned values."""
        return [
            RowCodeOwner(known.held_column, self._columns(guard))
            for guard, known in zip(self._guards, self._known, strict=True)
        ]

    def violations(self) -> int:
        """How many rows were rejected."""
        return int(self._rejected[0])

    def step(self, arrivals: Deltas, punctuations: Sequence[Deltas]) -> Deltas:
        """The rows that no guard rejects, given the punctuations that arrive for each guard."""
        rejected = np.zeros(len(arrivals), np.bool_)
        for guard, known, own in zip(self._guards, self._known, punctuations, strict=True):
            closed = without_nulls(own, len(guard.places))
            found = known.rejected(arrivals.ts, arrivals.rows, np.array(guard.places), *closed)
            if found.any():
                found &= ~self._has_null(guard, arrivals)
                self._stop(guard, arrivals, found)
                rejected |= found
        if not rejected.any():
            return arrivals
        self._rejected[0] += int(rejected.sum())
        return arrivals.take(~rejected)

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
