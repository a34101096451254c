"""A fragment whose streams begin when another fragment says so: rows before the switch do not exist for it."""

from __future__ import annotations

import numpy as np

from penstock.plan.fragments import Switch
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.memory import Scope


class Switching:
    """Lets rows of some leaves pass from the instant on that follows from the first row of another leaf."""

    def __init__(self, memory: Scope, switch: Switch) -> None:
        self._switch = switch
        #: The instant plus 1; 0 as long as there is none.
        self._since = memory.array("since", 1)

    def gated(self, inputs: dict[int, Deltas]) -> dict[int, Deltas]:
        """What arrived, without rows before the switch."""
        said = inputs[self._switch.leaf]
        if self._since[0] == 0 and len(said):
            node = self._switch.node
            self._since[0] = node.buckets.start(node.first_exact(int(said.ts.min()))) + 1
        return {
            number: self._passing(rows) if number in self._switch.gated else rows for number, rows in inputs.items()
        }

    def _passing(self, rows: Deltas) -> Deltas:
        passes = rows.ts >= self._since[0] - 1 if self._since[0] else np.zeros(len(rows), np.bool_)
        return rows if passes.all() else rows.take(np.flatnonzero(passes))
