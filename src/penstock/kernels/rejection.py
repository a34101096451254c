"""Which rows come after a punctuation of their values, of those that are remembered: the last ones, in a ring.

The ring is a matrix with a line per value: the time of its punctuation, the next line of its bucket, counted from 1,
and the value itself. `heads` has a power of two of buckets, each with its first line, counted from 1. `registers` has
the number of lines that were ever taken; each new one takes the next place, and in the end that of the oldest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import row_hash
from penstock.kernels.jit import lean

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Words of a line.
TIME, LATER, VALUE = range(3)
#: The register that counts lines, and the one that says how many places there are.
TAKEN, PLACES = range(2)
#: A lifespan that never ends.
FOR_EVER = -1


@lean
def reject(
    times: Ints,
    rows: Ints,
    columns: Ints,
    punctuation_times: Ints,
    punctuations: Ints,
    lifespan: int,
    punctuation_columns: Ints,
    places: Ints,
    lines: Ints,
    heads: Ints,
    registers: Ints,
    found: Flags,
) -> None:
    """Says of each row whether a punctuation rejects it, and remembers punctuations; both are in the order of time.

    A punctuation rejects no row of its own instant. `columns` and `punctuation_columns` say where values are in
    rows and in punctuations, `places` where lines have them.
    """
    next_ = 0
    for row in range(len(times)):
        while next_ < len(punctuation_times) and punctuation_times[next_] < times[row]:
            _remember(
                punctuation_times[next_],
                punctuations,
                next_,
                lifespan,
                punctuation_columns,
                places,
                lines,
                heads,
                registers,
            )
            next_ += 1
        line = _line_of(rows, row, columns, lines, heads)
        found[row] = line > 0 and (lifespan == FOR_EVER or times[row] - lines[line - 1, TIME] <= lifespan)
    while next_ < len(punctuation_times):
        _remember(
            punctuation_times[next_],
            punctuations,
            next_,
            lifespan,
            punctuation_columns,
            places,
            lines,
            heads,
            registers,
        )
        next_ += 1


@lean
def link_lines(count: int, places: Ints, lines: Ints, heads: Ints) -> None:
    """Puts the first lines into buckets that are empty."""
    for line in range(1, count + 1):
        _link(line, places, lines, heads)


@lean
def _remember(
    time: int,
    punctuations: Ints,
    row: int,
    lifespan: int,
    columns: Ints,
    places: Ints,
    lines: Ints,
    heads: Ints,
    registers: Ints,
) -> None:
    known = _line_of(punctuations, row, columns, lines, heads)
    if known > 0:
        if lifespan != FOR_EVER:
            lines[known - 1, TIME] = time  # the last one holds longest
        return
    line = 1 + registers[TAKEN] % len(lines)
    if registers[TAKEN] >= len(lines):
        _unlink(line, places, lines, heads)
    registers[TAKEN] += 1
    lines[line - 1, TIME] = time
    for c in range(len(columns)):
        lines[line - 1, VALUE + c] = punctuations[row, c]
    _link(line, places, lines, heads)


@lean
def _line_of(values: Ints, row: int, columns: Ints, lines: Ints, heads: Ints) -> int:
    line: int = heads[row_hash(values, row, columns) & (len(heads) - 1)]
    while line > 0:
        same = True
        for c in range(len(columns)):
            same &= lines[line - 1, VALUE + c] == values[row, c]
        if same:
            return line
        line = lines[line - 1, LATER]
    return 0


@lean
def _link(line: int, places: Ints, lines: Ints, heads: Ints) -> None:
    bucket = row_hash(lines, line - 1, places) & (len(heads) - 1)
    lines[line - 1, LATER] = heads[bucket]
    heads[bucket] = line


@lean
def _unlink(line: int, places: Ints, lines: Ints, heads: Ints) -> None:
    bucket = row_hash(lines, line - 1, places) & (len(heads) - 1)
    before = heads[bucket]
    if before == line:
        heads[bucket] = lines[line - 1, LATER]
        return
    while lines[before - 1, LATER] != line:
        before = lines[before - 1, LATER]
    lines[before - 1, LATER] = lines[line - 1, LATER]
