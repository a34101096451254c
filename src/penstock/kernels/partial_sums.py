"""Partial sums of the rows that a probe path counts: COUNT, SUM and AVG of columns, exact, so that order is nothing.

They lie in a line of words as the accumulators of groups do (`kernels.aggregation`): how many values there are, and
their exact total. A line stands at each depth of a path, in each entry of the memo, and in each result.

A sum of DOUBLEs whose digits do not fit a window lies in a row of a pool. Results have no pool: such a sum becomes
*pieces*, one result each, and the group above adds them up again. That is rare: the numbers differ by 2^200 and more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import exact
from penstock.kernels.aggregation import DOUBLE, INTEGER
from penstock.kernels.jit import lean
from penstock.kernels.mjoin import ROWS, WIDTH, null_word
from penstock.kernels.pointers import peek

Ints = NDArray[np.int64]

#: Columns of the table of sums: whose column, which, the word and the bit of its null, the family of its accumulator,
#: and the word at which that begins.
INPUT, COLUMN, NULL_WORD, NULL_BIT, FAMILY, AT = range(6)

#: A sum of DOUBLEs has at most so many pieces.
PIECES = -(-exact.POOL_WIDTH // exact.WINDOW_DIGITS)


class Sums(NamedTuple):
    """The table of sums; by depth those of the rows that are counted there, and their number; a line of room; a pool.

    A line has at most one row of the pool for each sum of DOUBLEs.
    """

    lines: Ints
    totals: Ints
    numbers: Ints
    work: Ints
    pool: Ints


@lean
def add_row(inputs: Ints, source: int, slot: int, sums: Sums, times: int, totals: Ints, row: int, start: int) -> None:
    """Adds the values of a row, so many times, to the sums of a line that lie from a word on."""
    for line in range(len(sums.lines)):
        if sums.lines[line, INPUT] == source:
            _add_value(inputs, slot, sums, line, times, totals, row, start + sums.lines[line, AT])


@lean
def clear(sums: Sums, totals: Ints, row: int, start: int) -> None:
    """Makes all sums of a line those of nothing."""
    for line in range(len(sums.lines)):
        if sums.lines[line, FAMILY] == DOUBLE:
            exact.release_double(totals, row, start + sums.lines[line, AT] + 1, sums.pool)
    for word in range(sums.totals.shape[1]):
        totals[row, start + word] = 0


@lean
def copy(sums: Sums, others: Ints, other: int, begin: int, totals: Ints, row: int, start: int) -> None:
    """Makes the sums of a line those of another."""
    clear(sums, totals, row, start)
    for line in range(len(sums.lines)):
        own = sums.lines[line, AT]
        _add_sum(sums, line, others, other, begin + own, 1, totals, row, start + own)


@lean
def give_sums(
    path: int,
    sign: int,
    inputs: Ints,
    targets: Ints,
    counted: Ints,
    bound: Ints,
    weight: int,
    sums: Sums,
    out: Ints,
    row: int,
) -> int:
    """Writes the partial sums of a result: each as often as the numbers of the other counted inputs multiply to.

    Gives how many pieces follow in the next rows, which have the sign of the event.
    """
    for word in range(out.shape[1]):
        out[row, word] = 0
    last = row
    for line in range(len(sums.lines)):
        own, at = sums.lines[line, INPUT], sums.lines[line, AT]
        depth, others = -1, 1
        for d in range(targets.shape[1]):
            if counted[path, d] != 0:
                if targets[path, d] == own:
                    depth = d
                else:
                    others *= sums.numbers[d]
        if sums.lines[line, FAMILY] == DOUBLE:
            clear(sums, sums.work, 0, 0)
            if depth < 0:
                _add_value(inputs, bound[own], sums, line, weight, sums.work, 0, at)
            else:
                _add_sum(sums, line, sums.totals, depth, at, others, sums.work, 0, at)
            last = _give_double(sums, at, sign, out, row, last)
        elif depth < 0:
            _add_value(inputs, bound[own], sums, line, weight, out, row, at)
        else:
            _add_sum(sums, line, sums.totals, depth, at, others, out, row, at)
    return last - row


@lean
def _give_double(sums: Sums, at: int, sign: int, out: Ints, row: int, last: int) -> int:
    """Writes a sum of DOUBLEs to a result, and pieces of it behind the last one that there is; gives the last one."""
    work, spill = sums.work, sums.work[0, at + 1 + exact.SPILL]
    for word in range(at, at + 1 + exact.DOUBLE_WIDTH):
        out[row, word] = work[0, word]
    if spill == 0:
        return last
    out[row, at + 1 + exact.SPILL] = out[row, at + 1 + exact.BASE] = 0
    for piece in range(PIECES):
        base = min(piece * exact.WINDOW_DIGITS, exact.POOL_WIDTH - exact.WINDOW_DIGITS)
        some = 0
        for digit in range(piece * exact.WINDOW_DIGITS, base + exact.WINDOW_DIGITS):
            some |= sums.pool[spill, digit]
        if some != 0:
            last += 1
            for word in range(out.shape[1]):
                out[last, word] = 0
            out[last, at + 1 + exact.BASE] = base + 1
            for digit in range(piece * exact.WINDOW_DIGITS, base + exact.WINDOW_DIGITS):
                out[last, at + 1 + exact.WINDOW + digit - base] = sign * sums.pool[spill, digit]
    return last


@lean
def _add_value(inputs: Ints, slot: int, sums: Sums, line: int, times: int, totals: Ints, row: int, at: int) -> None:
    """Adds the value of a row to a sum, so many times."""
    lines = sums.lines
    source, family = lines[line, INPUT], lines[line, FAMILY]
    if (null_word(inputs, source, slot, lines[line, NULL_WORD]) >> lines[line, NULL_BIT]) & 1:
        return
    totals[row, at] += times
    value = peek(inputs[source, ROWS] + 8 * (slot * inputs[source, WIDTH] + lines[line, COLUMN]))
    if family == INTEGER:
        exact.add_integer(totals, row, at + 1, value, value >> 63, times)
    elif family == DOUBLE:
        exact.add_double(totals, row, at + 1, value, times, sums.pool)


@lean
def _add_sum(
    sums: Sums, line: int, others: Ints, other: int, place: int, factor: int, totals: Ints, row: int, at: int
) -> None:
    """Adds a sum to another, so many times."""
    totals[row, at] += factor * others[other, place]
    if sums.lines[line, FAMILY] == INTEGER:
        exact.add_integer_sum(totals, row, at + 1, others, other, place + 1, factor)
    elif sums.lines[line, FAMILY] == DOUBLE:
        exact.add_double_sum(totals, row, at + 1, others, other, place + 1, factor, sums.pool, sums.pool)
