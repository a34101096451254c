"""Deltas: changes of a relation, in the order of time.

Thesis 2.2.1: a tuple, a timestamp, and + or -. Here they are three arrays: `ts`, `weight` (how many copies of the row
come, or go if it is negative), and `rows`, a matrix of int64 codes. A row is its columns' codes followed by words of
null bits; the code of a NULL is 0, so that two rows are alike, in SQL's sense of not distinct, just when their words
are equal. On its way to a window of rows, a row of weight 0 is one that is only counted there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.synopsis.memory import Ints

Bools = NDArray[np.bool_]

#: The instant of what does not happen.
NEVER = (1 << 63) - 1

#: Null bits per word: the sign bit stays free.
NULL_BITS = 63


def null_words(columns: int) -> int:
    return max(1, -(-columns // NULL_BITS))


def row_width(columns: int) -> int:
    """Words per row of so many columns."""
    return columns + null_words(columns)


@dataclass(frozen=True, slots=True)
class Deltas:
    ts: Ints
    weight: Ints
    rows: Ints

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, index: Bools | Ints | slice) -> Deltas:
        return Deltas(self.ts[index], self.weight[index], self.rows[index])

    def weighing(self) -> Deltas:
        """The deltas without those of weight 0."""
        return self if self.weight.all() else self.take(self.weight != 0)

    def counting(self, kept: Bools) -> Deltas:
        """The same rows, of which those that are not kept are only counted."""
        return Deltas(self.ts, np.where(kept, self.weight, 0), self.rows)

    def in_order(self) -> Deltas:
        if len(self.ts) < 2 or bool(np.all(self.ts[:-1] <= self.ts[1:])):
            return self
        return self.take(np.argsort(self.ts, kind="stable"))


def no_deltas(columns: int) -> Deltas:
    empty = np.zeros(0, np.int64)
    return Deltas(empty, empty, np.zeros((0, row_width(columns)), np.int64))


def merged(parts: Iterable[Deltas], columns: int) -> Deltas:
    """Several changes of one relation as one, in the order of time."""
    some = [part for part in parts if len(part)]
    return one_after_the_other(some).in_order() if some else no_deltas(columns)


def one_after_the_other(parts: Sequence[Deltas]) -> Deltas:
    """Several changes as one, in the order in which they are given."""
    if len(parts) == 1:
        return parts[0]
    return Deltas(
        np.concatenate([part.ts for part in parts]),
        np.concatenate([part.weight for part in parts]),
        np.concatenate([part.rows for part in parts]),
    )


def is_null(rows: Ints, column: int, columns: int) -> Bools:
    """Whether each row's column is NULL."""
    word = rows[:, columns + column // NULL_BITS]
    null: Bools = (word >> (column % NULL_BITS)) & 1 == 1
    return null


def part_of_rows(rows: Ints, some: Sequence[int], columns: int) -> Ints:
    """Some columns of rows, as rows with null bits of their own.

    >>> part_of_rows(np.array([[7, 0, 9, 0b010]]), (2, 1), 3).tolist()
    [[9, 0, 2]]
    """
    part = np.zeros((len(rows), row_width(len(some))), np.int64)
    for number, column in enumerate(some):
        part[:, number] = rows[:, column]
    if rows[:, columns:].any():
        for number, column in enumerate(some):
            null = is_null(rows, column, columns).astype(np.int64)
            part[:, len(some) + number // NULL_BITS] |= null << (number % NULL_BITS)
    return part


def whole_rows(values: Ints) -> Ints:
    """Rows of values, none of which is NULL."""
    return np.concatenate((values, np.zeros((len(values), null_words(values.shape[1])), np.int64)), axis=1)


def null_masks(some: Iterable[int], columns: int) -> tuple[Ints, Ints]:
    """The words that hold the null bits of some columns, and the masks that pick them."""
    masks: dict[int, int] = {}
    for column in some:
        word = columns + column // NULL_BITS
        masks[word] = masks.get(word, 0) | 1 << (column % NULL_BITS)
    return np.array(list(masks), np.int64), np.array(list(masks.values()), np.int64)


def assemble(columns: list[tuple[Ints, Bools | None]], count: int) -> Ints:
    """Rows from columns: codes, and where they are NULL (None: nowhere)."""
    rows = np.empty((count, row_width(len(columns))), np.int64)
    rows[:, len(columns) :] = 0
    for position, (codes, nulls) in enumerate(columns):
        rows[:, position] = codes
        if nulls is not None and nulls.any():
            rows[nulls, position] = 0
            rows[:, len(columns) + position // NULL_BITS] |= nulls.astype(np.int64) << (position % NULL_BITS)
    return rows
