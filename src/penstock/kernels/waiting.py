"""What the rows of a join wait for: the closers that would let a purge go on with a row, and have not applied yet.

A row that stays has a binding that cannot move on (`kernels/purge.py`). Whatever rule speaks of that binding would let
it move on, so the row waits for these:

    row of a ──punctuation of b: has come──▶ row of b ──┬─ key of c: is not there   ◀── it waits for these two
                                                        └─ 2 SECONDS of c: not yet  ◀──
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean
from penstock.kernels.pointers import peek
from penstock.kernels.purge import (
    AFTER_ROWS,
    ALL_HERE,
    IN_TIME,
    KIND,
    NEEDS,
    SOURCE,
    STARTS,
    TARGET,
    Rules,
    Scratch,
    Spilled,
    Tables,
    closing_rule,
    is_purgeable,
    scratch,
)

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: What a row waits for: nothing, so that the next purge drops it; rules, if any speaks of it; until a row of a result
#: that holds it leaves its window; or it is not known, since there was too much to follow.
NOTHING, RULES, RESULTS, NOT_FOLLOWED = range(4)


def waiting(inputs: Ints, slots: Ints, retracts: bool, tables: Tables, rules: Rules) -> tuple[Ints, Flags]:
    """What each of these rows waits for, and if for rules, for which: a line of flags per row."""
    what, unmet = np.zeros(len(slots), np.int64), np.zeros((len(slots), len(rules.lines)), np.bool_)
    _waiting(inputs, slots, retracts, tables, rules, ALL_HERE, scratch(tables, len(rules.clocks)), what, unmet)
    return what, unmet


@lean
def _waiting(
    inputs: Ints,
    slots: Ints,
    retracts: bool,
    tables: Tables,
    rules: Rules,
    spilled: Spilled,
    room: Scratch,
    what: Ints,
    unmet: Flags,
) -> None:
    for i in range(len(slots)):
        if is_purgeable(inputs[i], slots[i], retracts, tables, rules, spilled, room):
            what[i] = NOTHING
            continue
        known, bound, members = 0, 0, 0
        for n in range(len(room.bound)):
            if room.bound[n] >= 0:
                known |= tables.has[n]
                bound += 1
                members |= 1 << n
        start = peek(tables.stores[inputs[i], STARTS] + 8 * slots[i])
        if bound == len(room.bound):
            what[i] = RESULTS
        elif closing_rule(inputs[i], start, members, known, tables, rules, room) >= 0:
            what[i] = NOT_FOLLOWED
        else:
            what[i] = RULES
            for r in range(len(rules.lines)):
                unmet[i, r] = _speaks(r, known, rules, room)


@lean
def _speaks(r: int, known: int, rules: Rules, room: Scratch) -> bool:
    """Whether a rule closes an input for a binding, now or later."""
    line = rules.lines[r]
    if room.bound[line[TARGET]] >= 0 or line[NEEDS] & ~known != 0:
        return False
    return not (IN_TIME <= line[KIND] <= AFTER_ROWS) or room.bound[line[SOURCE]] >= 0
