"""Recent values: since when each is there, and how many rows have it, for observers that only count.

A few are remembered, the last ones. Of many rows values are *thinned*: only those of one value in 16 are seen, and of
fewer, if the ones that are wanted are too many (distinct sampling, Gibbons 2001). That is by hash, so numbers are then
estimates without a bias: each stands for 16.
"""

from __future__ import annotations

from penstock.kernels.recent import (
    CROWDED,
    ROWS,
    TAKEN,
    VALUE,
    Required,
    Ring,
    Seen,
    Stored,
    Ticks,
    come_again,
    come_to_referred,
)
from penstock.synopsis.firsts import ALL
from penstock.synopsis.memory import Ints, Scope

#: So many values are remembered.
ROOM = 512
#: Before they are thinned, all values of so many rows are seen; then those of one value in 2 ** THIN.
WHOLE, THIN = 1 << 16, 4


class Recent:
    def __init__(self, memory: Scope, width: int, room: int | None = None) -> None:
        room = room or ROOM
        heads = 1 << (2 * room - 1).bit_length()
        self._ring = Ring(
            memory.array("recent", room, VALUE + width)[:room],
            memory.array("recent_heads", heads)[:heads],
            memory.array("recent_registers", 3)[:3],
        )
        #: [rows that were seen, how often their values were halved]
        self._thinned = memory.array("thinned", 2)

    def __len__(self) -> int:
        return int(self._ring.registers[TAKEN])

    def held_column(self, column: int) -> Ints:
        """A column of all values that are remembered."""
        lines = self._ring.lines
        values: Ints = lines[lines[:, ROWS] > 0, VALUE + column]
        return values

    @property
    def seen(self) -> int:
        """Hashes of values that are seen are below it."""
        return ALL >> int(self._thinned[1])

    @property
    def weight(self) -> float:
        """For how many values each of those stands that are seen."""
        return float(1 << int(self._thinned[1]))

    def see(self, rows: int) -> None:
        """So many rows come now. Of those that are remembered, the ones that are not seen any more go in their turn."""
        self._thinned[0] += rows
        if self._thinned[0] > WHOLE:
            self._thinned[1] = max(THIN, self._thinned[1])
        if self._ring.registers[CROWDED]:
            self._thinned[1] += 1
            self._ring.registers[CROWDED] = 0

    def meet(self, came: Seen, ticks: Ticks, oldest: int) -> Required:
        """Rows come. Those are given whose values came before. Words below the `oldest` are not wanted any more."""
        return come_again(came, ticks, oldest, self._ring)

    def refer(self, source: Seen, target: Seen, ticks: Ticks, there: Stored, is_key: bool, oldest: int) -> Required:
        """Rows come, and others that they refer to; those are given that are referred to."""
        return come_to_referred(source, target, ticks, there, is_key, oldest, self._ring)
