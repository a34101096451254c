"""Punctuations with a lifespan: their values do not come again until it is over (004, section 5.1)."""

from __future__ import annotations

from penstock.closing.bounds import BoundKind
from penstock.closing.closers.punctuation import punctuated, schemes
from penstock.closing.join_inputs import Closers, Found, JoinInputs
from penstock.closing.rules import ByLifespan


def lifespans(inputs: JoinInputs, _: Found) -> Closers:
    for number, scheme in schemes(inputs):
        if scheme.lifespan is not None and (read := punctuated(inputs, number, scheme)) is not None:
            variables, evidence = read
            until = f"punctuation ({', '.join(scheme.columns)}) of {inputs.label(number)}"
            step = inputs.step(number, until, BoundKind.WINDOW, inputs.text(number, scheme))
            yield ByLifespan(number, variables, inputs.read(evidence, variables), scheme.lifespan), step
