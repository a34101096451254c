"""Rates of a join: whether the probes of the latest part of a step match as many rows as those of a reference did."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]


#: Tables of rates, each by input and depth of its path: probes and matches until the last call, since then, and of the
#: reference.
PROBES_BEFORE, MATCHES_BEFORE, PROBES, MATCHES, REFERENCE_PROBES, REFERENCE_MATCHES = range(6)

#: A change is as many standard errors of the number of matches, and this much of it and of the probes.
SIGMAS, RELATIVE, LEAST = 6.0, 0.5, 0.05
#: Probes below which nothing is concluded.
FEW = 256


@lean
def compare(probes: Ints, matches: Ints, rates: Ints, adds: bool, found: Ints) -> None:
    """Takes what was counted until now, and writes what happened since the last call.

    `found` are: whether a rate differs from that of the reference, all probes and matches, and the matches that are
    not results. If it `adds`, or where it has few probes, the reference takes the latest counts, too.
    """
    found[0] = found[1] = found[2] = 0
    inputs, depths = probes.shape
    for i in range(inputs):
        for d in range(depths):
            new = probes[i, d] - rates[PROBES_BEFORE, i, d]
            matched = matches[i, d] - rates[MATCHES_BEFORE, i, d]
            rates[PROBES_BEFORE, i, d], rates[MATCHES_BEFORE, i, d] = probes[i, d], matches[i, d]
            rates[PROBES, i, d], rates[MATCHES, i, d] = new, matched
            found[1] += new + matched
            if d < depths - 1:
                found[2] += matched
            many = rates[REFERENCE_PROBES, i, d]
            if new >= FEW and many >= FEW:
                rate = rates[REFERENCE_MATCHES, i, d] / many
                expected = new * rate
                gap = abs(matched - expected)
                # Matches of a probe come together: their number varies with how many there are.
                variance = max(expected, 1.0) * (1 + rate) * (1 + new / many)
                if gap > RELATIVE * expected and gap > LEAST * new and gap * gap > SIGMAS * SIGMAS * variance:
                    found[0] = 1
            if adds or many < FEW:
                rates[REFERENCE_PROBES, i, d] += new
                rates[REFERENCE_MATCHES, i, d] += matched
