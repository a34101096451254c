"""The drift test: rows pass each position of an order at another rate than the profile window says, or than before.

How many rows a position lets through is exact and costs nothing, so a change shows within a chunk, long before the
window has seen enough of it. The latest chunk, and a decayed sum of late ones, for small changes, are compared with the
window; and, since that has few rows, the latest chunk with all that came under the same order. What came before is so
exact that a burst looks like a change: it has to show in two chunks, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from penstock.adaptive.filters.profile_window import ProfileWindow
from penstock.operators.filters.profile import FilterOrder, FilterProfile, PassCounts

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
    """Compares exact rates with those of a window, and with those of before."""

    def __init__(self, filters: int) -> None:
        self._late = [0.0] * filters, [0.0] * filters
        #: The order of the latest rows, and what came under it before them.
        self._order: FilterOrder = ()
        self._before = PassCounts(filters)
        self._was_otherwise = False
        #: Whether the latest rates may turn out to be others.
        self.is_suspicious = True

    def clear(self) -> None:
        filters = len(self._before.entered)
        self.is_suspicious, self._was_otherwise = True, False
        self._late = [0.0] * filters, [0.0] * filters
        self._before = PassCounts(filters)

    def drifted(self, profile: FilterProfile, window: ProfileWindow) -> bool:
        """Returns whether the rates of a chunk, or of the late ones, differ from those of the window or of before."""
        entered, passed = profile.entered, profile.passed
        late = [
            [DECAY * then + now for then, now in zip(*pair, strict=True)]
            for pair in zip(self._late, (entered, passed), strict=True)
        ]
        self._late = late[0], late[1]
        is_otherwise = self._is_otherwise(profile)
        if window.rows < FEW:
            self.is_suspicious = True
            return False
        expected = window.entered(profile.order)
        gaps = _gaps(entered, passed, expected) + _gaps(*self._late, expected)
        is_again, self._was_otherwise = is_otherwise and self._was_otherwise, is_otherwise
        self.is_suspicious = is_otherwise or _is_wide(gaps, SUSPECT)
        return is_again or (self.is_suspicious and _is_wide(gaps, SIGMAS))

    def _is_otherwise(self, profile: FilterProfile) -> bool:
        """Returns whether the rates of a chunk differ from those of before. It belongs to those of before then."""
        if profile.order != self._order:
            self._order, self._before = profile.order, PassCounts(len(profile.order))
        before = self._before
        before.add(profile.quiet.entered, profile.quiet.passed)
        found = _is_wide(_gaps(profile.entered, profile.passed, [before.entered[0], *before.passed]), SIGMAS)
        before.add(profile.entered, profile.passed)
        return found


def _is_wide(gaps: list[tuple[float, float]], errors: float) -> bool:
    """Returns whether rows passed a position at another rate, by so many standard errors."""
    return any(gap > LEAST and gap > errors * error for gap, error in gaps)


def agree(entered: Counts, passed: Counts, expected: list[int]) -> bool:
    """Returns whether rows passed at the rates of a window, as far as can be told, and that is at some positions."""
    gaps = _gaps(entered, passed, expected)
    enough = min(len(expected) - 1, EVIDENT)
    return len(gaps) >= enough and all(gap <= 2 * LEAST and gap <= ALIKE * error for gap, error in gaps)


def _gaps(entered: Counts, passed: Counts, expected: Sequence[int]) -> list[tuple[float, float]]:
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
