"""A batch by columns, of which codes are made only for the columns and rows that somebody asks for.

Filters read few columns, and each reads only the rows that the filters before it have left. Rows are assembled of what
passes all of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from penstock.synopsis.codes import Nulls
from penstock.synopsis.deltas import NULL_BITS, is_null
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints
from penstock.synopsis.transient_codes import TransientCodes


class Columns(Protocol):
    """Rows of a schema, by columns."""

    def __len__(self) -> int: ...

    def column(self, position: int, some: Ints | None = None) -> tuple[Ints, Nulls]:
        """Returns the codes of a column, and where it is NULL (None: nowhere), of all rows or of some, by number.

        Those of strings are codes of `strings`.
        """

    def strings(self, dictionary: Dictionary) -> TransientCodes:
        """Returns the codes of the columns' strings, which also take those that expressions compute."""


class RowColumns:
    """The columns of rows that are assembled."""

    def __init__(self, rows: Ints, columns: int) -> None:
        self._rows, self._columns = rows, columns

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, position: int, some: Ints | None = None) -> tuple[Ints, Nulls]:
        rows = self._rows if some is None else self._rows[some]
        word, bit = divmod(position, NULL_BITS)
        nulls = is_null(rows, position, self._columns) if self._nullable[word] >> bit & 1 else None
        return rows[:, position], nulls

    def strings(self, dictionary: Dictionary) -> TransientCodes:
        return TransientCodes(dictionary)

    @cached_property
    def _nullable(self) -> list[int]:
        """Per null word, the columns that are NULL in some row."""
        return [int(np.bitwise_or.reduce(word)) for word in self._rows[:, self._columns :].T]
