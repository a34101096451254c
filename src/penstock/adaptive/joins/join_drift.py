"""The drift test of joins: at some depth of a path probes match more rows, or fewer, than they did.

How many rows probes match at each depth is exact and costs nothing, so a change shows in the next part of a step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

#: A change is as many standard errors of the number of matches, and this much of it and of the probes.
SIGMAS, RELATIVE, LEAST = 6.0, 0.25, 0.05
#: Probes below which nothing is concluded.
FEW = 256
#: Parts of which the reference is made.
REFERENCE = 2


class JoinDrift:
    """Compares what a part of a step matched with the parts before it."""

    def __init__(self) -> None:
        self._probes: Floats | None = None
        self._matches: Floats | None = None
        self._parts = 0

    def clear(self) -> None:
        self._probes = self._matches = None
        self._parts = 0

    def drifted(self, probes: Counts, matches: Counts) -> bool:
        """Returns whether rates differ from those of the first parts since `clear`.

        Counts go on being added where these had too few.
        """
        self._parts += 1
        if self._probes is None or self._matches is None:
            self._probes, self._matches = probes.astype(np.float64), matches.astype(np.float64)
            return False
        rates = self._matches / np.maximum(self._probes, 1.0)
        expected = probes * rates
        gaps = np.abs(matches - expected)
        # Matches of a probe come together: their number varies with how many there are.
        errors = np.sqrt(np.maximum(expected, 1.0) * (1 + rates) * (1 + probes / np.maximum(self._probes, 1.0)))
        wide = (gaps > SIGMAS * errors) & (gaps > RELATIVE * expected) & (gaps > LEAST * probes)
        known = (probes >= FEW) & (self._probes >= FEW)
        more = (self._probes < FEW) | (self._parts <= REFERENCE)
        self._probes, self._matches = self._probes + more * probes, self._matches + more * matches
        return bool((wide & known).any())


def agrees(probes: Counts, matches: Counts, rates: list[list[float]]) -> bool:
    """Returns whether a part matched rows at these rates, wherever enough combinations probed."""
    some = False
    for own_probes, own_matches, own in zip(probes, matches, rates, strict=True):
        for count, found, rate in zip(own_probes.tolist(), own_matches.tolist(), own, strict=False):
            if count < FEW:
                break
            some = True
            if abs(found / count - rate) > max(LEAST, RELATIVE * rate):
                return False
    return some
