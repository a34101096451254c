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
#: From as many on the next chunk is tested, too, whatever it has.
SUSPECT = 1.5
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
        #: Whether the latest rates may turn out to be others.
        self.is_suspicious = True

    def clear(self) -> None:
        self.is_suspicious = True
        self._entered, self._passed = [0.0] * len(self._entered), [0.0] * len(self._passed)

    def drifted(self, order: FilterOrder, entered: Counts, passed: Counts, window: ProfileWindow) -> bool:
        """Returns whether the rates of a chunk, or of the late ones, differ from those of the window."""
        self._entered = [DECAY * late + now for late, now in zip(self._entered, entered, strict=True)]
        self._passed = [DECAY * late + now for late, now in zip(self._passed, passed, strict=True)]
        self.is_suspicious = True
        if window.rows < FEW:
            return False
        expected = window.entered(order)
        gaps = _gaps(entered, passed, expected) + _gaps(self._entered, self._passed, expected)
        self.is_suspicious = _is_wide(gaps, SUSPECT)
        return self.is_suspicious and _is_wide(gaps, SIGMAS)


def _is_wide(gaps: list[tuple[float, float]], errors: float) -> bool:
    """Returns whether rows passed a position at another rate, by so many standard errors."""
    return any(gap > LEAST and gap > errors * error for gap, error in gaps)


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
        pooled = (through + left) / (rows + sampled)
        error = sqrt(max(pooled * (1 - pooled), 0.01) * (1 / rows + 1 / sampled))
        found.append((abs(through / rows - left / sampled), error))
    return found
