"""The profile window (thesis 4.3.1): the last W profile tuples, as a bit plane per filter.

A plane is one long integer whose bit k says whether the filter drops the k-th latest row, so that an entry of the
matrix view is a popcount, and to compute a view anew costs what its repair would (figures 4.5 and 4.7):

               row  … 3 2 1 0
        plane of F1 … 0 1 1 0         V[1, F2] = popcount(F2)               = 2
        plane of F2 … 1 1 0 0         V[2, F2] = popcount(F2 and not F1)    = 1

Rows that pass all filters are kept, too. They count in no entry of V, and give rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from penstock.operators.filters.profile import FilterOrder
from penstock.synopsis.memory import Ints


class ProfileWindow:
    """The latest profile tuples of `filters` filters, at most `capacity`."""

    __slots__ = ("capacity", "planes", "rows")

    def __init__(self, filters: int, capacity: int) -> None:
        self.capacity = capacity
        self.planes: list[int] = [0] * filters
        self.rows = 0

    def add(self, samples: Ints) -> None:
        """Adds profile tuples: words whose bit i is set if filter i drops the row."""
        count = len(samples)
        if not count:
            return
        full, latest_first = (1 << self.capacity) - 1, samples[::-1]
        for number, plane in enumerate(self.planes):
            packed = np.packbits((latest_first >> number) & 1, bitorder="little").tobytes()
            self.planes[number] = (plane << count | int.from_bytes(packed, "little")) & full
        self.rows = min(self.capacity, self.rows + count)

    def clear(self) -> None:
        self.planes = [0] * len(self.planes)
        self.rows = 0

    def copy(self) -> ProfileWindow:
        other = ProfileWindow(len(self.planes), self.capacity)
        other.planes, other.rows = list(self.planes), self.rows
        return other

    @property
    def everything(self) -> int:
        """Returns the set of all rows."""
        return (1 << self.rows) - 1

    def drops(self, number: int, among: int) -> int:
        """Returns how many rows of a set a filter drops."""
        return (self.planes[number] & among).bit_count()

    def left(self, number: int, among: int) -> int:
        """Returns the rows of a set that a filter lets through."""
        return among & ~self.planes[number]

    def entered(self, order: FilterOrder) -> list[int]:
        """Returns how many rows come to each position of an order, and how many pass all."""
        alive, counts = self.everything, [self.rows]
        for number in order:
            alive = self.left(number, alive)
            counts.append(alive.bit_count())
        return counts

    def cost(self, order: FilterOrder, costs: Sequence[float]) -> float:
        """Returns the cost of an order for a row (equation 4.1), as this window has it."""
        if not self.rows:
            return sum(costs)
        entered = self.entered(order)
        return sum(costs[number] * count for number, count in zip(order, entered, strict=False)) / self.rows

    def variance(self, order: FilterOrder, costs: Sequence[float]) -> float:
        """Returns the variance of the cost of an order from row to row."""
        if not self.rows:
            return 0.0
        entered = self.entered(order)
        spent = squares = until = 0.0
        for number, (come, left) in zip(order, pairwise(entered), strict=True):
            until += costs[number]
            spent += (come - left) * until
            squares += (come - left) * until * until
        spent, squares = spent + entered[-1] * until, squares + entered[-1] * until * until
        return max(0.0, squares / self.rows - (spent / self.rows) ** 2)
