"""UNIQUE: where the row with the values is there, no other comes."""

from __future__ import annotations

from penstock.catalog import Unique
from penstock.closing.bounds import BoundKind
from penstock.closing.join_inputs import Closers, Found, JoinInputs
from penstock.closing.rules import ByKey


def keys(inputs: JoinInputs, _: Found) -> Closers:
    for number, constraint in inputs.declared():
        if isinstance(constraint, Unique) and (variables := inputs.named(number, constraint.columns)) is not None:
            until = f"the row ({', '.join(constraint.columns)}) of {inputs.label(number)}"
            yield ByKey(number, variables), inputs.step(number, until, BoundKind.NONE, inputs.text(number, constraint))


def key_columns(inputs: JoinInputs, key: ByKey) -> tuple[str, ...]:
    """The declared columns of a key."""
    unique = (c for n, c in inputs.declared() if n == key.target and isinstance(c, Unique))
    return next(each.columns for each in unique if inputs.named(key.target, each.columns) == key.variables)
