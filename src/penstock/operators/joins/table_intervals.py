"""Where values lie among those of a table: the table's values cut all others into finitely many intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from penstock.algebra.buckets import TableInterval
from penstock.algebra.expressions import Expr
from penstock.algebra.relations import Schema
from penstock.operators.projection import projection
from penstock.synopsis.deltas import Bools, assemble, is_null
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints
from penstock.synopsis.store import RowStore
from penstock.types import BOOLEAN, Kind, Type

_LARGEST = (1 << 63) - 1


class TableIntervals:
    """Adds columns to rows. Tables never change once they are there, so what they hold is looked up once."""

    def __init__(self, intervals: Sequence[TableInterval], schema: Schema, dictionary: Dictionary) -> None:
        self._intervals = intervals
        self._columns = len(schema)
        self._places = [schema.index(interval.own) for interval in intervals]
        self._dictionary = dictionary
        self._values: dict[tuple[int, Expr], Ints] = {}

    def step(self, rows: Ints, tables: Mapping[int, RowStore], schemas: Mapping[int, Schema]) -> Ints:
        """Rows with their new columns behind their own."""
        columns: list[tuple[Ints, Bools | None]] = [
            (rows[:, n], is_null(rows, n, self._columns)) for n in range(self._columns)
        ]
        for interval, place in zip(self._intervals, self._places, strict=True):
            # Before the first row comes the tables may not be there.
            values = self._values_of(interval, tables, schemas) if len(rows) else np.zeros(0, np.int64)
            codes, nulls = columns[place]
            is_member = interval.column.type == BOOLEAN
            columns.append((_places(values, _ordered(codes, interval.own.type), is_member), nulls))
        return assemble(columns, len(rows))

    def _values_of(
        self, interval: TableInterval, tables: Mapping[int, RowStore], schemas: Mapping[int, Schema]
    ) -> Ints:
        """The values of a table, in their order, each once."""
        key = (interval.table, interval.of)
        if key not in self._values:
            table, project = tables[interval.table], projection((interval.of,), schemas[interval.table])
            rows = project(table.whole(table.held()), self._dictionary)
            self._values[key] = np.unique(_ordered(rows[~is_null(rows, 0, 1), 0], interval.of.type))
        return self._values[key]


def _places(values: Ints, codes: Ints, is_member: bool) -> Ints:
    """Twice the number of values that are less, and one more if the code is a value; or whether it is one."""
    places = np.searchsorted(values, codes)
    is_there = np.append(values, 0)[places] == codes
    is_there &= places < len(values)
    found: Ints = is_there.astype(np.int64) if is_member else 2 * places + is_there
    return found


def _ordered(codes: Ints, type_: Type) -> Ints:
    """Codes as integers in the order of values, where they have one."""
    return np.where(codes >= 0, codes, codes ^ _LARGEST) if type_.kind is Kind.DOUBLE else codes
