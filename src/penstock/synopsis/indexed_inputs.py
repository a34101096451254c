"""The inputs of a join as they are stored: rows by slot, which of them are visible, and hash indexes on join variables.

The join probes them, and retention asks them which rows have a key. Indexes are found by input and variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.evidence import holds, mark_rows
from penstock.kernels.hashing import row_hashes
from penstock.kernels.index import unlink_rows
from penstock.kernels.mjoin import ABSENT, PRESENT
from penstock.kernels.nulls import has_null
from penstock.kernels.rows import gather
from penstock.synopsis.deltas import null_masks
from penstock.synopsis.events import Events
from penstock.synopsis.index import Index
from penstock.synopsis.memory import Int32s, Ints, Scope
from penstock.synopsis.store import Int32BySlot, RowStore

#: An input and some of its columns.
IndexColumns = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class JoinInput:
    """An input: its store, its number of columns, and for each join variable the column that holds it, or None."""

    store: RowStore
    columns: int
    variables: tuple[int | None, ...]

    def null_words(self) -> tuple[Ints | None, int]:
        """Where the null words of rows are, if there are any, and how many other words stand before them."""
        return (self.store.nulls, 0) if self.store.nulls_apart else (self.store.rows, self.columns)


class IndexedInputs:
    """The stored rows of a join's inputs, with an index for each of some sets of columns."""

    def __init__(
        self,
        memory: Scope,
        inputs: tuple[JoinInput, ...],
        indexed: Iterable[IndexColumns],
        *,
        has_residual: bool,
    ) -> None:
        """`has_residual`: whether the join has predicates that no index evaluates."""
        self._memory = memory
        self.inputs = inputs
        self._has_residual = has_residual
        self._visibility = [
            Int32BySlot(memory.scope("input", n), "visibility", source.store) for n, source in enumerate(inputs)
        ]
        self._places: dict[IndexColumns, Ints] = {}
        #: By input and columns. Retention counts on those that are there from the start.
        self._indexes: dict[IndexColumns, Index] = {}
        self._lasting = sorted(set(indexed))
        self._by_owner: list[dict[tuple[int, ...], Index]] = [{} for _ in inputs]
        for owner, columns in self._lasting:
            index = self._add_index(owner, columns)
            if memory.restored:
                self._fill(owner, index)

    def keep_indexes(self, probed: Set[IndexColumns]) -> None:
        """Builds indexes that are missing, between two steps, and drops those that nobody needs any more."""
        for owner, columns in sorted(probed - self._indexes.keys()):
            index = self._add_index(owner, columns)
            # A machine that goes on from the files of another finds its indexes there.
            if self._memory.restored or index.mask < 0:
                self._fill(owner, index)
        for owner, columns in self._indexes.keys() - {*probed, *self._lasting}:
            self._indexes.pop((owner, columns)).drop()
            del self._by_owner[owner][columns]

    def _add_index(self, owner: int, columns: tuple[int, ...]) -> Index:
        index = Index(self._memory.scope("input", owner).scope(f"by_{'_'.join(map(str, columns))}"), columns)
        self._indexes[owner, columns] = self._by_owner[owner][columns] = index
        return index

    def _fill(self, owner: int, index: Index) -> None:
        store = self.inputs[owner].store
        index.rebuild(store.capacity, store.rows, np.flatnonzero(self.visibility(owner) != ABSENT))

    def forget(self, number: int, slots: Ints) -> None:
        """Rows of an input are in the join no more, and nothing comes out for it."""
        self.visibility(number)[slots] = ABSENT
        for index in self._own(number):
            unlink_rows(index.heads, index.links, slots, np.full(len(slots), -1, np.int64))

    def bring_back(self, number: int, slots: Ints) -> None:
        """Rows of an input that were forgotten are in the join again, as before this step; nothing comes out for it."""
        store = self.inputs[number].store
        self.visibility(number)[slots] = PRESENT
        for index in self._own(number):
            index.fit(len(store), store.capacity, store.rows)
            index.put(store.rows, slots)

    def rows(self) -> int:
        """How many rows its inputs keep."""
        return sum(len(source.store) for source in self.inputs)

    @property
    def has_test(self) -> bool:
        """Whether the join has predicates that no index evaluates."""
        return self._has_residual

    def indexes(self) -> list[tuple[IndexColumns, Index]]:
        """The indexes that are there from the start, each with its input and columns."""
        return [(key, self._indexes[key]) for key in self._lasting]

    def index_number(self, number: int, variables: tuple[int, ...]) -> int:
        """Which of these finds rows of an input by variables."""
        return self._lasting.index((number, positions(self.inputs[number], variables)))

    def index(self, number: int, columns: tuple[int, ...]) -> Index:
        return self._indexes[number, columns]

    def index_on(self, number: int, variables: tuple[int, ...]) -> Index:
        return self._indexes[number, positions(self.inputs[number], variables)]

    def places(self, number: int, variables: tuple[int, ...]) -> Ints:
        """The columns of an input that hold variables."""
        if (number, variables) not in self._places:
            self._places[number, variables] = np.array(positions(self.inputs[number], variables), np.int64)
        return self._places[number, variables]

    def has_variables(self, number: int, variables: tuple[int, ...]) -> bool:
        return all(self.inputs[number].variables[variable] is not None for variable in variables)

    def variable(self, number: int, column: int) -> int:
        """The variable that a column of an input holds."""
        return self.inputs[number].variables.index(column)

    def has_null(self, number: int, slots: Ints) -> NDArray[np.bool_]:
        """Which rows of an input have a NULL in a join column."""
        source = self.inputs[number]
        columns = {column for column in source.variables if column is not None}
        nulls, first = source.null_words()
        if nulls is None or not columns or not len(slots):
            return np.zeros(len(slots), np.bool_)
        return np.asarray(has_null(nulls, slots, *null_masks(columns, first)), np.bool_)

    def keys(self, number: int, variables: tuple[int, ...], slots: Ints) -> Ints:
        """The values that rows of an input have of variables."""
        return gather(self.inputs[number].store.rows, slots, self.places(number, variables))

    def holds(self, number: int, variables: tuple[int, ...], keys: Ints) -> NDArray[np.bool_]:
        """Whether an input has a row with each key."""
        found = np.zeros(len(keys), np.int64)
        index = self.index_on(number, variables)
        rows = self.inputs[number].store.rows
        if index.mask >= 0:  # Before the first step there is nothing.
            holds(keys, rows, index.columns, index.heads, index.mask, index.links, found)
        return found.astype(np.bool_)

    def mark_rows(self, number: int, variables: tuple[int, ...], keys: Ints, marks: Int32s, as_what: int) -> None:
        """Marks the rows of an input that have one of these keys, by slot, if they are not marked as more."""
        index = self.index_on(number, variables)
        if index.mask >= 0:
            rows, hashes = (
                self.inputs[number].store.rows,
                row_hashes(keys, np.arange(len(keys)), np.arange(keys.shape[1])),
            )
            mark_rows(keys, hashes, rows, index.columns, index.heads, index.mask, index.links, marks, as_what)

    def _own(self, number: int) -> Iterable[Index]:
        """The indexes on an input's rows."""
        return self._by_owner[number].values()

    def visibility(self, number: int) -> Int32s:
        """Of each slot of an input whether its row is in the join, and since when (`kernels.mjoin`)."""
        return self._visibility[number].array()

    def without_nulls(self, number: int, events: Events) -> Events:
        """A NULL joins with nothing, so a row with one in a join column is as good as not there."""
        null = self.has_null(number, events.slots)
        if not null.any():
            return events
        return Events(events.ts[~null], events.signs[~null], events.slots[~null])


def positions(source: JoinInput, variables: Sequence[int]) -> tuple[int, ...]:
    """The columns of an input that hold these variables."""
    columns = (source.variables[variable] for variable in variables)
    return tuple(column for column in columns if column is not None)
