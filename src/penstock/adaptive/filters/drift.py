"""The drift test: rows pass each position of an order at another rate than the profile window says.

How many rows a position lets through is exact and costs nothing, so a change shows within a chunk, long before the
window has seen enough of it. The test is about the latest chunk, and about a decayed sum of late ones, for small
changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from penstock.adaptive.filters.profile_window import ProfileWindow
from penstock.operators.filters.profile import FilterOrder

#: A change is as many standard errors, and as much of the rows.
SIGMAS = 5.0
LEAST = 0.05
#: Rates are alike that differ by fewer standard errors, at this many positions or all.
ALIKE = 2.5
EVIDENT = 3
#: What is left of the sum after each chunk.
DECAY = 0.8
#: Profile tuples below which a window predicts nothing.
FEW = 48

Counts = Sequence[float]


class DriftTest:
    """Compares exact rates with those of a window."""

    def __init__(self, filters: int) -> None:
        self._entered, self._passed = [0.0] * filters, [0.0] * filters

    def clear(self) -> None:
        self._entered, self._passed = [0.0] * len(self._entered), [0.0] * len(self._passed)

    def drifted(self, order: FilterOrder, entered: Counts, passed: Counts, window: ProfileWindow) -> bool:
        """Returns whether the rates of a chunk, or of the late ones, differ from those of the window."""
        self._entered = [DECAY * late + now for late, now in zip(self._entered, entered, strict=True)]
        self._passed = [DECAY * late + now for late, now in zip(self._passed, passed, strict=True)]
        if window.rows < FEW:
            return False
        expected = window.entered(order)
        return differ(entered, passed, expected) or differ(self._entered, self._passed, expected)


def differ(entered: Counts, passed: Counts, expected: list[int]) -> bool:
    """Returns whether rows passed a position at another rate than a window has.

    `expected` has how many of its rows came to each position, and how many passed all.
    """
    for rows, through, sampled, left in zip(entered, passed, expected, expected[1:], strict=False):
        if rows < FEW or sampled < FEW:
            return False
        gap = abs(through / rows - left / sampled)
        if gap > LEAST and gap > SIGMAS * _standard_error(rows, through, sampled, left):
            return True
    return False


def agree(entered: Counts, passed: Counts, expected: list[int]) -> bool:
    """Returns whether rows passed at the rates of a window, as far as can be told, and that is at some positions."""
    gaps = _gaps(entered, passed, expected)
    enough = min(len(expected) - 1, EVIDENT)
    return len(gaps) >= enough and all(gap <= 2 * LEAST and gap <= ALIKE * error for gap, error in gaps)


def _gaps(entered: Counts, passed: Counts, expected: list[int]) -> list[tuple[float, float]]:
    """Returns by how much rates differ, and the standard error of that, at the positions to which enough rows came."""
    found = []
    for position, (rows, through) in enumerate(zip(entered, passed, strict=True)):
        sampled, left = expected[position], expected[position + 1]
        if rows < FEW or sampled < FEW:
            break
        found.append((abs(through / rows - left / sampled), _standard_error(rows, through, sampled, left)))
    return found


def _standard_error(rows: float, through: float, sampled: int, left: int) -> float:
    """Returns the standard error of the difference of two rates."""
    pooled = (through + left) / (rows + sampled)
    return sqrt(max(pooled * (1 - pooled), 0.01) * (1 / rows + 1 / sampled))
