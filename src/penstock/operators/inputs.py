"""The input manager (thesis 2.2.5): a row waits until its instant is closed, once for all leaves that read it.

A row waits with the columns of all views of its input (`plan/inputs.py`). When its instant is closed, each leaf gets
the rows and columns of its view, in the order of (ts, arrival).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from penstock.algebra.physical import Scan
from penstock.operators.projection import projection
from penstock.operators.windows.reorder import Reorder
from penstock.plan.fragments import Fragment
from penstock.plan.inputs import MOST_VIEWS, Input, View, inputs
from penstock.plan.sharing import NOTHING_SHARED, Sharing
from penstock.retention.code_owners import RowCodeOwner
from penstock.synopsis.deltas import NEVER, Deltas, no_deltas, row_width
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Memory, Scope


class InputManager:
    """The inputs of one machine, in the order of `plan.inputs.inputs`."""

    def __init__(
        self, fragment: Fragment, memory: Memory, dictionary: Dictionary, sharing: Sharing = NOTHING_SHARED
    ) -> None:
        self.buffers = [
            InputBuffer(each, memory.scope("in_flight", number), dictionary)
            for number, each in enumerate(inputs(fragment, sharing))
        ]
        #: Leaves that take rows in any order, also of instants that are not closed.
        self.at_once = frozenset(buffer.leaf for buffer in self.buffers if buffer.takes_any_order)
        #: What leaves read whose rows arrive at another query's machine.
        self._nothing = {number: no_deltas(len(route.leaf.schema)) for number, route in enumerate(fragment.routes)}

    def step(self, arrived: Sequence[Deltas], until: int, closed: Mapping[str, int]) -> dict[int, Deltas]:
        """By leaf the rows that are due in a step which closes all instants before `until`.

        `closed` has by stream the first instant that its own rows may still have. Inputs that wait for some streams
        only take what these have closed.
        """
        due = dict(self._nothing)
        for buffer, rows in zip(self.buffers, arrived, strict=True):
            due |= buffer.step(rows, taken_before(buffer.awaited, until, closed))
        return due


def taken_before(awaited: Sequence[str] | None, until: int, closed: Mapping[str, int]) -> int:
    """The first instant of which rows have to wait, for those streams, or for all of them."""
    if awaited is None:
        return until
    return max(until, min((closed.get(stream, until) for stream in awaited), default=NEVER))


class InputBuffer:
    """The rows of one input that wait for their instant."""

    def __init__(self, input_: Input, memory: Scope, dictionary: Dictionary) -> None:
        self.memory = memory
        self.leaf, self.awaited = input_.views[0].leaves[0], input_.awaited
        self._reorder = Reorder(memory, row_width(len(input_.schema))) if input_.waits else None
        self.takes_any_order = not input_.waits and isinstance(input_.leaf, Scan)
        self._views = [_Slice(input_, view, number, dictionary) for number, view in enumerate(input_.views)]
        self.code_owners = [] if self._reorder is None else [RowCodeOwner(self._reorder.held_column, input_.schema)]

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
        self._read, self._counted = 1 << number, 1 << MOST_VIEWS + number
        self._counts = view.counts
        #: The column that says which views read or count a row.
        self._bits = len(input_.schema) - 1
        self._project = projection(view.columns, input_.schema) if input_.has_bits else None

    def of(self, due: Deltas) -> Deltas:
        if self._project is None:
            return due
        mine = np.flatnonzero(due.rows[:, self._bits] & (self._counted if self._counts else self._read))
        own = due if len(mine) == len(due) else due.take(mine)
        rows = Deltas(own.ts, own.weight, self._project(own.rows, self._dictionary))
        return rows.counting(own.rows[:, self._bits] & self._read != 0) if self._counts else rows
