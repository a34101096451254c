"""A table is there from instant 0 on and never changes: no more row of it joins anything."""

from __future__ import annotations

from penstock.closing.bounds import BoundKind
from penstock.closing.join_inputs import Closers, Found, JoinInputs
from penstock.closing.join_variables import is_table
from penstock.closing.rules import Static


def static_tables(inputs: JoinInputs, _: Found) -> Closers:
    for number, operand in enumerate(inputs.join.operands):
        if is_table(operand):
            yield Static(number), inputs.step(number, "", BoundKind.NONE)
