"""Fused filters: all cheap conjuncts of a predicate as one program for a kernel, over columns as they lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.relations import Schema
from penstock.kernels.fused_filter import (
    BLOCK,
    BYTES,
    COLUMN_FIELDS,
    EQUAL,
    IS_NULL,
    LESS,
    OPTION,
    RANGE,
    TEST_FIELDS,
    filter_blocks,
)
from penstock.kernels.pointers import address
from penstock.operators.filters.clauses import (
    Clauses,
    Equal,
    Less,
    Missing,
    OneOf,
    SomeText,
    Test,
    Within,
)
from penstock.operators.filters.columns import Columns
from penstock.synopsis.codes import Nulls, is_interned
from penstock.synopsis.deltas import Bools
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints


class FusedFilter:
    """Clauses over rows of a schema, all of which have to hold."""

    def __init__(self, clauses: Clauses, schema: Schema) -> None:
        self._schema = schema
        self._is_never = () in clauses
        #: What the kernel reads, by slots: a column, with the strings of a test or None.
        self._slots: list[tuple[int, SomeText | None]] = []
        self._options: list[int] = []
        self._tests = np.array(
            [self._fields(test, n == len(clause)) for clause in clauses for n, test in enumerate(clause, 1)], np.int64
        ).reshape(-1, TEST_FIELDS)
        self._option_codes = np.array(self._options, np.int64)
        self._scratch: Ints = np.empty((2, BLOCK), np.int64)
        self._hits: NDArray[np.uint8] = np.empty((2, BLOCK), np.uint8)

    def passing(self, columns: Columns, dictionary: Dictionary) -> Bools:
        """Returns the rows for which all clauses hold."""
        if self._is_never or not len(columns):
            return np.zeros(len(columns), np.bool_)
        found = np.empty(len(columns), np.uint8)
        fields: list[tuple[int, int, int, int]] = []
        # Arrays whose addresses the kernel gets live until it returns.
        alive: list[Nulls] = []
        for column, test in self._slots:
            nulls = columns.nulls(column)
            alive.append(nulls)
            nulls_at = 0 if nulls is None else _at(nulls)
            if test is not None:
                equal = columns.equal_to(column, test.values, dictionary)
                alive.append(equal)
                fields.append((BYTES, _at(equal), 1, nulls_at))
            elif is_interned(self._schema[column].type):
                fields.append((BYTES, 0, 0, nulls_at))
            else:
                place = columns.in_place(column, self._schema[column].type)
                fields.append((place.layout, place.address, place.stride, nulls_at))
        read = np.array(fields, np.int64).reshape(-1, COLUMN_FIELDS)
        filter_blocks(read, self._tests, self._option_codes, self._scratch, address(self._scratch), self._hits, found)
        return found.view(np.bool_)

    def _fields(self, test: Test, ends_clause: bool) -> tuple[int, ...]:
        """Returns a test as the kernel reads it."""
        text = test if isinstance(test, SomeText) else None
        left, right, low, high = self._slot(test.column, text), 0, 0, 0
        match test:
            case Within(_, low, high):
                kind = RANGE
            case SomeText():
                kind, low, high = RANGE, 1, 1
            case OneOf(_, options):
                kind, low = OPTION, len(self._options)
                self._options += options
                high = len(self._options)
            case Equal(_, other):
                kind, right = EQUAL, self._slot(other, None)
            case Less(_, other):
                kind, right = LESS, self._slot(other, None)
            case Missing():
                kind = IS_NULL
        return kind, left, right, low, high, int(test.negated), int(ends_clause)

    def _slot(self, column: int, text: SomeText | None) -> int:
        if (column, text) not in self._slots:
            self._slots.append((column, text))
        return self._slots.index((column, text))


def _at(mask: Bools) -> int:
    contiguous: int = mask.__array_interface__["data"][0]
    return contiguous
