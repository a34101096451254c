"""A conjunction of cheap tests over columns, in one pass: which rows pass all of them.

    columns  a   b   c   d          a clause is one test, or several of which one has to hold
    block   ┌─┐ ┌─┐ ┌─┐ ┌─┐
    of rows │ │ │ │ │ │ │ │  ──▶  clause 1  ──▶  clause 2  ──▶  ...  ──▶  one byte per row
            └─┘ └─┘ └─┘ └─┘                 └─ no row is left: the block is done

A block is so small that its columns and bytes stay in the first caches, and each test is a loop without branches, which
the compiler turns into vector instructions: so it costs the same whichever rows pass, where a loop over rows that stops
at the first test that fails mispredicts. Columns are read where they lie, by their address.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean
from penstock.kernels.pointers import byte_of, half_of, word_of

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

#: Rows of a block.
BLOCK = 4096

#: How a column lies in memory: words with a stride, halves of words, IEEE's doubles, or bytes.
WORDS, HALVES, DOUBLES, BYTES = range(4)

#: Tests: within a range, one of some options, a column against another, and whether it is NULL. All but the last hold
#: for no NULL.
RANGE, OPTION, EQUAL, LESS, IS_NULL = range(5)

#: The fields of a column: its layout, its address, words from one row to the next, and the address of bytes that say
#: where it is NULL, or 0.
LAYOUT, ADDRESS, STRIDE, NULLS, COLUMN_FIELDS = range(5)

#: The fields of a test. It is negated if that is 1, and the last of its clause if that is 1. Of a range LOW and HIGH
#: are the bounds, of options the first and the end of their numbers; RIGHT is the other column.
TEST, LEFT, RIGHT, LOW, HIGH, NEGATED, ENDS_CLAUSE, TEST_FIELDS = range(8)

_HIGHEST = 2**63 - 1
_LOWEST = -(2**63)
_INFINITY = 0x7FF0000000000000
_NAN = 0x7FF8000000000000


@lean
def filter_blocks(
    columns: Ints, tests: Ints, options: Ints, scratch: Ints, scratch_at: int, hits: Bytes, passing: Bytes
) -> None:
    """Sets in `passing` which rows hold one test at least of every clause.

    `scratch` has two rows of a block's words, at the address `scratch_at`, and `hits` two of its bytes; both are for
    this kernel's own use.
    """
    for start in range(0, len(passing), BLOCK):
        count = min(BLOCK, len(passing) - start)
        alive = passing[start : start + count]
        for i in range(count):
            alive[i] = 1
        some = hits[1, :count]
        is_first = True
        for number in range(len(tests)):
            of_test = some if is_first else hits[0, :count]
            _hits(columns, tests[number], options, start, scratch, scratch_at, of_test)
            if not is_first:
                for i in range(count):
                    some[i] |= of_test[i]
            is_first = tests[number, ENDS_CLAUSE] == 1
            if is_first:
                left = np.uint8(0)
                for i in range(count):
                    alive[i] &= some[i]
                    left |= alive[i]
                if left == 0:
                    break


@lean
def _hits(columns: Ints, test: Ints, options: Ints, start: int, scratch: Ints, scratch_at: int, hits: Bytes) -> None:
    """Sets where one test holds, of the rows of a block."""
    count = len(hits)
    kind = test[TEST]
    negated = np.uint8(test[NEGATED])
    if kind == IS_NULL:
        for i in range(count):
            hits[i] = negated
        _flip_nulls(columns[test[LEFT]], start, hits)
        return
    left = _block(columns[test[LEFT]], start, count, scratch[0], scratch_at)
    if kind == RANGE:
        low, high = test[LOW], test[HIGH]
        for i in range(count):
            value = word_of(left, i)
            hits[i] = np.uint8((value >= low) & (value <= high)) ^ negated
    elif kind == OPTION:
        for i in range(count):
            hits[i] = negated
        for option in range(test[LOW], test[HIGH]):
            sought = options[option]
            for i in range(count):
                # Options differ, so at most one is found.
                hits[i] ^= np.uint8(word_of(left, i) == sought)
    else:
        right = _block(columns[test[RIGHT]], start, count, scratch[1], scratch_at + 8 * BLOCK)
        if kind == EQUAL:
            for i in range(count):
                hits[i] = np.uint8(word_of(left, i) == word_of(right, i)) ^ negated
        else:
            for i in range(count):
                hits[i] = np.uint8(word_of(left, i) < word_of(right, i)) ^ negated
        _drop_nulls(columns[test[RIGHT]], start, hits)
    _drop_nulls(columns[test[LEFT]], start, hits)


@lean
def _block(column: Ints, start: int, count: int, scratch: Ints, scratch_at: int) -> int:
    """Returns the address of a block's values as words in order, written to `scratch` unless they lie like that."""
    layout, stride = column[LAYOUT], column[STRIDE]
    at: int = column[ADDRESS]
    if layout == WORDS and stride == 1:
        return at + 8 * start
    if layout == WORDS:
        first = at + 8 * stride * start
        for i in range(count):
            scratch[i] = word_of(first, i * stride)
    elif layout == HALVES:
        first = at + 4 * start
        for i in range(count):
            scratch[i] = half_of(first, i)
    elif layout == DOUBLES:
        first = at + 8 * stride * start
        for i in range(count):
            scratch[i] = _in_order(word_of(first, i * stride))
    else:
        first = at + start
        for i in range(count):
            scratch[i] = byte_of(first, i)
    return scratch_at


@lean
def _in_order(bits: int) -> int:
    """The bits of a double as an integer in SQL's order: both zeros are equal, and so are all NaNs, which are last."""
    if bits & _HIGHEST > _INFINITY:
        return _NAN
    if bits == _LOWEST:
        return 0
    return bits ^ ((bits >> 63) & _HIGHEST)


@lean
def _drop_nulls(column: Ints, start: int, hits: Bytes) -> None:
    if column[NULLS] != 0:
        nulls = column[NULLS] + start
        for i in range(len(hits)):
            hits[i] &= np.uint8(byte_of(nulls, i)) ^ np.uint8(1)


@lean
def _flip_nulls(column: Ints, start: int, hits: Bytes) -> None:
    if column[NULLS] != 0:
        nulls = column[NULLS] + start
        for i in range(len(hits)):
            hits[i] ^= np.uint8(byte_of(nulls, i))
