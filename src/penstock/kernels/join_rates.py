"""Rates of a join: whether the probes of the latest part of a step match as many rows as those of a reference did."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import lean

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Rates(NamedTuple):
    """By input and depth of its path the probes and matches until the last call, since then, and of the reference."""

    probes_before: Ints
    matches_before: Ints
    probes: Ints
    matches: Ints
    reference_probes: Ints
    reference_matches: Ints


#: A change is as many standard errors of the number of matches, and this much of it and of the probes.
SIGMAS, RELATIVE, LEAST = 6.0, 0.4, 0.05
#: Probes below which nothing is concluded.
FEW = 256


@lean
def compare(probes: Ints, matches: Ints, rates: Rates, adds: bool, found: Ints) -> None:
    """Takes what was counted until now, and writes what happened since the last call.

    `found` are: whether a rate differs from that of the reference, all probes and matches, and the matches that are
    not results. If it `adds`, or where it has few probes, the reference takes the latest counts, too.
    """
    found[0] = found[1] = found[2] = 0
    inputs, depths = probes.shape
    for i in range(inputs):
        for d in range(depths):
            new = rates.probes[i, d] = probes[i, d] - rates.probes_before[i, d]
            matched = rates.matches[i, d] = matches[i, d] - rates.matches_before[i, d]
            rates.probes_before[i, d], rates.matches_before[i, d] = probes[i, d], matches[i, d]
            found[1] += new + matched
            if d < depths - 1:
                found[2] += matched
            many = rates.reference_probes[i, d]
            if new >= FEW and many >= FEW:
                rate = rates.reference_matches[i, d] / many
                expected = new * rate
                gap = abs(matched - expected)
                # Matches of a probe come together: their number varies with how many there are.
                variance = max(expected, 1.0) * (1 + rate) * (1 + new / many)
                if gap > RELATIVE * expected and gap > LEAST * new and gap * gap > SIGMAS * SIGMAS * variance:
                    found[0] = 1
            if adds or many < FEW:
                rates.reference_probes[i, d] += new
                rates.reference_matches[i, d] += matched
