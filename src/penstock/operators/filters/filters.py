"""Filters: a predicate over a batch by columns, wherever one is evaluated: at scans, selections and residual tests."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.algebra.expressions import Expr, columns
from penstock.algebra.relations import Schema
from penstock.operators.filters.columns import Columns
from penstock.operators.scalars import compile_predicate
from penstock.synopsis.deltas import Bools, assemble
from penstock.synopsis.dictionary import Dictionary


class Filters:
    """The conjuncts of a predicate over rows of a schema."""

    def __init__(self, exprs: Sequence[Expr], schema: Schema) -> None:
        read = {column for expr in exprs for column in columns(expr)}
        self._positions = [position for position, column in enumerate(schema) if column in read]
        self._predicate = compile_predicate(exprs, tuple(schema[position] for position in self._positions))

    def passing(self, columns: Columns, dictionary: Dictionary) -> Bools:
        """Returns which rows pass all filters: where no conjunct is false or NULL."""
        rows = assemble([columns.column(position) for position in self._positions], len(columns))
        return self._predicate(rows, dictionary)
