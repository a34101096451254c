"""Rows of expressions over rows."""

from __future__ import annotations

from collections.abc import Callable

from penstock.algebra.expressions import Column, Expr
from penstock.algebra.relations import Schema
from penstock.operators.functions.failures import Tally
from penstock.operators.scalars import compile_scalar
from penstock.synopsis.deltas import assemble, is_null
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints

Projection = Callable[[Ints, Dictionary], Ints]


def projection(exprs: tuple[Expr, ...], schema: Schema, tally: Tally | None = None) -> Projection:
    """Rows of these expressions. Plain columns are copied, without a look at what they hold."""
    width = len(schema)
    compiled = [
        schema.index(expr) if isinstance(expr, Column) else compile_scalar(expr, schema, tally) for expr in exprs
    ]

    def project(rows: Ints, dictionary: Dictionary) -> Ints:
        parts = [
            (rows[:, part], is_null(rows, part, width)) if isinstance(part, int) else part(rows, dictionary)
            for part in compiled
        ]
        return assemble(parts, len(rows))

    return project
