"""Filters: a predicate over a batch by columns, wherever one is evaluated: at scans, selections and residual tests.

Cheap conjuncts are one fused filter, which comes first: it costs less than to look at a row again. Those over
arithmetic are one filter, and each dear conjunct is one by itself. Where there are several, a `FilterChain` evaluates
them, and a tuner, if one is given, orders them as rows come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from penstock.algebra.expressions import Expr, conjunction
from penstock.algebra.expressions import columns as columns_of
from penstock.algebra.printing import expression_text
from penstock.algebra.relations import Schema
from penstock.algebra.user_functions import calls_user
from penstock.operators.filters.columns import Columns
from penstock.operators.filters.conjuncts import Conjuncts
from penstock.operators.filters.filter_chain import CHUNK, FilterChain
from penstock.operators.filters.fused import FusedFilter
from penstock.operators.filters.profile import MOST_FILTERS, FilterOrder, OrderedFilters
from penstock.operators.filters.undecided import Filter, Outcome
from penstock.operators.functions.failures import Tally
from penstock.operators.functions.outcome_cache import MOST_COLUMNS, OutcomeCache
from penstock.operators.joins.join_tuner import CacheTuner, JoinTuner
from penstock.operators.scalars import compile_conjuncts, compile_filter
from penstock.synopsis.deltas import Bools
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints

#: Rows of which columns are computed at a time where no function is called.
MANY = 1 << 16


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

    @property
    def budget(self) -> float:
        """Returns the part of the time of filters that profiles may take."""

    @property
    def outcome_memory(self) -> int:
        """Returns the bytes that a join's conjunct may take to remember its outcomes; 0 is not to."""

    def tuner(self, name: str, filters: tuple[str, ...]) -> FilterTuner:
        """Returns the tuner of the filters of this name, given as they are written."""

    def join_tuner(self, name: str, inputs: tuple[str, ...]) -> JoinTuner | None:
        """Returns the tuner of the join of this name, of inputs that are called so."""

    def cache_tuner(self, name: str, inputs: tuple[str, ...]) -> CacheTuner | None:
        """Returns the tuner of that join's subresult caches; None if it has none."""


class MeasuredFilters(Protocol):
    """Filters that metrics report."""

    @property
    def name(self) -> str:
        """Returns their name among all of a run that are tuned."""

    @property
    def tuner(self) -> FilterTuner | None:
        """Returns what orders them."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Returns the filters as they are written."""

    @property
    def order(self) -> FilterOrder:
        """Returns the order in which they are evaluated; empty where there is no choice."""

    def retune(self, tuning: Tuning) -> None:
        """Lets another tuner order them from now on."""

    def evaluations(self) -> dict[str, int]:
        """Returns on how many rows each filter was evaluated, in the current order, since the start."""


