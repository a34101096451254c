"""Rows that are notified of their partners (`retention/notification.py`) and wait for nothing else but clocks.

What they wait for is not noted: when a clock has moved, those are found for which it has closed an input since. Most
are notified before, so for each clock the least is known that it waits for, and there is mostly nothing to find.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean
from penstock.kernels.pointers import peek
from penstock.kernels.purge import CLOCK, KIND, NEEDS, NEVER, ORDERED, STARTS, STATIC, Rules, Tables
from penstock.kernels.star import Star, noted

Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]
Flags = NDArray[np.bool_]

#: Of each rule: where it finds what is noted with rows, bytes from row to row, up to which value it closes its input,
#: up to which value it did so before, and the least value of a row for which it does not.
AT, STRIDE, CLOSED, BEFORE, LEAST = range(5)


def no_clocks(star: Star) -> Ints:
    """Of the rules of a star, when nothing is known: all rows may wait."""
    return np.full((len(star.steps), 5), -NEVER, np.int64)


@lean
def set_clocks(star: Star, tables: Tables, rules: Rules, oldest: int, clocked: Ints) -> bool:
    """Where the clocks of a star's rules stand now. Says whether there may be a row for which one closes an input.

    Times and numbers of rows are noted in the order in which rows come; so the oldest row has the least, if there is
    one.
    """
    closes = False
    for step in range(len(star.steps)):
        r, own = star.steps[step], clocked[step]
        now = rules.clocks[rules.lines[r, CLOCK]]
        own[BEFORE] = own[CLOSED]
        own[AT], own[STRIDE], own[CLOSED] = tables.stores[star.source, STARTS], 8, NEVER
        if rules.lines[r, KIND] != STATIC:
            own[AT], own[STRIDE], added = noted(r, star.source, tables, rules)
            own[CLOSED] = now - added if now > -NEVER else -NEVER
        if rules.lines[r, NEEDS] & ~tables.has[star.source] != 0:
            own[AT], own[STRIDE], own[CLOSED] = tables.stores[star.source, STARTS], 8, -NEVER
        if oldest >= 0 and rules.lines[r, KIND] != ORDERED:
            own[LEAST] = max(own[LEAST], peek(own[AT] + own[STRIDE] * oldest))
        closes |= own[LEAST] <= own[CLOSED]
    return closes


@lean
def new_closed(clocked: Ints, slots: Ints, flags: Flags, found: Ints) -> int:
    """Of rows that are new, those for which an input is closed. Gives how many."""
    flags[: len(slots)] = False
    for step in range(len(clocked)):
        at, stride, closed, least = (
            clocked[step, AT],
            clocked[step, STRIDE],
            clocked[step, CLOSED],
            clocked[step, LEAST],
        )
        for i in range(len(slots)):
            word = peek(at + stride * slots[i])
            flags[i] |= word <= closed
            least = min(least, word if word > closed else NEVER)
        clocked[step, LEAST] = least
    count = 0
    for i in range(len(slots)):
        found[count] = slots[i]
        count += flags[i]
    return count


@lean
def all_closed(clocked: Ints, visibility: Int32s, flags: Flags, found: Ints) -> int:
    """Of all rows, those for which an input is closed that was not before. Gives how many."""
    flags[: len(visibility)] = False
    for step in range(len(clocked)):
        at, stride, closed, before = (
            clocked[step, AT],
            clocked[step, STRIDE],
            clocked[step, CLOSED],
            clocked[step, BEFORE],
        )
        least = NEVER
        for slot in range(len(visibility)):
            word = peek(at + stride * slot)
            flags[slot] |= (word <= closed) & (word > before)
            least = min(least, word if (word > closed) & (visibility[slot] != 0) else NEVER)
        clocked[step, LEAST] = least
    count = 0
    for slot in range(len(visibility)):
        found[count] = slot
        count += flags[slot] & (visibility[slot] != 0)
    return count
