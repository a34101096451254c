"""A row under a window of time joins nothing that comes after it has left (thesis 2.1)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from penstock.algebra.relations import Range
from penstock.closing.closers.difference import Difference
from penstock.closing.join_inputs import JoinInputs


def window_widths(inputs: JoinInputs) -> Iterator[Difference]:
    for (one, scan), other in product(inputs.scans.items(), inputs.scans):
        if one != other and isinstance(scan.spec, Range):
            yield Difference(other, one, scan.spec.width + scan.spec.lag)
