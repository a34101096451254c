"""The drift test: rows pass each position of an order at another rate than the profile window says.

How many rows a position lets through is exact and costs nothing, so a change shows within a chunk, long before the
window has seen enough of it. The test is about the latest chunk, and about a decayed sum of late ones, for small
changes.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.adaptive.filters.profile_window import ProfileWindow
from penstock.operators.filters.profile import FilterOrder
from penstock.synopsis.memory import Ints

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

Counts = Ints | NDArray[np.float64]


class DriftTest:
    """Compares exact rates with those of a window."""

    def __init__(self, filters: int) -> None:
        self._entered = np.zeros(filters)
        self._passed = np.zeros(filters)

    def clear(self) -> None:
        self._entered[:] = 0
        self._passed[:] = 0

    def drifted(self, order: FilterOrder, entered: Ints, passed: Ints, window: ProfileWindow) -> bool:
        """Returns whether the rates of a chunk, or of the late ones, differ from those of the window."""
        self._entered = DECAY * self._entered + entered
        self._passed = DECAY * self._passed + passed
        if window.rows < FEW:
            return False
        expected = window.entered(order)
        return differ(entered, passed, expected) or differ(self._entered, self._passed, expected)


def differ(entered: Counts, passed: Counts, expected: list[int]) -> bool:
    """Returns whether rows passed a position at another rate than a window has.

    `expected` has how many of its rows came to each position, and how many passed all.
    """
    gaps = _gaps(entered, passed, expected)
    return any(gap > LEAST and gap > SIGMAS * error for gap, error in gaps)


def agree(entered: Counts, passed: Counts, expected: list[int]) -> bool:
    """Returns whether rows passed at the rates of a window, as far as can be told, and that is at some positions."""
    gaps = _gaps(entered, passed, expected)
    enough = min(len(expected) - 1, EVIDENT)
    return len(gaps) >= enough and all(gap <= 2 * LEAST and gap <= ALIKE * error for gap, error in gaps)


def _gaps(entered: Counts, passed: Counts, expected: list[int]) -> list[tuple[float, float]]:
    """Returns by how much rates differ, and the standard error of that, at the positions to which enough rows came."""
    found = []
    for position, (rows, through) in enumerate(zip(entered.tolist(), passed.tolist(), strict=True)):
        sampled, left = expected[position], expected[position + 1]
        if rows < FEW or sampled < FEW:
            break
        pooled = (through + left) / (rows + sampled)
        error = sqrt(max(pooled * (1 - pooled), 0.01) * (1 / rows + 1 / sampled))
        found.append((abs(through / rows - left / sampled), error))
    return found
