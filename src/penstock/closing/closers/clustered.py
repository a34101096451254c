"""CA(k): values that have come, and since then more than k others, do not come again (thesis 6.1.1)."""

from __future__ import annotations

from penstock.catalog import Clustered
from penstock.closing.bounds import BoundKind
from penstock.closing.join_inputs import Closers, Found, JoinInputs
from penstock.closing.monitors import OfCluster
from penstock.closing.rules import ByCluster


def clusters(inputs: JoinInputs, _: Found) -> Closers:
    for number, constraint in inputs.declared():
        match constraint:
            case Clustered(columns, within, then) if (variables := inputs.named(number, columns)) is not None:
                text = inputs.text(number, constraint)
                evidence, ticks = inputs.values(number, columns, variables), inputs.ticks(number, within)
                k = inputs.k(OfCluster(text, number, variables, within, then, ticks, evidence))
                until = f"the cluster ({', '.join(columns)}) of {inputs.label(number)} ends"
                yield ByCluster(number, variables, evidence, k, ticks), inputs.step(number, until, BoundKind.K, text)
