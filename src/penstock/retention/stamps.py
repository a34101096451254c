"""Stamps: with each row, how many rows of another stream had arrived when it did, by the rules RIDS(k) of its join."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.closing.rules import AfterRows
from penstock.retention.closing_state import ClosingState
from penstock.retention.retained_join import RetainedJoin
from penstock.synopsis.events import Events
from penstock.synopsis.memory import Ints
from penstock.synopsis.store import BySlot


class Stamps:
    """By rule, an array with a stamp for each slot of the rule's source."""

    def __init__(self, join: RetainedJoin) -> None:
        self._rules = {number: rule for number, rule in enumerate(join.rules) if isinstance(rule, AfterRows)}
        self._by_slot = {
            number: BySlot(join.memory.scope("rule", number), "stamps", join.inputs.inputs[rule.source].store)
            for number, rule in self._rules.items()
        }

    def of(self, rule: int) -> Ints:
        """The stamps of a rule, by slot of its source."""
        return self._by_slot[rule].array()

    def of_source(self, number: int) -> list[Ints]:
        """All stamps of the rows of an input."""
        return [self.of(rule) for rule, own in self._rules.items() if own.source == number]

    def stamp(self, events: Sequence[Events], closing_state: ClosingState) -> None:
        """Stamps the rows that arrive."""
        for number, rule in self._rules.items():
            closing_state.stamp(rule.ticks, events[rule.source], self.of(number))
