"""Runs of thesis 4.7: the query over windows as filters, ordered by a strategy, and what it cost.

Costs are probes, so they do not depend on the machine: a filter of cost c counts for c of them. They are weighed here;
the operator evaluates each filter once. Seconds are CPU time in the operator and in its tuner, without reading rows and
sliding windows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from measured import pieces

from penstock.adaptive.filters.filter_tuner import FilterTuner
from penstock.adaptive.filters.profile_window import ProfileWindow
from penstock.adaptive.filters.statistics import FilterStatistics, OrderingStrategy
from penstock.engines.embedded import EmbeddedEngine
from penstock.operators.filters.filter_chain import BUDGET
from penstock.operators.filters.pipelined import PipelinedFiltersOperator
from penstock.operators.filters.profile import FilterOrder, OrderedFilters, ProfileRequest
from penstock.plan.adaptivity import Adaptive
from penstock.sql import bind_text
from penstock.synopsis.deltas import Deltas
from penstock.workloads import filters as data

#: Rows of all streams that are pushed at once.
PUSHED = 1 << 15
#: Rows below which a chunk is no point of a timeline.
SHOWN = 1 << 9
Costs = tuple[float, ...]


@dataclass(slots=True)
class FilterRun:
    """What filters cost: probes in all, those of them that only profiled, and CPU time by component."""

    rows: int = 0
    probes: float = 0.0
    profiling: float = 0.0
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COMPONENTS, 0.0))
    #: After each chunk, rows so far and probes since the one before.
    timeline: list[tuple[float, float]] = field(default_factory=list)

    def add(self, other: FilterRun) -> None:
        """Adds what another run cost."""
        self.rows += other.rows
        self.probes += other.probes
        self.profiling += other.profiling
        self.seconds = {name: spent + other.seconds[name] for name, spent in self.seconds.items()}

    @property
    def probes_per_row(self) -> float:
        return self.probes / self.rows

    @property
    def rows_per_second(self) -> float:
        return self.rows / sum(self.seconds.values())


#: The lines of table 4.2: rows and profile tuples, which a kernel judges at once, are told apart by their probes.
COMPONENTS = ("rows and profile tuples", "profile window", "view and violations")


class ThesisTuner:
    """A strategy as the thesis has it: without a drift test, a plan log or intervals."""

    def __init__(self, strategy: OrderingStrategy, costs: Costs, window: int) -> None:
        self._strategy, self._costs = strategy, costs
        self._window = ProfileWindow(len(costs), window)
        self.seconds = dict.fromkeys(COMPONENTS[1:], 0.0)

    def adopt(self, chain: OrderedFilters) -> None:
        order = tuple(range(len(self._costs)))
        wanted = self._strategy.wanted(order)
        chain.use(order, replace(wanted, at_once=0))

    def between(self, chain: OrderedFilters) -> None:
        start = time.process_time()
        profile = chain.profile()
        self._window.add(profile.samples)
        added = time.process_time()
        choice = self._strategy.choose(FilterStatistics(profile.order, self._window, self._costs))
        if choice is not None:
            chain.use(choice.order, choice.wanted)
            if choice.forgets:
                self._window.clear()
        self.seconds["profile window"] += added - start
        self.seconds["view and violations"] += time.process_time() - added


class OwnTuner:
    """The tuner of this engine, told the costs of filters."""

    def __init__(self, costs: Costs) -> None:
        self._tuner, self._costs = FilterTuner([f"F{number}" for number in range(len(costs))], Adaptive()), costs
        self.seconds = dict.fromkeys(COMPONENTS[1:], 0.0)

    def adopt(self, chain: OrderedFilters) -> None:
        self._tuner.adopt(chain)

    def between(self, chain: OrderedFilters) -> None:
        start = time.process_time()
        choice = self._tuner.decide(replace(chain.profile(), costs=np.array(self._costs)))
        if choice is not None:
            chain.use(choice.order, choice.wanted)
        self.seconds["view and violations"] += time.process_time() - start


class Clairvoyant:
    """Knows the best order of each phase, and profiles nothing. One phase is the optimum of an offline search."""

    def __init__(self, words: data.Ints, period: int, costs: Costs) -> None:
        phases = [words[start : start + period] for start in range(0, len(words), period)]
        self._orders = [data.best_order(phase, costs) for phase in phases]
        self._period, self._at = period, 0
        self.seconds = dict.fromkeys(COMPONENTS[1:], 0.0)

    def adopt(self, chain: OrderedFilters) -> None:
        chain.use(self._orders[0], ProfileRequest())

    def between(self, chain: OrderedFilters) -> None:
        self._at += int(chain.profile().entered[0])
        chain.use(self._orders[min(self._at // self._period, len(self._orders) - 1)], ProfileRequest())


Tuner = ThesisTuner | OwnTuner | Clairvoyant


def run_filters(
    words: data.Ints, costs: Costs, tuner: Tuner, probability: float, measured_from: int = 0, seed: int = 7
) -> FilterRun:
    """Runs the query over rows of these words. What comes before `measured_from` is not counted."""
    count = len(costs)
    bound = bind_text(data.script(count)).checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog)
    (operator,) = engine._machines[0][0].pipelined_filters
    operator.tune(tuner, probability, BUDGET if isinstance(tuner, OwnTuner) else inf)
    found = FilterRun()
    _measure(operator, found, tuner, costs, measured_from)
    tables = data.tables(words, count, np.random.default_rng(seed))
    for _, piece in pieces(tables, PUSHED):
        for stream, batch in piece.items():
            engine.push(stream, batch)
        engine.advance()
    engine.finish()
    return found


def _measure(
    operator: PipelinedFiltersOperator, found: FilterRun, tuner: Tuner, costs: Sequence[float], measured_from: int
) -> None:
    """Counts what each chunk costs, around the operator's own call."""
    judge: Callable[[Deltas], Deltas] = operator._passing
    weights, seen = np.array(costs), 0

    def measured_chunk(deltas: Deltas) -> Deltas:
        nonlocal seen
        order: FilterOrder = operator.order
        before, entered = operator.evaluated.copy(), operator._entered.copy()
        start = time.process_time()
        passing = judge(deltas)
        seconds = time.process_time() - start
        probes = weights @ (operator.evaluated - before)
        needed = weights[list(order)] @ (operator._entered - entered)
        seen += len(deltas)
        if len(deltas) >= SHOWN:
            found.timeline.append((float(seen), float(probes) / len(deltas)))
        if seen > measured_from:
            found.rows += len(deltas)
            found.probes += float(probes)
            found.profiling += float(probes - needed)
            found.seconds[COMPONENTS[0]] += seconds
            for component, spent in tuner.seconds.items():
                found.seconds[component] += spent
        tuner.seconds.update(dict.fromkeys(tuner.seconds, 0.0))
        return passing

    operator._passing = measured_chunk  # type: ignore[method-assign]
