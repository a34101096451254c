"""Runs: rows in Arrow files that are written once, and read by the hashes of their keys.

A file has a column per word of a row. Values that a dictionary numbers are written as they are, for numbers change when
values are forgotten; for the same reason a key's hash is that of values. With each key goes the order of its hashes, so
that a row is found by bisection in the mapped file, of which only the pages that are needed are read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.errors import PenstockError
from penstock.kernels.hashing import row_hashes
from penstock.synopsis.codes import decode_column, encode_column, is_interned
from penstock.synopsis.deltas import is_null, null_words, row_width
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints
from penstock.types import Type

_START = "start"


class StoredRows(NamedTuple):
    """Rows of a store: their words, the instants since which they are there, and what else is noted with each."""

    rows: Ints
    starts: Ints
    notes: Ints

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, slots=True)
class Layout:
    """What the rows are: the types of their columns, the columns of each key, and how many words are noted."""

    types: tuple[Type, ...]
    keys: tuple[tuple[int, ...], ...]
    notes: int

    @property
    def no_rows(self) -> StoredRows:
        width = row_width(len(self.types))
        return StoredRows(np.zeros((0, width), np.int64), np.zeros(0, np.int64), np.zeros((0, self.notes), np.int64))

    def hashes(self, key: int, values: Ints, dictionary: Dictionary) -> Ints:
        """The hashes of values of a key, which are the same whatever numbers a dictionary gave them."""
        own = np.array(values, np.int64).reshape(len(values), len(self.keys[key]))
        for place, column in enumerate(self.keys[key]):
            if is_interned(self.types[column]):
                own[:, place] = dictionary.hashes()[own[:, place]]
        return row_hashes(own, np.arange(len(own)), np.arange(own.shape[1]))

    def table(self, stored: StoredRows, dictionary: Dictionary) -> pa.Table:
        """The rows as Arrow columns, with the hashes of their keys. None has a NULL in a key."""
        columns: dict[str, pa.Array] = {_START: pa.array(stored.starts)}
        count = len(self.types)
        for number, type_ in enumerate(self.types):
            codes = np.ascontiguousarray(stored.rows[:, number])
            nulls = is_null(stored.rows, number, count) if is_interned(type_) else None
            is_word = nulls is None
            columns[_column(number)] = pa.array(codes) if is_word else decode_column(codes, nulls, type_, dictionary)
        for number in range(null_words(count)):
            columns[_nulls(number)] = pa.array(np.ascontiguousarray(stored.rows[:, count + number]))
        for number in range(self.notes):
            columns[_note(number)] = pa.array(np.ascontiguousarray(stored.notes[:, number]))
        for number, key in enumerate(self.keys):
            columns[_hash(number)] = pa.array(self.hashes(number, stored.rows[:, list(key)], dictionary))
        return pa.table(columns)

    def stored(self, table: pa.Table, dictionary: Dictionary) -> StoredRows:
        """The rows again."""
        count = len(self.types)
        rows = np.zeros((table.num_rows, row_width(count)), np.int64)
        for number, type_ in enumerate(self.types):
            column = table.column(_column(number))
            is_word = not is_interned(type_)
            rows[:, number] = column.to_numpy() if is_word else encode_column(column, type_, dictionary)[0]
        for number in range(null_words(count)):
            rows[:, count + number] = table.column(_nulls(number)).to_numpy()
        notes = np.zeros((table.num_rows, self.notes), np.int64)
        for number in range(self.notes):
            notes[:, number] = table.column(_note(number)).to_numpy()
        return StoredRows(rows, table.column(_START).to_numpy(), notes)


def write_run(table: pa.Table, keys: int, path: Path) -> int:
    """Writes rows with the orders of their keys' hashes; gives the bytes that they take.

    No reader opens the file before it is whole: no state names it yet. It is readable to its owner alone.
    """
    for number in range(keys):
        order = np.argsort(table.column(_hash(number)).to_numpy(), kind="stable").astype(np.int32)
        table = table.append_column(_order(number), pa.array(order))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        # Of one piece, so that its columns can be read in place.
        writer.write_table(table.combine_chunks())
    return path.stat().st_size


def sync(path: Path) -> None:
    """Makes a file, or which files a folder has, outlast a loss of power."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


class Run:
    """A file that is mapped."""

    def __init__(self, path: Path, keys: int) -> None:
        try:
            with pa.memory_map(str(path)) as file:
                whole = pa.ipc.open_file(file).read_all()
        except (OSError, pa.ArrowInvalid) as error:
            hint = "put the file back, or start with a new checkpoint folder"
            raise PenstockError(f"{path}: rows that were spilled cannot be read again: {error}", hint) from error
        self._orders = [_in_place(whole, _order(key)) for key in range(keys)]
        self._hashes = [_in_place(whole, _hash(key)) for key in range(keys)]
        #: The rows, as they were before they were written.
        self.table = whole.drop_columns([_order(key) for key in range(keys)])
        self.starts = _in_place(whole, _START)

    def find(self, key: int, hashes: Ints) -> Ints:
        """The places of rows with these hashes of a key, each once."""
        own, order = self._hashes[key], self._orders[key]
        first, last = (np.searchsorted(own, hashes, side, sorter=order) for side in ("left", "right"))
        found = [order[start:end] for start, end in zip(first.tolist(), last.tolist(), strict=True) if start < end]
        return np.unique(np.concatenate(found)).astype(np.int64) if found else np.zeros(0, np.int64)

    def hashes(self, key: int) -> Ints:
        return self._hashes[key]


def newest_start(table: pa.Table) -> int:
    return int(np.max(table.column(_START).to_numpy()))


def hashes_of(table: pa.Table, key: int) -> Ints:
    """The hashes of a key of rows that are to be written."""
    return np.array(table.column(_hash(key)).to_numpy(), np.int64)


def _in_place(whole: pa.Table, name: str) -> Ints:
    """A column of a mapped file, which is of one piece."""
    values: Ints = whole.column(name).chunk(0).to_numpy(zero_copy_only=True)
    return values


def _column(number: int) -> str:
    return f"column{number}"


def _nulls(number: int) -> str:
    return f"nulls{number}"


def _note(number: int) -> str:
    return f"note{number}"


def _hash(number: int) -> str:
    return f"hash{number}"


def _order(number: int) -> str:
    return f"order{number}"
