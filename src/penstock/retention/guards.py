"""Guards of a leaf (`plan/guards.py`): rows that arrive after a punctuation of their values are rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Schema
from penstock.closing.group_closers import AfterOrder, AfterPunctuation, AfterReference
from penstock.plan.guards import Guard
from penstock.retention.code_owners import CodeOwner, RowCodeOwner
from penstock.retention.monitors import values_text, violation
from penstock.retention.row_closings import ClusterClosings, OrderClosings, ReferenceClosings
from penstock.synopsis.deltas import Deltas, is_null, part_of_rows, row_width
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints, Scope
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
        self._clusters = {
            n: ClusterClosings(memory.scope("guard", n), len(guard.places), guard.by.cluster)
            for n, guard in enumerate(guards)
            if isinstance(guard.by, AfterPunctuation) and guard.by.cluster is not None
        }
        self._references = {
            n: ReferenceClosings(memory.scope("guard", n), len(guard.places), guard.by.then.k)
            for n, guard in enumerate(guards)
            if isinstance(guard.by, AfterReference | AfterPunctuation) and guard.by.then is not None
        }
        self._orders = {
            n: OrderClosings(memory.scope("guard", n), guard.by.order)
            for n, guard in enumerate(guards)
            if isinstance(guard.by, AfterOrder)
        }

    @property
    def code_owners(self) -> list[CodeOwner]:
        """What stores codes of interned values."""
        held = [(known.held_column, guard) for guard, known in zip(self._guards, self._known, strict=True)]
        held += [(cluster.open.store.held_column, self._guards[n]) for n, cluster in self._clusters.items()]
        held += [(waiting.open.store.held_column, self._guards[n]) for n, waiting in self._references.items()]
        return [RowCodeOwner(column, self._columns(guard)) for column, guard in held]

    def violations(self) -> int:
        """How many rows were rejected."""
        return int(self._rejected[0])

    def step(self, arrivals: Deltas, inputs: Mapping[int, Deltas], until: int) -> Deltas:
        """The rows that no guard rejects, given what arrives before `until` for all inputs, evidence among them."""
        rejected = np.zeros(len(arrivals), np.bool_)
        for number, guard in enumerate(self._guards):
            values = part_of_rows(arrivals.rows, guard.places, len(self._schema))
            found = self._rejected_by(number, arrivals.ts, values, inputs, until)
            if found.any():
                found &= arrivals.weight != 0
                self._stop(guard, arrivals, found)
                rejected |= found
        if not rejected.any():
            return arrivals
        self._rejected[0] += int(rejected.sum())
        return arrivals.counting(~rejected) if self._counts else arrivals.take(~rejected)

    def _rejected_by(
        self, number: int, times: Ints, values: Ints, inputs: Mapping[int, Deltas], until: int
    ) -> NDArray[np.bool_]:
        """Which rows with these values came after they were closed."""
        guard = self._guards[number]
        evidence = inputs[guard.evidence]
        if (order := self._orders.get(number)) is not None:
            order.step(evidence, until)
            is_late: NDArray[np.bool_] = order.closed(values[:, 0]) < times
            return is_late & ~is_null(values, 0, 1)
        closed = evidence.ts, evidence.rows
        if (clusters := self._clusters.get(number)) is not None:
            closed = clusters.step(evidence, until)
        elif (references := self._references.get(number)) is not None and guard.ticks is not None:
            closed = references.step(evidence, inputs[guard.ticks])
        return self._known[number].rejected(times, values, *closed)

    def _stop(self, guard: Guard, came: Deltas, found: NDArray[np.bool_]) -> None:
        if guard.stops is not None and found.any():
            first = int(np.argmax(found))
            key = part_of_rows(came.rows[first : first + 1], guard.places, len(self._schema))[0]
            raise violation(guard.stops, values_text(self._columns(guard), key, self._dictionary), int(came.ts[first]))

    def _columns(self, guard: Guard) -> Schema:
        return tuple(self._schema[place] for place in guard.places)
