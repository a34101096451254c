"""RIDS(k), in rows or in time: the row that a row refers to is there, or comes within k (thesis 6.1.1)."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.catalog import OnViolation, WithinTime
from penstock.closing.bounds import BoundKind
from penstock.closing.closers.difference import Difference
from penstock.closing.declarations import within_text
from penstock.closing.join_inputs import Closers, Found, JoinInputs
from penstock.closing.monitors import OfReference
from penstock.closing.rules import AfterRows, Estimate, InTime


def references(inputs: JoinInputs, _: Found) -> Closers:
    """RIDS in rows, and in a time that may grow. A time that is fixed is a difference of times."""
    for number, target, reference in inputs.references():
        if inputs.entering(target):
            continue
        ticks, variables = inputs.ticks(target, reference.within), inputs.named(number, reference.columns)
        assert variables is not None
        text, key = inputs.text(number, reference), inputs.is_key(target, variables)
        within, then = reference.within, reference.on_violation
        k = inputs.k(OfReference(text, target, variables, within, then, ticks, number, key))
        until = f"{within_text(within)} of {inputs.label(target)}"
        if ticks is not None:
            yield AfterRows(target, number, k, ticks), inputs.step(target, until, BoundKind.K, text)
        elif isinstance(k, Estimate):
            yield InTime(target, number, k), inputs.step(target, until, BoundKind.K, text)


def referred_in_time(inputs: JoinInputs) -> Iterator[Difference]:
    """A row that is referred to comes at most so much later."""
    for number, target, reference in inputs.references():
        if isinstance(reference.within, WithinTime) and reference.on_violation is not OnViolation.WIDEN:
            yield Difference(target, number, reference.within.microseconds, (inputs.text(number, reference),))
