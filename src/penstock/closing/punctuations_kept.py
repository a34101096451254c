"""Punctuations that a join would keep without end: some input may always bring a row that asks for them (004, 5.1).

A punctuation of b is kept as long as a row of another input with its values is there, or may arrive: by it
that row is known to join nothing new. So each other input with these values has to stop bringing them (by punctuations,
order or clusters of its own, because its one row came, or because the punctuation refers to it and RIDS says by when),
or its rows have to go without the punctuation.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.closing.chaining import chain
from penstock.closing.join_inputs import JoinInputs
from penstock.closing.rules import ByCluster, ByDeclaration, ByKey, ByOrder, ByPunctuation, Closer


def always_asked_for(inputs: JoinInputs, closer: Closer, closers: Sequence[Closer]) -> str | None:
    """Why punctuations of a closer pile up, in one sentence; None if they do not, or if no run sees any."""
    if not isinstance(closer, ByPunctuation):
        return None
    for number in inputs.scans:
        is_asking = number != closer.target and inputs.holds(number, closer.variables)
        if is_asking and inputs.is_unbounded(number) and not _stops(inputs, number, closer, closers):
            columns = (inputs.variables[v][number] for v in closer.variables)
            names = ", ".join(column.name for column in columns if column is not None)
            kept = f"one punctuation of {inputs.label(closer.target)} is kept for every value of {names}"
            return f"{kept}, because a row of {inputs.label(number)} may always ask for it"
    return None


def _stops(inputs: JoinInputs, number: int, closer: ByPunctuation, closers: Sequence[Closer]) -> bool:
    """Whether an input brings no more rows with the values of a punctuation in the end, or none that need it."""
    if any(referred.target == number for referred in closer.referred):
        return True
    closing = ByPunctuation | ByDeclaration | ByOrder | ByCluster | ByKey
    if any(
        isinstance(other, closing) and other.target == number and set(other.variables) <= set(closer.variables)
        for other in closers
    ):
        return True
    others = [other for other in closers if other != closer]
    return chain(inputs.variables, others, number, len(inputs)) is not None
