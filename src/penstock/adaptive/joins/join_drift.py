"""The drift test of joins: at some depth of a path probes match more rows, or fewer, than they did.

How many rows probes match at each depth is exact and costs nothing, so a change shows in the next part of a step.
"""

from __future__ import annotations

from math import inf, log

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.join_rates import FEW, MATCHES, PROBES, REFERENCE_MATCHES, REFERENCE_PROBES, compare

Counts = NDArray[np.int64]

#: Rates are alike that differ by less than this factor, as a logarithm: the part of a step in which something changes
#: has rows of both kinds. Rates below the other are hard to tell from 0.
ALIKE, SMALL = 0.9, 0.1
#: Parts of which the reference is made.
REFERENCE = 2


class JoinDrift:
    """Compares what a part of a step matched with the first parts since `clear`."""

    def __init__(self, inputs: int) -> None:
        self._rates = np.zeros((6, inputs, inputs - 1), np.int64)
        self._found = np.zeros(3, np.int64)
        self._parts = 0

    def clear(self) -> None:
        self._rates[[REFERENCE_PROBES, REFERENCE_MATCHES]] = 0
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
        return self._rates[PROBES], self._rates[MATCHES]


def distance(probes: Counts, matches: Counts, rates: list[list[float]]) -> float:
    """Returns by which factor, as a logarithm, a part matched rows at other rates than these, where many probed.

    >>> round(distance(np.array([[1000]]), np.array([[1900]]), [[0.9]]), 2)
    0.69
    """
    found = [inf]
    for own_probes, own_matches, own in zip(probes.tolist(), matches.tolist(), rates, strict=True):
        for count, matched, rate in zip(own_probes, own_matches, own, strict=False):
            if count < FEW:
                break
            found.append(abs(log((matched / count + SMALL) / (rate + SMALL))))
    return max(found[1:], default=inf)
