"""Rows that satisfy a query: values for all its attributes, one after the other, within what the closure leaves.

In a closed matrix any choice can be completed, so that only `<>` makes the search go back. With `<>` over bounded integers it could colour
graphs, so it gives up after a while.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.register.arithmetic.closure import ZERO, Apart, Limit, Matrix

#: How many values the search tries in all.
PATIENCE = 5_000

Solution = dict[int, int]


def solve(matrix: Matrix, aparts: Sequence[Apart], steps: Sequence[int], one: int) -> Solution | None:
    """A value for each node of a matrix that is closed, with strict steps counted; None if there is none, or none was found."""
    search = _Search(matrix, aparts, steps, one)
    return search.value if search.run(1) else None


class _Search:
    def __init__(self, matrix: Matrix, aparts: Sequence[Apart], steps: Sequence[int], one: int) -> None:
        self.matrix, self.steps, self.one = matrix, steps, one
        self.value: Solution = {ZERO: 0}
        self.tried = 0
        self.apart: dict[int, list[tuple[int, int]]] = {}
        for apart in aparts:
            self.apart.setdefault(apart.left, []).append((apart.right, apart.value))
            self.apart.setdefault(apart.right, []).append((apart.left, -apart.value))

    def run(self, node: int) -> bool:
        if node == len(self.matrix):
            return True
        for value in self._candidates(node):
            self.tried += 1
            if self.tried > PATIENCE:
                return False
            if all(value != self.value[v] + by for v, by in self.apart.get(node, ()) if v in self.value):
                self.value[node] = value
                if self.run(node + 1):
                    return True
                del self.value[node]
        return False

    def _candidates(self, node: int) -> Iterator[int]:
        lows = [value - limit for v, value in self.value.items() if (limit := self.matrix[v][node]) is not None]
        highs = [value + limit for v, value in self.value.items() if (limit := self.matrix[node][v]) is not None]
        return _candidates(max(lows, default=None), min(highs, default=None), self.steps[node], self.one)


def _candidates(low: Limit, high: Limit, step: int, one: int) -> Iterator[int]:
    """Every integer from low to high, or some of the dense values there, plain ones first."""
    stride = step if step > 1 else one
    start = min(max(0, low if low is not None else 0), high if high is not None else max(0, low or 0))
    if step == 1:
        rounded = -(-start // one) * one
        if high is not None and rounded > high:
            rounded = (high + (low if low is not None else high - one)) // 2
        start, stride = rounded, _stride(low, high, one)
    yield start
    reach = 1
    while (high is None or start + reach * stride <= high) or (low is None or low <= start - reach * stride):
        if high is None or start + reach * stride <= high:
            yield start + reach * stride
        if low is None or low <= start - reach * stride:
            yield start - reach * stride
        reach += 1


def _stride(low: Limit, high: Limit, one: int) -> int:
    return one if low is None or high is None or high - low > 64 * one else max(1, (high - low) // 64)