class Filters:
    """The conjuncts of a predicate over rows of a schema, by `name` among all of a run that are tuned.

    `tally` counts where user functions failed and gave NULL.
    """

    def __init__(
        self,
        exprs: Sequence[Expr],
        schema: Schema,
        tuning: Tuning | None = None,
        name: str = "filters",
        tally: Tally | None = None,
        outcome_memory: int = 0,
    ) -> None:
        """`outcome_memory`: the bytes that each conjunct which calls functions may take to remember its outcomes."""
        found = Conjuncts.of(exprs, schema)
        self._cheap = FusedFilter(found.cheap, schema) if found.cheap else None
        # Those that find no place in a profile tuple are one filter.
        alone = found.dear[: MOST_FILTERS - 2]
        groups = [*filter(None, [found.computed]), *((expr,) for expr in alone)]
        groups += filter(None, [found.dear[len(alone) :]])
        #: The filters that are ordered, as they are written.
        self.texts = tuple(expression_text(conjunction(group)) for group in groups)
        self._filters = [_filter(group, schema, outcome_memory) for group in groups]
        #: On how many rows the only filter is evaluated at a time.
        self._at_a_time = 2 * CHUNK if any(map(calls_user, found.dear)) else MANY
        self._tally = tally or Tally()
        self.chain: FilterChain | None = None
        self.name = name
        self.tuner: FilterTuner | None = None
        if len(groups) > 1:
            sampling = (tuning.probability, tuning.budget) if tuning else (0.0, 0.0)
            self.chain = FilterChain(self._filters, *sampling, tally=self._tally)
            self.tuner = tuning.tuner(name, self.texts) if tuning else None
            if self.tuner is not None:
                self.tuner.adopt(self.chain)

    @property
    def order(self) -> FilterOrder:
        """Returns the order in which they are evaluated; empty where there is no choice."""
        return () if self.chain is None else self.chain.order

    def retune(self, tuning: Tuning) -> None:
        """Lets another tuner order them from now on."""
        if self.chain is not None:
            self.chain.sample(tuning.probability, tuning.budget)
            self.tuner = tuning.tuner(self.name, self.texts)
            self.tuner.adopt(self.chain)

    def evaluations(self) -> dict[str, int]:
        """Returns on how many rows each filter was evaluated that is ordered, in the current order, since the start."""
        if self.chain is None:
            return {}
        return {self.texts[number]: int(self.chain.evaluations[number]) for number in self.chain.order}

    def passing(self, columns: Columns, dictionary: Dictionary) -> Bools:
        """Returns which rows pass all filters: where no conjunct is false or NULL."""
        passes = self._cheap.passing(columns, dictionary) if self._cheap else None
        if not self._filters:
            return np.ones(len(columns), np.bool_) if passes is None else passes
        rows = None if passes is None else np.flatnonzero(passes)
        if rows is not None and not len(rows):
            return np.zeros(len(columns), np.bool_)
        if self.chain is not None:
            return self.chain.passing(columns, dictionary, rows, self.tuner.between if self.tuner else None)
        return self._passing_one(columns, dictionary, rows)

    def _passing_one(self, columns: Columns, dictionary: Dictionary, rows: Ints | None) -> Bools:
        """Returns which rows pass the only filter. Objects that are made for functions stay in the caches."""
        passes = np.zeros(len(columns), np.bool_)
        count = len(columns) if rows is None else len(rows)
        for start in range(0, count, self._at_a_time):
            stop = min(start + self._at_a_time, count)
            some = np.arange(start, stop) if rows is None else rows[start:stop]
            outcome = self._filters[0](columns, some, dictionary)
            # No other filter can drop the rows on which it fails.
            for error in outcome.errors.values():
                raise error()
            self._tally.add(outcome.nulled)
            passes[some[outcome.true]] = True
        return passes

    def undropped(self, columns: Columns, dictionary: Dictionary) -> tuple[Bools, bool]:
        """Returns which rows no filter drops, and whether all of these pass: then no function failed on any."""
        kept = self._cheap.passing(columns, dictionary) if self._cheap else np.ones(len(columns), np.bool_)
        is_all = True
        for each in self._filters:
            rows = np.flatnonzero(kept)
            if not len(rows):
                break
            outcome = each(columns, rows, dictionary)
            stays, failed = outcome.true.copy(), [*outcome.errors]
            stays[failed] = True
            if outcome.nulled is not None:
                stays |= outcome.nulled > 0
            is_all = is_all and not failed and (outcome.nulled is None or not outcome.nulled.any())
            kept[rows] = stays
        return kept, is_all


def _block(exprs: Sequence[Expr], schema: Schema) -> Filter:
    """Returns the filter of conjuncts that cannot fail."""
    holds = compile_filter(exprs, schema)
    return lambda columns, rows, dictionary: Outcome(holds(columns, dictionary, rows))


def _filter(exprs: Sequence[Expr], schema: Schema, memory: int) -> Filter:
    """Returns the filter of conjuncts, of which a user function may fail."""
    if not any(map(calls_user, exprs)):
        return _block(exprs, schema)
    conjuncts = compile_conjuncts(exprs, schema)

    def evaluate(columns: Columns, rows: Ints | None, dictionary: Dictionary) -> Outcome:
        true, failures, nulled = conjuncts(columns, dictionary, rows)
        return Outcome(true, failures.errors() if failures else {}, nulled)

    read = [place for place, column in enumerate(schema) if any(column in columns_of(expr) for expr in exprs)]
    return OutcomeCache(evaluate, read, memory) if memory and len(read) <= MOST_COLUMNS else evaluate
