"""OA(k): no value comes that is smaller than one of a row that is more than k rows old (thesis 6.1.1)."""

from __future__ import annotations

from dataclasses import replace

from penstock.catalog import Ordered
from penstock.closing.bounds import BoundKind
from penstock.closing.join_inputs import Closers, Found, JoinInputs
from penstock.closing.monitors import OfOrder
from penstock.closing.rules import ByOrder


def orders(inputs: JoinInputs, _: Found) -> Closers:
    for number, constraint in inputs.declared():
        match constraint:
            case Ordered(column, within, then):
                variables = inputs.named(number, (column,))
                if variables is None or not inputs.is_whole(number, variables[0]):
                    continue
                text = inputs.text(number, constraint)
                evidence, ticks = inputs.values(number, (column,), variables), inputs.ticks(number, within)
                k = inputs.k(OfOrder(text, number, variables, within, then, ticks, evidence))
                until = f"{inputs.label(number)} has passed its {column}"
                step = replace(inputs.step(number, until, BoundKind.K, text), is_certain=False)
                yield ByOrder(number, variables, evidence, k, ticks), step
