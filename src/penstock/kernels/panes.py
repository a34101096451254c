"""Panes: partial aggregates of the rows that come to a sliding window together and leave it together.

The ends of a sliding window cut time into panes (Li, Maier, Tufte, Papadimos, Tucker 2005: No Pane, No Gain). All rows
of a pane are in the window at the same instants, so of the rows of a group it is enough to keep one partial aggregate
per pane. A pane is a row of a table of slots: when its rows come, when they have gone, the next pane of its bucket,
its first partial aggregate and how many there are, and whether they have come. A partial aggregate is a group row as in
`kernels/aggregation.py`, whose key starts with the pane; its last word links it to the next one of its pane.

Rows are taken in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import slots
from penstock.kernels.aggregation import (
    BLOCK,
    ROWS,
    Arguments,
    GroupTables,
    accumulate,
    forget,
    group_of,
    look_ahead,
    room_for_deltas,
)
from penstock.kernels.hashing import words_hash
from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

COMES, ENDS, LINK, FIRST, COUNT, ENTERED = range(6)
PANE_WIDTH = 6

#: The bit of the panes among the tables that are short.
SHORT_OF_PANES = 1 << 4


class PaneTables(NamedTuple):
    """Panes and their partial aggregates, each with the heads of their buckets, and the digits of sums."""

    panes: Ints
    pane_heads: Ints
    partials: Ints
    heads: Ints
    pool: Ints


@lean
def absorb(
    ts: Ints,
    arguments: Arguments,
    keys: Ints,
    plan: Ints,
    start: int,
    reach: int,
    slide: int,
    tables: PaneTables,
    columns: Ints,
    buckets: Ints,
    short: Ints,
) -> int:
    """Takes rows into the partial aggregates from row `start` on, and gives the row at which it stopped.

    That is the last, or `short[0]` has bits of the tables that are short. The first column of `keys` is filled in here.
    """
    panes, pane_heads, partials, heads, pool = tables
    groups = GroupTables(partials, heads, partials, heads, partials, pool)
    short[0] = 0
    pane = 0
    while start < len(ts):
        fitting, short[0] = room_for_deltas(plan, partials, partials, partials, pool)
        end = min(start + BLOCK, start + fitting, len(ts))
        if slots.room(panes) < end - start:
            short[0] |= SHORT_OF_PANES
        if short[0] != 0:
            return start
        for row in range(start, end):
            if pane == 0 or not _holds(panes, pane, ts[row], reach, slide):
                pane = _pane(panes, pane_heads, ts[row], reach, slide)
            keys[row, 0] = pane
        look_ahead(keys, start, end, columns, partials, heads, buckets)
        for row in range(start, end):
            if keys[row, 0] != 0:
                entry = group_of(keys, row, columns, partials, heads, buckets[row - start])
                if partials[entry, ROWS] == 0:
                    _chain(panes, keys[row, 0], partials, entry)
                partials[entry, ROWS] += 1
                accumulate(arguments, row, 1, entry, plan, groups)
        start = end
    return start


@lean
def listed(some: Ints, panes: Ints, partials: Ints, out: Ints) -> None:
    """The partial aggregates of some panes, pane by pane."""
    position = 0
    for i in range(len(some)):
        entry = panes[some[i], FIRST]
        while entry != 0:
            out[position] = entry
            position += 1
            entry = partials[entry, partials.shape[1] - 1]


@lean
def forget_panes(gone: Ints, plan: Ints, places: Ints, tables: PaneTables) -> None:
    """Gives the slots of panes and of their partial aggregates back."""
    panes, pane_heads, partials, heads, pool = tables
    for i in range(len(gone)):
        pane = gone[i]
        entry = panes[pane, FIRST]
        while entry != 0:
            following = partials[entry, partials.shape[1] - 1]
            forget(entry, plan, places, partials, heads, pool)
            entry = following
        bucket = words_hash(panes[pane, COMES], panes[pane, ENDS]) & (len(pane_heads) - 1)
        other = pane_heads[bucket]
        if other == pane:
            pane_heads[bucket] = panes[pane, LINK]
        else:
            while panes[other, LINK] != pane:
                other = panes[other, LINK]
            panes[other, LINK] = panes[pane, LINK]
        slots.give(panes, pane)


@lean
def rebuild_panes(panes: Ints, pane_heads: Ints) -> None:
    """Links all panes again, after a restore or for more buckets."""
    for bucket in range(len(pane_heads)):
        pane_heads[bucket] = 0
    for pane in range(1, len(panes)):
        if panes[pane, ENDS] != 0:
            bucket = words_hash(panes[pane, COMES], panes[pane, ENDS]) & (len(pane_heads) - 1)
            panes[pane, LINK] = pane_heads[bucket]
            pane_heads[bucket] = pane


@lean
def _holds(panes: Ints, pane: int, ts: int, reach: int, slide: int) -> bool:
    """Whether rows of that time come and go with a pane."""
    comes, ends = panes[pane, COMES], panes[pane, ENDS]
    return comes - slide < ts <= comes and ends - slide <= ts + reach < ends  # type: ignore[no-any-return]


@lean
def _pane(panes: Ints, heads: Ints, ts: int, reach: int, slide: int) -> int:
    """The pane of a time, which is made if there is none; 0 if no window sees rows of that time."""
    comes = -(-ts // slide) * slide
    ends = ((ts + reach) // slide + 1) * slide
    if comes >= ends:
        return 0
    bucket = words_hash(comes, ends) & (len(heads) - 1)
    pane = heads[bucket]
    while pane != 0 and not (panes[pane, COMES] == comes and panes[pane, ENDS] == ends):
        pane = panes[pane, LINK]
    if pane == 0:
        pane = slots.take(panes)
        panes[pane, COMES], panes[pane, ENDS] = comes, ends
        panes[pane, LINK] = heads[bucket]
        heads[bucket] = pane
    return pane  # type: ignore[no-any-return]


@lean
def _chain(panes: Ints, pane: int, partials: Ints, entry: int) -> None:
    """A new partial aggregate of a pane."""
    partials[entry, partials.shape[1] - 1] = panes[pane, FIRST]
    panes[pane, FIRST] = entry
    panes[pane, COUNT] += 1
