"""A batch by columns, of which codes are made only for the columns and rows that somebody asks for.

Filters read few columns, and each reads only the rows that the filters before it have left. Rows are assembled of what
passes all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.fused_filter import DOUBLES, WORDS
from penstock.synopsis.codes import Nulls
from penstock.synopsis.deltas import NULL_BITS, Bools, is_null
from penstock.synopsis.dictionary import Dictionary, Interned
from penstock.synopsis.memory import Ints
from penstock.synopsis.transient_codes import TransientCodes
from penstock.types import Kind, Type


@dataclass(frozen=True, slots=True)
class InPlace:
    """A column of numbers where it lies, for a kernel. It is valid as long as the columns that it is of."""

    #: One of the layouts of `kernels.fused_filter`.
    layout: int
    address: int
    #: Words from one row to the next, where the layout is of words.
    stride: int = 1


class Columns(Protocol):
    """Rows of a schema, by columns."""

    def __len__(self) -> int: ...

    def column(self, position: int, some: Ints | None = None) -> tuple[Ints, Nulls]:
        """Returns the codes of a column, and where it is NULL (None: nowhere), of all rows or of some, by number.

        Those of strings are codes of `strings`.
        """

    def arguments(self, position: int, some: Ints | None = None) -> tuple[NDArray[Any], Nulls]:
        """Returns a column of strings for who only reads its values: codes, or strings as objects if they differ."""

    def array(self, position: int, some: Ints | None = None) -> Any:
        """Returns the Arrow array of a column, if that is how it is held; else None."""

    def strings(self, dictionary: Dictionary) -> TransientCodes:
        """Returns the codes of the columns' strings, which also take those that expressions compute."""

    def in_place(self, position: int, type_: Type) -> InPlace:
        """Returns where a column lies whose values are not interned."""

    def nulls(self, position: int) -> Nulls:
        """Returns where a column is NULL (None: nowhere)."""

    def equal_to(self, position: int, values: Sequence[Interned], dictionary: Dictionary) -> Bools:
        """Returns where a column of strings has one of some values; where it is NULL that means nothing."""


class RowColumns:
    """The columns of rows that are assembled."""

    def __init__(self, rows: Ints, columns: int) -> None:
        self._rows, self._columns = rows, columns

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, position: int, some: Ints | None = None) -> tuple[Ints, Nulls]:
        if some is None:
            return self._rows[:, position], self.nulls(position)
        nulls = is_null(self._rows[some], position, self._columns) if self._is_nullable(position) else None
        return self._rows[some, position], nulls

    def arguments(self, position: int, some: Ints | None = None) -> tuple[NDArray[Any], Nulls]:
        return self.column(position, some)

    def array(self, position: int, some: Ints | None = None) -> Any:
        return None

    def strings(self, dictionary: Dictionary) -> TransientCodes:
        return TransientCodes(dictionary)

    def in_place(self, position: int, type_: Type) -> InPlace:
        first: int = self._rows.__array_interface__["data"][0]
        across, along = self._rows.strides
        return InPlace(DOUBLES if type_.kind is Kind.DOUBLE else WORDS, first + along * position, across // 8)

    def nulls(self, position: int) -> Nulls:
        return is_null(self._rows, position, self._columns) if self._is_nullable(position) else None

    def equal_to(self, position: int, values: Sequence[Interned], dictionary: Dictionary) -> Bools:
        known = [code for value in values if (code := dictionary.find(value)) is not None]
        return np.isin(self._rows[:, position], known)

    def _is_nullable(self, position: int) -> bool:
        word, bit = divmod(position, NULL_BITS)
        return bool(self._nullable[word] >> bit & 1)

    @cached_property
    def _nullable(self) -> list[int]:
        """Per null word, the columns that are NULL in some row."""
        return [int(np.bitwise_or.reduce(word)) for word in self._rows[:, self._columns :].T]
