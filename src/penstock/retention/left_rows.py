"""Which rows have left a window of rows, by their times: what is noted of rows that it does not store has no number.

It is known to within a part of the window, by a few marks, each a number of rows and the time of the last of them:

    rows     ──────┬───────┬───────┬───────┬───────┬──▶ now
                   ▲       └────── the window ────────┘
                   the last mark that it has left behind: all rows of earlier times have left
"""

from __future__ import annotations

import numpy as np

from penstock.synopsis.memory import Ints, Memory

#: A window has about so many marks, and there is room for some more.
PARTS = 32
_ROOM = PARTS + 4


class LeftRows:
    """Follows the window of so many rows over a stream, all of whose rows it is shown."""

    def __init__(self, memory: Memory, name: str, count: int) -> None:
        self._count, self._apart = count, -(-count // PARTS)
        #: [rows that arrived, marks that were made]
        self._registers = memory.array(f"{name}.arrived", 2)[:2]
        self._marks = memory.array(f"{name}.marks", _ROOM, 2)[:_ROOM]

    def arrive(self, times: Ints) -> None:
        """Sees the times of rows that arrive, in order."""
        if not len(times):
            return
        self._registers[0] += len(times)
        arrived, made = self._registers.tolist()
        last = int(self._marks[(made - 1) % _ROOM, 0]) if made else 0
        if arrived - last >= self._apart:
            self._marks[made % _ROOM] = arrived, times[-1]
            self._registers[1] = made + 1

    def until(self) -> int:
        """The time before which all rows have left."""
        arrived, made = self._registers.tolist()
        marks = self._marks[: min(made, _ROOM)]
        return int(np.max(marks[marks[:, 0] <= arrived - self._count, 1], initial=0))
