"""Rows that satisfy a query: values for all its attributes, one after the other, within what the closure leaves.

In a closed matrix any choice can be completed, so that only `<>` makes the search go back. With `<>` over bounded
integers it could colour graphs, so it stops after a while.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, islice

from penstock.register.arithmetic.closure import ZERO, Apart, Limit, Matrix

#: The search tries so many values in all.
PATIENCE = 5_000

Solution = dict[int, int]


def solve(matrix: Matrix, aparts: Sequence[Apart], steps: Sequence[int], one: int) -> Solution | None:
    """Find a value for each node of a closed matrix in which strict steps are counted; None if none was found."""
    search = _Search(matrix, aparts, steps, one)
    return search.value if search.run(0) else None


class _Search:
    def __init__(self, matrix: Matrix, aparts: Sequence[Apart], steps: Sequence[int], one: int) -> None:
        self.matrix, self.steps, self.one = matrix, steps, one
        self.value: Solution = {ZERO: 0}
        self.tried = 0
        self.apart: dict[int, list[tuple[int, int]]] = {}
        for apart in aparts:
            self.apart.setdefault(apart.left, []).append((apart.right, apart.value))
            self.apart.setdefault(apart.right, []).append((apart.left, -apart.value))
        #: Those that `<>` speaks of come first: the others never make the search go back.
        self.order = sorted(self.apart.keys() - {ZERO})

    def run(self, number: int) -> bool:
        if number == len(self.order):
            for node in set(range(1, len(self.matrix))) - self.apart.keys():
                self.value[node] = next(self._candidates(node))
            return True
        node = self.order[number]
        for value in self._candidates(node):
            self.tried += 1
            if self.tried > PATIENCE:
                return False
            if all(value != self.value[v] + by for v, by in self.apart.get(node, ()) if v in self.value):
                self.value[node] = value
                if self.run(number + 1):
                    return True
                del self.value[node]
        return False

    def _candidates(self, node: int) -> Iterator[int]:
        lows = [value - limit for v, value in self.value.items() if (limit := self.matrix[v][node]) is not None]
        highs = [value + limit for v, value in self.value.items() if (limit := self.matrix[node][v]) is not None]
        low, high = max(lows, default=None), min(highs, default=None)
        if self.steps[node] > 1:
            found = _around(_near_zero(low, high), low, high, self.steps[node])
            endless = low is None or high is None
        else:
            found = _around(_plain(low, high, self.one), low, high, _stride(low, high, self.one))
            endless = True
        holes = len(self.apart.get(node, ()))
        return islice(found, 2 * holes + 2) if endless else found


def _near_zero(low: Limit, high: Limit) -> int:
    if low is not None and low > 0:
        return low
    return high if high is not None and high < 0 else 0


def _plain(low: Limit, high: Limit, one: int) -> int:
    """Choose a dense value: a whole number if there is one."""
    near = _near_zero(low, high)
    for whole in (-(-near // one) * one, near // one * one):
        if (low is None or low <= whole) and (high is None or whole <= high):
            return whole
    return near if low is None or high is None else (low + high) // 2


def _stride(low: Limit, high: Limit, one: int) -> int:
    return one if low is None or high is None or high - low > 64 * one else max(1, (high - low) // 64)


def _around(start: int, low: Limit, high: Limit, stride: int) -> Iterator[int]:
    """Try values from one to both sides, as far as they go."""
    yield start
    for reach in count(stride, stride):
        up = high is None or start + reach <= high
        down = low is None or low <= start - reach
        if up:
            yield start + reach
        if down:
            yield start - reach
        if not up and not down:
            return
