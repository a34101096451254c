"""Partial aggregates that are kept with buckets, for an aggregate of columns that nothing else reads (002).

A bucket's rows are alike in all that the query reads of them one by one. What SUM, COUNT, AVG, MIN or MAX reads only
together is added up as they come. Sums are exact, as those of groups are, so it does not matter in which order rows
came, nor how they were cut into buckets and cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.algebra.expressions import Expr
from penstock.algebra.relations import Schema
from penstock.kernels import aggregation, exact
from penstock.kernels.aggregation import STATE_WIDTHS
from penstock.kernels.totals import Results, Totals, match_totals, single_rows, weigh_singles, weigh_totals
from penstock.operators.groups.aggregate import AggregationSpec, InputShape, accumulators, wide_arguments
from penstock.operators.projection import Projection, projection
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.dictionary import Dictionary, Marks
from penstock.synopsis.memory import Ints, Memory
from penstock.synopsis.store import RowStore

#: Inputs, slots and weights of events in the order of time, the inputs' counters, and the next event.
WeighedEvents = tuple[Ints, Ints, Ints, Ints, Ints]


@dataclass(frozen=True, slots=True)
class Summed:
    """An aggregate of the rows of one input of a join."""

    input: int
    spec: AggregationSpec
    argument: Expr


@dataclass(frozen=True, slots=True)
class _Arguments:
    """How the rows of one input become partial aggregates."""

    project: Projection
    specs: tuple[AggregationSpec, ...]
    shape: InputShape
    plan: Ints


class BucketTotals:
    """The totals of all buckets of a join. Its results have their partial aggregates behind the columns of each row."""

    def __init__(
        self, memory: Memory, name: str, summed: Sequence[Summed], schemas: Sequence[Schema], dictionary: Dictionary
    ) -> None:
        self._memory, self._name, self._dictionary = memory, name, dictionary
        self._inputs = sorted({each.input for each in summed})
        self._places = np.full(len(schemas), -1, np.int64)
        self._places[self._inputs] = np.arange(len(self._inputs))
        self._arguments = {n: _arguments([s for s in summed if s.input == n], schemas[n]) for n in self._inputs}
        self._state_width = max(_width(arguments.specs) for arguments in self._arguments.values())
        self._lines, self._width = self._layout(summed)
        #: At which word of a result's partial aggregates each of them begins.
        self.words: tuple[int, ...] = tuple(line[-1] for line in self._lines.tolist())
        self._doubles = int((self._lines[:, 1] == aggregation.DOUBLE).sum())
        self._has_ranks = bool((self._lines[:, 2] == aggregation.BY_RANK).any())
        #: The digits of partial sums of the last step that do not fit their windows.
        self.spilt: Ints = np.zeros((1, exact.POOL_WIDTH), np.int64)

    def singles(self, number: int, rows: Ints) -> Ints:
        """The partial aggregates of rows of an input, each by itself; none of an input that has no totals."""
        out = np.zeros((len(rows), self._state_width), np.int64)
        arguments = self._arguments.get(number)
        if arguments is not None and len(rows):
            own = np.ascontiguousarray(arguments.project(rows, self._dictionary))
            wide = wide_arguments(own, arguments.specs, arguments.shape, self._dictionary)
            single_rows(own, wide, arguments.plan, self._ranks(), out, self.spilt)
        return out

    def weighed(
        self, events: WeighedEvents, found: Ints, by: Ints, singles: Ints, capacity: int, *, ends: bool
    ) -> tuple[Ints, Ints]:
        """How often each combination is found (`kernels.buckets.weigh`), and its partial aggregates."""
        copies, results = np.empty(len(by), np.int64), self._results(len(by))
        weigh_totals(*events, found, by, self._totals(singles, capacity), copies, results, ends)
        return copies, results.rows

    def shown(
        self, wants_match: bool, left: Deltas, slots: Ints, matches: Deltas, state: Ints, alone: Deltas, store: RowStore
    ) -> Deltas:
        """What shows of a semi-join or anti-join (`kernels.matching.match`), and rows that show as they come.

        `left` are the rows that came and have buckets, in these slots.
        """
        ts = np.concatenate((left.ts, matches.ts))
        kinds = np.repeat(np.array([0, 1], np.int64), (len(left), len(matches)))
        order = np.argsort(ts, kind="stable")
        weights = np.concatenate((left.weight, matches.weight))[order]
        events = (ts[order], kinds[order], weights, np.concatenate((slots, matches.rows[:, 0]))[order])
        most = 2 * len(ts)
        times, copies, places, touched = (np.empty(most, np.int64) for _ in range(4))
        results = self._results(most + len(alone))
        totals = self._totals(self.singles(0, left.rows), store.capacity)
        count = match_totals(wants_match, *events, state, totals, times, copies, places, results, touched)
        weigh_singles(alone.weight, totals._replace(singles=self.singles(0, alone.rows)), results, count)
        rows = np.concatenate((store.whole(places[:count]), alone.rows))
        partials = results.rows[: count + len(alone)]
        return Deltas(
            np.concatenate((times[:count], alone.ts)),
            np.concatenate((copies[:count], alone.weight)),
            np.concatenate((rows, partials), axis=1),
        ).in_order()

    def mark(self, marks: Marks) -> None:
        """Marks the codes of extremes, which are 0 as long as there is none."""
        rows = self._memory.array(f"{self._name}.totals", 0, self._state_width)
        for _, family, order, _, state, _ in self._lines.tolist():
            if family == aggregation.EXTREME and order == aggregation.BY_RANK:
                marks.add(np.ascontiguousarray(rows[:, state + 1]))

    def _layout(self, summed: Sequence[Summed]) -> tuple[Ints, int]:
        following = {n: iter(arguments.plan) for n, arguments in self._arguments.items()}
        lines, width = [], 0
        for each in summed:
            own = next(following[each.input])
            family, order, finish = (own[c] for c in (aggregation.FAMILY, aggregation.ORDER, aggregation.FINISH))
            lines.append((each.input, family, order, finish, own[aggregation.STATE], width))
            width += STATE_WIDTHS[family]
        return np.array(lines, np.int64), width

    def _totals(self, singles: Ints, capacity: int) -> Totals:
        """A bucket has at most one row of digits for each sum of DOUBLEs."""
        rows = self._memory.array(f"{self._name}.totals", capacity * len(self._inputs), self._state_width)
        pool = self.spilt
        if self._doubles:
            pool = self._memory.array(f"{self._name}.digits", len(rows) * self._doubles + 1, exact.POOL_WIDTH)
        return Totals(self._lines, self._places, len(self._inputs), rows, pool, singles, self._ranks())

    def _results(self, count: int) -> Results:
        """Pages of digits are had when they are written, which is seldom."""
        self.spilt = np.zeros((count * self._doubles + 1, exact.POOL_WIDTH), np.int64)
        return Results(np.zeros((count, self._width), np.int64), self.spilt)

    def _ranks(self) -> Ints:
        ranks = self._dictionary.ranks() if self._has_ranks else np.zeros(0, np.int64)
        return np.require(ranks, np.int64, ["C", "W"])


def _arguments(summed: Sequence[Summed], schema: Schema) -> _Arguments:
    specs = tuple(each.spec for each in summed)
    shape = InputShape.of_rows(0, specs)
    plan, _ = accumulators(specs, [_family(spec) for spec in specs], shape, 0)
    return _Arguments(projection(tuple(each.argument for each in summed), schema), specs, shape, plan)


def _width(specs: Sequence[AggregationSpec]) -> int:
    return sum(STATE_WIDTHS[_family(spec)] for spec in specs)


def _family(spec: AggregationSpec) -> int:
    """Of MIN and MAX there are totals only where no row ever goes."""
    return aggregation.EXTREME if spec.family == aggregation.ORDERED else spec.family
