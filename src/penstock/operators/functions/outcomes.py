"""Outcomes of conjuncts: on each row a conjunct is true, is not, or fails.

Conjuncts commute. A row is dropped if one of them is not true, whatever the others do; a failure is an error only on a
row that no conjunct drops. So the result and the errors of a filter do not depend on the order of its conjuncts.

    conjunct 1     true   true   fails   fails   not true
    conjunct 2     true   fails  fails   not true  fails
    the row is     kept   error  error   dropped   dropped
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from penstock.operators.functions.failures import Failures, Mask, no_failures
from penstock.operators.scalars.vectors import Batch, Evaluate, Vector


class Outcome(NamedTuple):
    """What a conjunct says of the rows of a batch: where it is true, and where it failed. Nowhere is it both."""

    true: Mask
    failures: Failures

    @property
    def open(self) -> Mask:
        """The rows that it does not drop."""
        return self.true | self.failures.mask


def outcome(conjunct: Evaluate, batch: Batch, wanted: Mask) -> Outcome:
    """The outcome of a conjunct on the rows that are wanted; it is not true on others."""
    with batch.calls.only(wanted):
        found = conjunct(batch)
    failures = batch.calls.failures() or no_failures(len(batch))
    return Outcome(wanted & _is_true(found) & ~failures.mask, failures)


def all_true(conjuncts: Sequence[Evaluate], batch: Batch) -> Mask:
    """Where all conjuncts are true. Raises the error of the first row that fails and that none of them drops."""
    left: Mask = np.ones(len(batch), np.bool_)
    failures = no_failures(len(batch))
    for conjunct in conjuncts:
        found = outcome(conjunct, batch, left)
        left, failures = left & found.open, failures.then(found.failures)
        if not left.any():
            return left
    failures.raise_first(left)
    return left


def _is_true(vector: Vector) -> Mask:
    return vector.data if vector.nulls is None else vector.data & ~vector.nulls
