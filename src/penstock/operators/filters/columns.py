"""A batch by columns, of which codes are made only for the columns and rows that somebody asks for.

Filters read few columns, and each reads only the rows that the filters before it have left. Rows are assembled of what
passes all of them.
"""

from __future__ import annotations

from typing import Protocol

from penstock.synopsis.codes import Nulls
from penstock.synopsis.deltas import is_null
from penstock.synopsis.memory import Ints


class Columns(Protocol):
    """Rows of a schema, by columns."""

    def __len__(self) -> int: ...

    def column(self, position: int, some: Ints | None = None) -> tuple[Ints, Nulls]:
        """Returns the codes of a column, and where it is NULL (None: nowhere), of all rows or of some, by number."""


class RowColumns:
    """The columns of rows that are assembled."""

    def __init__(self, rows: Ints, columns: int) -> None:
        self._rows, self._columns = rows, columns

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, position: int, some: Ints | None = None) -> tuple[Ints, Nulls]:
        rows = self._rows if some is None else self._rows[some]
        nulls = is_null(rows, position, self._columns)
        return rows[:, position], nulls if nulls.any() else None
