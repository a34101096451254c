"""Filters: a predicate over a batch by columns, wherever one is evaluated: at scans, selections and residual tests.

Cheap conjuncts are one filter, those over arithmetic another, and each dear conjunct is one by itself. Where there is
something to order, a `FilterChain` evaluates them, and a tuner, if one is given, orders them as rows come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from penstock.algebra.expressions import Expr, conjunction
from penstock.algebra.relations import Schema
from penstock.operators.filters.columns import Columns
from penstock.operators.filters.conjuncts import Conjuncts
from penstock.operators.filters.filter_chain import Filter, FilterChain, Outcome
from penstock.operators.filters.profile import MOST_FILTERS, OrderedFilters
from penstock.operators.scalars import compile_filter
from penstock.synopsis.deltas import Bools
from penstock.synopsis.dictionary import Dictionary


class FilterTuner(Protocol):
    """Orders the filters of a chain."""

    def adopt(self, chain: OrderedFilters) -> None:
        """Gives a new chain the order that is known to be best."""

    def between(self, chain: OrderedFilters) -> None:
        """Is called between two chunks of rows."""


class Tuning(Protocol):
    """Makes tuners, which live as long as what they have learnt."""

    @property
    def probability(self) -> float:
        """Returns the drop-profiling probability."""

    def tuner(self, name: str, filters: tuple[str, ...]) -> FilterTuner:
        """Returns the tuner of the filters of this name, given as they are written."""


class Filters:
    """The conjuncts of a predicate over rows of a schema, by `name` among all of a run that are tuned."""

    def __init__(
        self, exprs: Sequence[Expr], schema: Schema, tuning: Tuning | None = None, name: str = "filters"
    ) -> None:
        found = Conjuncts.of(exprs)
        blocks = [block for block in (found.cheap, found.computed) if block]
        # Those that find no place in a profile tuple are one filter.
        alone = found.dear[: MOST_FILTERS - 3]
        groups = [*blocks, *((expr,) for expr in alone), *filter(None, [found.dear[len(alone) :]])]
        #: The filters as they are written.
        self.texts = tuple(str(conjunction(group)) for group in groups)
        self._filters = [_filter(group, schema) for group in groups]
        self.chain: FilterChain | None = None
        self._tuner: FilterTuner | None = None
        if len(groups) > 1 and found.dear:
            self.chain = FilterChain(self._filters, probability=tuning.probability if tuning else 0.0)
            self._tuner = tuning.tuner(name, self.texts) if tuning else None
            if self._tuner is not None:
                self._tuner.adopt(self.chain)

    def passing(self, columns: Columns, dictionary: Dictionary) -> Bools:
        """Returns which rows pass all filters: where no conjunct is false or NULL."""
        if self.chain is not None:
            return self.chain.passing(columns, dictionary, self._tuner.between if self._tuner else None)
        return self._in_turn(columns, dictionary)

    def _in_turn(self, columns: Columns, dictionary: Dictionary) -> Bools:
        """Evaluates filters that nothing can be gained from ordering."""
        if len(self._filters) == 1:
            return _true(self._filters[0](columns, None, dictionary))
        rows = np.arange(len(columns))
        for filter_ in self._filters:
            rows = rows[_true(filter_(columns, rows, dictionary))]
        passes = np.zeros(len(columns), np.bool_)
        passes[rows] = True
        return passes


def _true(outcome: Outcome) -> Bools:
    """Returns where a filter is true, if no other one can drop the rows on which it fails."""
    for error in outcome.errors.values():
        raise error
    return outcome.true


def _filter(exprs: Sequence[Expr], schema: Schema) -> Filter:
    holds = compile_filter(exprs, schema)
    return lambda columns, rows, dictionary: Outcome(holds(columns, dictionary, rows))
