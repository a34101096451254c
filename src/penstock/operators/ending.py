"""Which groups have ended (`plan/ending.py`): their keys are below what time has reached, or a punctuation closed them.

Groups are looked through as a whole, when there are twice as many as were left the last time. So it costs a little per
row, and at most half of what is kept has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.operators.knowledge import without_nulls
from penstock.operators.scalars import compile_scalar
from penstock.operators.sweep import Holder, RowsHolder
from penstock.plan.ends import AfterJoin, AfterPunctuation, Ending, InTime
from penstock.synopsis.deltas import Deltas, is_null, row_width
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.evidence import MISSING, Evidence
from penstock.synopsis.memory import Ints, Memory

Bools = NDArray[np.bool_]
#: Forgets the groups of whose keys something is true.
Forget = Callable[[Callable[[Ints], Bools]], None]

#: So few groups are looked through in every step.
FEW_GROUPS = 1024


class Endings:
    def __init__(self, memory: Memory, name: str, node: Ending, keys: int, dictionary: Dictionary) -> None:
        self._node, self._keys, self._dictionary = node, keys, dictionary
        #: How many groups were left when they were last looked through.
        self._left = memory.array(f"{name}.left", 1)
        #: By the ends that speak of values: those that do not come again.
        self._closed = {
            end: Evidence(memory, f"{name}.closed{number}", len(end.keys))
            for number, end in enumerate(node.ends)
            if not isinstance(end, InTime)
        }
        self._bounds = {end: compile_scalar(end.expr, (end.timestamp,)) for end in node.ends if isinstance(end, InTime)}

    def __len__(self) -> int:
        return sum(map(len, self._closed.values()))

    @property
    def holders(self) -> list[Holder]:
        """What holds codes of interned values."""
        return [
            RowsHolder(entries.store.held_column, tuple(self._node.schema[key] for key in end.keys))
            for end, entries in self._closed.items()
        ]

    def learn(self, came: Sequence[Deltas], ended: Mapping[int, Ints]) -> None:
        """Takes punctuations, and the values for which rules of the join below say that it is done."""
        for end, entries in self._closed.items():
            if isinstance(end, AfterPunctuation):
                ts, keys = without_nulls(came[end.evidence], entries.width)
                entries.note(keys, ts)
            elif end.rule in ended:
                entries.note(ended[end.rule], np.zeros(len(ended[end.rule]), np.int64))

    def step(self, until: int, groups: Callable[[], int], forget: Forget) -> None:
        """Lets groups go that ended before `until`, if it is worth the while."""
        if FEW_GROUPS < groups() < 2 * int(self._left[0]) and len(self) < groups():
            return
        forget(lambda keys: self._ended(keys, until))
        self._left[0] = groups()
        for entries in self._closed.values():
            entries.clear()

    def _ended(self, keys: Ints, until: int) -> Bools:
        """Of keys, each followed by its null bits, which ones no row will have again."""
        ended = np.zeros(len(keys), np.bool_)
        for end in self._node.ends:
            match end:
                case InTime(key):
                    ended |= keys[:, key] < self._reached(end, until)
                case AfterPunctuation(columns) | AfterJoin(columns):
                    known = self._closed[end].words(keys[:, columns]) != MISSING
                    for column in columns:
                        known &= ~is_null(keys, column, self._keys)
                    ended |= known
        return ended

    def _reached(self, end: InTime, until: int) -> int:
        """The key of a row that comes at the watermark."""
        row = np.zeros((1, row_width(1)), np.int64)
        row[0, 0] = until
        codes, _ = self._bounds[end](row, self._dictionary)
        return int(codes[0])
