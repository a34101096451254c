"""Predicates over rows of codes, as tests ask for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.expressions import Expr
from penstock.algebra.relations import Schema
from penstock.operators.filters.columns import RowColumns
from penstock.operators.scalars import compile_filter
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints


def compile_predicate(exprs: Sequence[Expr], schema: Schema) -> Callable[[Ints, Dictionary], NDArray[np.bool_]]:
    """What tells, for rows of a schema, where all of some predicates are true: neither false nor NULL."""
    holds = compile_filter(exprs, schema)
    return lambda rows, dictionary: holds(RowColumns(rows, len(schema)), dictionary, None)
