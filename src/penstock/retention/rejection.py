"""Rows of a join that a punctuation had ruled out: they are left out, and counted.

Guards (`retention/guards.py`) notice them first, but for those for whose values so much was told since that guards do
not remember it. What the join has kept of that it remembers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.rules import ByPunctuation
from penstock.retention.closing_state import ClosingState
from penstock.retention.monitors import values_text, violation
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.events import Events
from penstock.synopsis.evidence import MISSING
from penstock.synopsis.indexed_inputs import IndexedInputs
from penstock.synopsis.memory import Memory


class Rejection:
    def __init__(
        self,
        memory: Memory,
        name: str,
        node: PhysicalJoin,
        core: IndexedInputs,
        closing_state: ClosingState,
        dictionary: Dictionary,
    ) -> None:
        self._node, self._core, self._closing, self._dictionary = node, core, closing_state, dictionary
        self._rules = [(n, rule) for n, rule in enumerate(node.rules) if isinstance(rule, ByPunctuation)]
        self._count = memory.array(f"{name}.violations", 1)

    def count(self) -> int:
        """How many rows were left out."""
        return int(self._count[0])

    def allowed(self, number: int, events: Events) -> Events:
        """The events of an input without rows whose values a punctuation had closed before."""
        ruled_out = np.zeros(len(events), np.bool_)
        for rule_number, rule in self._rules:
            if rule.target == number and len(events):
                ruled_out |= self._late(rule_number, rule, events)
        if not ruled_out.any():
            return events
        self._count[0] += int(ruled_out.sum())
        return events.take(~np.isin(events.slots, events.slots[ruled_out]))

    def _late(self, number: int, rule: ByPunctuation, events: Events) -> NDArray[np.bool_]:
        """Which rows come after a punctuation of their values; or the run stops at the first of them."""
        starts = self._core.inputs[rule.target].store.starts[events.slots]
        keys = self._core.keys(rule.target, rule.variables, events.slots)
        closed = self._closing.evidence[number].words(keys)
        late: NDArray[np.bool_] = (closed != MISSING) & (closed < starts) & (events.signs > 0)
        if late.any():
            late &= ~self._core.has_null(rule.target, events.slots)  # a punctuation says nothing of NULLs
        if rule.stops is not None and late.any():
            first = int(np.argmax(late))
            told = values_text(self._node.evidence[rule.evidence].schema, keys[first], self._dictionary)
            raise violation(rule.stops, told, int(starts[first]))
        return late
