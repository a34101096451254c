"""The drift test of joins: at some depth of a path probes match more rows, or fewer, than they did.

How many rows probes match at each depth is exact and costs nothing, so a change shows in the next part of a step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.join_rates import FEW, LEAST, RELATIVE, Rates, compare

Counts = NDArray[np.int64]

#: Parts of which the reference is made.
REFERENCE = 2


class JoinDrift:
    """Compares what a part of a step matched with the first parts since `clear`."""

    def __init__(self, inputs: int) -> None:
        self._rates = Rates(*np.zeros((6, inputs, inputs - 1), np.int64))
        self._found = np.zeros(3, np.int64)
        self._parts = 0

    def clear(self) -> None:
        self._rates.reference_probes[:] = 0
        self._rates.reference_matches[:] = 0
        self._parts = 0

    def take(self, probes: Counts, matches: Counts) -> tuple[bool, int, int]:
        """Takes what was counted until now.

        Returns whether the latest part differs, its probes and matches, and those matches that are not results.
        """
        self._parts += 1
        compare(probes, matches, self._rates, self._parts <= REFERENCE, self._found)
        drifted, counted, on_the_way = self._found.tolist()
        return bool(drifted), counted, on_the_way

    @property
    def latest(self) -> tuple[Counts, Counts]:
        """The probes and matches of the latest part."""
        return self._rates.probes, self._rates.matches


def agrees(probes: Counts, matches: Counts, rates: list[list[float]]) -> bool:
    """Returns whether a part matched rows at these rates, wherever enough combinations probed."""
    some = False
    for own_probes, own_matches, own in zip(probes.tolist(), matches.tolist(), rates, strict=True):
        for count, found, rate in zip(own_probes, own_matches, own, strict=False):
            if count < FEW:
                break
            some = True
            if abs(found / count - rate) > max(LEAST, RELATIVE * rate):
                return False
    return some
