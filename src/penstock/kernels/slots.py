"""Slots: rows of a table that are taken and given back, so that what is forgotten makes room for what comes.

Slot 0 is never taken: a link to it is a link to nothing. Its row is the table's own ledger: how many slots were ever
taken, the first slot that was given back (the others follow, linked through the first word of each), and how many are
in use. Its first word is free for the table's owner.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

EVER, FREE, IN_USE = 1, 2, 3


@lean
def take(table: Ints) -> int:
    """A slot, all zero. There must be room."""
    slot = table[0, FREE]
    if slot != 0:
        table[0, FREE] = table[slot, 0]
    else:
        table[0, EVER] += 1
        slot = table[0, EVER]
    table[0, IN_USE] += 1
    for word in range(table.shape[1]):
        table[slot, word] = 0
    return slot  # type: ignore[no-any-return]


@lean
def give(table: Ints, slot: int) -> None:
    """Gives a slot back, all zero but for its link."""
    for word in range(table.shape[1]):
        table[slot, word] = 0
    table[slot, 0] = table[0, FREE]
    table[0, FREE] = slot
    table[0, IN_USE] -= 1


@lean
def in_use(table: Ints) -> int:
    return table[0, IN_USE] if len(table) > 0 else 0


@lean
def room(table: Ints) -> int:
    """How many slots can be taken before the table must grow."""
    return max(len(table) - 1 - in_use(table), 0)
