"""Constant synopses (002): in place of all rows of an input, one of each bucket, or a skyline of rows per values.

A bucket counts its rows. A skyline does not: its rows stand for all where duplicates do not matter. Which rows are
alike is said by a recipe (`kernels.buckets`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.buckets import Placing, Recipe, Samples, place_rows
from penstock.kernels.covering import Room, Skyline, keep_rows
from penstock.synopsis.deltas import null_words
from penstock.synopsis.index import Index
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.store import RowStore

#: Slots that are held ready for new buckets at first: in a long run there is seldom one.
FEW = 16


@dataclass(frozen=True, slots=True)
class Placed:
    """Of rows that came: the slot of each, or -1 if it is not kept; whether it is new there; slots that are gone."""

    slots: Ints
    is_first: NDArray[np.bool_]
    gone: Ints


class ConstantSynopsis:
    def __init__(self, memory: Scope, width: int, recipe: Recipe, skyline: Skyline | None) -> None:
        self._memory = memory
        self.store = RowStore(memory, width)
        self._recipe = recipe
        self._skyline = skyline
        values = len(recipe.values) + null_words(len(recipe.values))
        holes = len(recipe.holes) + 1 if len(recipe.holes) else 0
        self._words = values + len(recipe.sides) + holes
        self._key = np.zeros((1, self._words), np.int64)
        hashed = self._words if skyline is None else values
        self._index = Index(memory.scope("buckets"), tuple(range(hashed)))
        if memory.restored:
            self._index.rebuild(self.store.capacity, self._keys, self.store.held())

    @property
    def is_counted(self) -> bool:
        return self._skyline is None

    @property
    def counts(self) -> Ints:
        """How many rows each bucket stands for."""
        return self._memory.array("counts", self.store.capacity)

    def place(self, rows: Ints) -> Placed:
        """Finds or makes a bucket for each row."""
        slots, is_first = np.empty(len(rows), np.int64), np.empty(len(rows), np.bool_)
        gone: list[Ints] = []
        done, room = 0, FEW
        while done < len(rows):
            fresh = self.store.allocate(min(room, len(rows) - done))
            self._index.fit(len(self.store), self.store.capacity, self._keys)
            placing = Placing(fresh, np.zeros(2, np.int64), slots, is_first)
            if self._skyline is None:
                done = place_rows(done, rows, self._recipe, self._samples(), placing)
            else:
                left, room_to_work = np.empty(self.store.capacity, np.int64), self._room(self._skyline)
                arguments = (placing, left, self._skyline, room_to_work)
                done = keep_rows(done, rows, self._recipe, self._samples(), *arguments)
                gone.append(left[: placing.used[1]])
            self.store.release(fresh[placing.used[0] :])
            room *= 4
        return Placed(slots, is_first, np.concatenate([np.zeros(0, np.int64), *gone]))

    def forget(self, slots: Ints) -> None:
        """Takes the slots of rows that are gone back."""
        self.store.release(slots)

    @property
    def _keys(self) -> Ints:
        return self._memory.array("keys", self.store.capacity, self._words)

    def _samples(self) -> Samples:
        return Samples(self.store.rows, self._keys, self._index.heads, self._index.mask, self._index.links, self._key)

    def _room(self, skyline: Skyline) -> Room:
        """Room for the members of a group, and for a piece per member and hole."""
        most, attributes = self.store.capacity + len(skyline.holes) + 2, len(skyline.space)
        pieces = np.empty((2, most, attributes), np.int64)
        return Room(np.empty(most, np.int64), pieces[0], pieces[1], np.empty(most, np.int64))
