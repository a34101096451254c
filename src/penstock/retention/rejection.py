"""Rejection: rows of a join that arrive after a punctuation of their values are left out, and counted.

Guards (`retention/guards.py`) reject most of them first, but they remember only the last punctuations. A join rejects
rows by the punctuations that it has kept, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.closing.rules import ByPunctuation
from penstock.retention.closing_state import ClosingState
from penstock.retention.monitors import values_text, violation
from penstock.retention.retained_join import RetainedJoin
from penstock.synopsis.events import Events
from penstock.synopsis.evidence import MISSING


class Rejection:
    """Rejects rows of a join's inputs."""

    def __init__(self, join: RetainedJoin, closing_state: ClosingState) -> None:
        self._node, self._core, self._dictionary = join.node, join.inputs, join.dictionary
        self._closing = closing_state
        self._rules = [(n, rule) for n, rule in enumerate(join.rules) if isinstance(rule, ByPunctuation)]
        self._count = join.memory.array("rejected", 1)

    def count(self) -> int:
        """How many rows were rejected."""
        return int(self._count[0])

    def allowed(self, number: int, events: Events) -> Events:
        """The events of an input without those of rejected rows."""
        rejected = np.zeros(len(events), np.bool_)
        for rule_number, rule in self._rules:
            if rule.target == number and len(events):
                rejected |= self._late(rule_number, rule, events)
        if not rejected.any():
            return events
        self._count[0] += int(rejected.sum())
        return events.take(~np.isin(events.slots, events.slots[rejected]))

    def _late(self, number: int, rule: ByPunctuation, events: Events) -> NDArray[np.bool_]:
        """Which rows arrive after a punctuation of their values; or the run stops at the first of them."""
        starts = self._core.inputs[rule.target].store.starts[events.slots]
        keys = self._core.keys(rule.target, rule.variables, events.slots)
        closed = self._closing.evidence[number].words(keys)
        late: NDArray[np.bool_] = (closed != MISSING) & (closed < starts) & (events.signs > 0)
        if late.any():
            late &= ~self._core.has_null(rule.target, events.slots)  # a punctuation says nothing of NULLs
        if rule.stops is not None and late.any():
            first = int(np.argmax(late))
            values = values_text(self._node.evidence[rule.evidence].schema, keys[first], self._dictionary)
            raise violation(rule.stops, values, int(starts[first]))
        return late
