"""Where rows of csv end: at the ends of lines that are not between quotes.

A quote opens a field only at its start, as Arrow reads csv. In `5" pipe` it is a character like others, so to count
quotes is not enough.

      quote                quote
    START ──▶ QUOTED ◀──────────────▶ CLOSED     A quote behind one that closes is the second of a doubled one.
      │                                 │
      └────────────▶ INSIDE ◀───────────┘        Any other character; separators and ends of lines lead to START.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_NEWLINE, _RETURN = 10, 13
_START, _INSIDE, _QUOTED, _CLOSED = 0, 1, 2, 3


@lean
def row_ends(data: Bytes, separator: int, quote: int, ends: Ints) -> bool:
    """Writes the places behind the first and the last row that end in `data`, which starts with a row; 0 if none does.

    Returns whether the data end between quotes. A carriage return at the end of the data ends no row yet: a line feed
    may follow.
    """
    state = _START
    ends[0] = ends[1] = 0
    for place in range(len(data)):
        byte = data[place]
        if state == _QUOTED:
            state = _CLOSED if byte == quote else _QUOTED
        elif byte == quote:
            state = _INSIDE if state == _INSIDE else _QUOTED
        elif byte == separator:
            state = _START
        elif byte not in (_NEWLINE, _RETURN):
            state = _INSIDE
        else:
            state = _START
            if byte == _NEWLINE or (place + 1 < len(data) and data[place + 1] != _NEWLINE):
                ends[1] = place + 1
                if ends[0] == 0:
                    ends[0] = place + 1
    return state == _QUOTED
