"""The input manager (thesis 2.2.5): a row waits until its instant is closed, once for all leaves that read it.

A row waits with the columns of all views of its input (`plan/inputs.py`). When its instant is closed, each leaf gets
the rows and columns of its view, in the order of (ts, arrival).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.operators.projection import projection
from penstock.operators.windows.reorder import Reorder
from penstock.plan.fragments import Fragment
from penstock.plan.inputs import Input, View, inputs
from penstock.plan.sharing import NOTHING_SHARED, Sharing
from penstock.retention.sweep import RowCodeOwner
from penstock.synopsis.deltas import Deltas, no_deltas, row_width
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Memory


class InputManager:
    """The inputs of one machine, in the order of `plan.inputs.inputs`."""

    def __init__(
        self, fragment: Fragment, memory: Memory, dictionary: Dictionary, sharing: Sharing = NOTHING_SHARED
    ) -> None:
        self.buffers = [
            InputBuffer(each, memory, f"in_flight{number}", dictionary)
            for number, each in enumerate(inputs(fragment, sharing))
        ]
        #: What leaves read whose rows arrive at another query's machine.
        self._nothing = {number: no_deltas(len(route.leaf.schema)) for number, route in enumerate(fragment.routes)}

    def step(self, arrived: Sequence[Deltas], until: int) -> dict[int, Deltas]:
        """By leaf the rows that are due in a step which closes all instants before `until`."""
        due = dict(self._nothing)
        for buffer, rows in zip(self.buffers, arrived, strict=True):
            due |= buffer.step(rows, until)
        return due


class InputBuffer:
    """The rows of one input that wait for their instant."""

    def __init__(self, input_: Input, memory: Memory, name: str, dictionary: Dictionary) -> None:
        self.name = name
        self.leaf = input_.views[0].leaves[0]
        self._reorder = Reorder(memory, name, row_width(len(input_.schema))) if input_.waits else None
        self._views = [_Slice(input_, view, number, dictionary) for number, view in enumerate(input_.views)]
        self.holders = [] if self._reorder is None else [RowCodeOwner(self._reorder.held_column, input_.schema)]

    def __len__(self) -> int:
        return 0 if self._reorder is None else len(self._reorder)

    def step(self, arrived: Deltas, until: int) -> dict[int, Deltas]:
        """By leaf the rows that arrive now or waited, and are due."""
        due = arrived if self._reorder is None else self._reorder.step(arrived, until)
        given: dict[int, Deltas] = {}
        for view in self._views:
            given |= dict.fromkeys(view.leaves, view.of(due))
        return given


class _Slice:
    """Cuts the rows and columns of one view out of those of its input."""

    def __init__(self, input_: Input, view: View, number: int, dictionary: Dictionary) -> None:
        self.leaves = view.leaves
        self._dictionary = dictionary
        self._bit = 1 << number
        #: Where there are several views, the column that says which of them read a row.
        self._bits = len(input_.schema) - 1
        self._project = projection(view.columns, input_.schema) if len(input_.views) > 1 else None

    def of(self, due: Deltas) -> Deltas:
        if self._project is None:
            return due
        mine = np.flatnonzero(due.rows[:, self._bits] & self._bit)
        own = due if len(mine) == len(due) else due.take(mine)
        return Deltas(own.ts, own.weight, self._project(own.rows, self._dictionary))
