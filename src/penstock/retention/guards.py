"""Guards of a leaf (`plan/guards.py`): rows that arrive after a punctuation of their values are rejected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Schema
from penstock.plan.guards import Guard
from penstock.retention.code_owners import CodeOwner, RowCodeOwner
from penstock.retention.monitors import values_text, violation
from penstock.synopsis.deltas import Deltas, part_of_rows, row_width
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Scope
from penstock.synopsis.punctuated import PunctuatedValues


class Guards:
    """The guards of one leaf.

    A row that is rejected is a row of its stream all the same: where rows are counted, it still counts.
    """

    def __init__(self, memory: Scope, guards: Sequence[Guard], scan: Scan, dictionary: Dictionary) -> None:
        self._guards, self._schema, self._dictionary = guards, scan.schema, dictionary
        self._counts = scan.counts
        self._rejected = memory.array("rejected", 1)[:1]
        self._known = [
            PunctuatedValues(memory.scope("guard", n), row_width(len(guard.places)), guard.lifespan)
            for n, guard in enumerate(guards)
        ]

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
            values = part_of_rows(arrivals.rows, guard.places, len(self._schema))
            found = known.rejected(arrivals.ts, values, own.ts, own.rows)
            if found.any():
                found &= arrivals.weight != 0
                self._stop(guard, arrivals, found)
                rejected |= found
        if not rejected.any():
            return arrivals
        self._rejected[0] += int(rejected.sum())
        return arrivals.counting(~rejected) if self._counts else arrivals.take(~rejected)

    def _stop(self, guard: Guard, came: Deltas, found: NDArray[np.bool_]) -> None:
        if guard.stops is not None and found.any():
            first = int(np.argmax(found))
            key = part_of_rows(came.rows[first : first + 1], guard.places, len(self._schema))[0]
            raise violation(guard.stops, values_text(self._columns(guard), key, self._dictionary), int(came.ts[first]))

    def _columns(self, guard: Guard) -> Schema:
        return tuple(self._schema[place] for place in guard.places)
