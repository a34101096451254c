"""Combinations: what a join finds, as the slots of its inputs' rows, and rows of some of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from penstock.kernels.mjoin import materialise
from penstock.synopsis.deltas import NULL_BITS, Deltas, row_width
from penstock.synopsis.events import Events, Some
from penstock.synopsis.indexed_inputs import JoinInput
from penstock.synopsis.memory import Ints


class Gathering(NamedTuple):
    """How `kernels.mjoin.materialise` makes rows of some columns of a combination, and how wide they are."""

    places: Ints
    nulls: Ints
    width: int

    @staticmethod
    def of(inputs: tuple[JoinInput, ...], columns: tuple[int, ...]) -> Gathering:
        """`columns` are positions among the columns of all inputs."""
        own = [(number, column) for number, source in enumerate(inputs) for column in range(source.columns)]
        places: list[tuple[int, ...]] = []
        nulls: dict[tuple[int, int], int] = {}
        for here, (number, column) in enumerate(own[at] for at in columns):
            word, bit = column // NULL_BITS, column % NULL_BITS
            places.append((number, column, word, bit, len(columns) + here // NULL_BITS, here % NULL_BITS))
            nulls[number, word] = nulls.get((number, word), 0) | 1 << bit
        masks = [(number, word, mask) for (number, word), mask in nulls.items()]
        return Gathering(matrix(places, 6), matrix(masks, 3), row_width(len(columns)))

    def rows(self, slots: Ints, inputs: Ints) -> Ints:
        """The rows of combinations."""
        rows = np.empty((len(slots), self.width), np.int64)
        materialise(slots, inputs, self.places, self.nulls, rows)
        return rows


class Combinations(NamedTuple):
    """A block of combinations: their slots and rows, and of each the number of the event that found it.

    The slots are there until the next block is asked for. `order` has the places of those who have these numbers among
    the `events`.
    """

    slots: Ints
    by: Ints
    rows: Ints
    order: Ints
    events: Events
    #: How often each counts, if not once.
    weights: Ints | None = None
    #: The instant of each, where that is not the one of the event that found it.
    times: Ints | None = None

    def deltas(self) -> Deltas:
        """What comes and goes."""
        places = self.order[self.by - 1]
        signs = self.events.signs[places]
        times = self.events.ts[places] if self.times is None else self.times
        return Deltas(times, signs if self.weights is None else signs * self.weights, self.rows)

    def take(self, some: Some) -> Combinations:
        weights = None if self.weights is None else self.weights[some]
        times = None if self.times is None else self.times[some]
        return self._replace(
            slots=self.slots[some], by=self.by[some], rows=self.rows[some], weights=weights, times=times
        )

    def matches(self) -> Deltas:
        """The combinations as matches of the first input's rows, by their slots."""
        places = self.order[self.by - 1]
        return Deltas(self.events.ts[places], self.events.signs[places], self.slots[:, :1].copy())


def matrix(lines: Sequence[tuple[int, ...]], width: int) -> Ints:
    """Lines of so many words as an array, also where there are none."""
    return np.array(lines, np.int64).reshape(-1, width)
