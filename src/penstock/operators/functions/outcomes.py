"""Outcomes of conjuncts: on each row a conjunct is true, is not, or fails.

Conjuncts commute. A row is dropped if one of them is not true, whatever the others do; a failure is an error only on a
row that no conjunct drops. So the result and the errors of a filter do not depend on the order of its conjuncts.

    conjunct 1     true   true   fails   fails   not true
    conjunct 2     true   fails  fails   not true  fails
    the row is     kept   error  error   dropped   dropped

A call that fails and gives NULL is no error, but it is counted, on the same rows: those that no other conjunct drops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from penstock.operators.functions.failures import Failures, Mask
from penstock.operators.scalars.vectors import Batch, Evaluate, Vector
from penstock.synopsis.memory import Ints


class Outcome(NamedTuple):
    """What conjuncts say of the rows of a batch: where all are true, and where one failed. Nowhere is it both."""

    true: Mask
    #: None if nothing failed.
    failures: Failures | None = None
    #: By row, how many calls failed and gave NULL; None if none did.
    nulled: Ints | None = None

    @property
    def open(self) -> Mask:
        """The rows on which all others have to be asked: none is dropped but by what failed."""
        found = self.true if self.failures is None else self.true | self.failures.mask
        return found if self.nulled is None else found | (self.nulled > 0)


def outcome_of(conjuncts: Sequence[Evaluate], batch: Batch) -> Outcome:
    """The outcome of conjuncts on all rows. Functions are called on rows that the conjuncts before have left."""
    found = _outcome(conjuncts[0], batch)
    for conjunct in conjuncts[1:]:
        left = found.open
        if not left.any():
            break
        with batch.calls.only(left):
            found = _both(found, _outcome(conjunct, batch))
    return found


def _outcome(conjunct: Evaluate, batch: Batch) -> Outcome:
    found = _is_true(conjunct(batch))
    true = found if len(found) == len(batch) else np.repeat(found, len(batch))
    failures, nulled = batch.calls.failures(), batch.calls.nulled()
    return Outcome(true if failures is None else true & ~failures.mask, failures, nulled)


def _both(one: Outcome, other: Outcome) -> Outcome:
    """The outcome of two conjuncts. What failed on rows that one of them drops is forgotten."""
    left = one.open & other.open
    failures = other.failures if one.failures is None else one.failures
    if one.failures is not None and other.failures is not None:
        failures = one.failures.then(other.failures)
    nulled = sum(each for each in (one.nulled, other.nulled) if each is not None)
    return Outcome(
        one.true & other.true,
        None if failures is None else failures.where(left),
        None if isinstance(nulled, int) else np.where(left, nulled, 0),
    )


def _is_true(vector: Vector) -> Mask:
    return vector.data if vector.nulls is None else vector.data & ~vector.nulls
