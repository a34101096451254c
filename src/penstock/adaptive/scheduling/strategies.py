"""Strategies of scheduling: of the batches that wait before operators, which goes through its next operator?

All of them keep the order of batches before one operator. FIFO takes a batch through all operators before the next;
greedy prefers the operator that shrinks what waits fastest; Chain the chain that does (thesis 2.3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from penstock.adaptive.scheduling.progress_chart import ProgressChart


class Scheduling(Enum):
    FIFO = "fifo"
    GREEDY = "greedy"
    CHAIN = "chain"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A batch that waits: its place in the order of arrival, and the operator that it waits for."""

    arrival: int
    operator: int


@dataclass(frozen=True, slots=True)
class MeasuredPath:
    """A path of a row through operators, by their numbers, and the chart that was measured of it.

    Paths of several streams may share operators.
    """

    operators: tuple[int, ...]
    chart: ProgressChart


#: Chooses among batches that wait, of which there is at least one.
Strategy = Callable[[Sequence[Waiting]], Waiting]


def strategy_of(scheduling: Scheduling, chart: ProgressChart) -> Strategy:
    """Returns the strategy for operators of which that chart was measured.

    >>> from penstock.adaptive.scheduling.progress_chart import Operator
    >>> chart = ProgressChart((Operator("O1", 1, 0.9), Operator("O2", 1, 1), Operator("O3", 1, 0)))
    >>> waiting = [Waiting(0, 1), Waiting(1, 0)]
    >>> [strategy_of(each, chart)(waiting).operator for each in Scheduling]
    [1, 0, 1]
    """
    return strategy_of_paths(scheduling, [MeasuredPath(tuple(range(len(chart.operators))), chart)])


def strategy_of_paths(scheduling: Scheduling, paths: Sequence[MeasuredPath]) -> Strategy:
    """Returns the strategy for paths that may share operators: each has the steepest of its slopes."""
    if scheduling is Scheduling.FIFO:
        return lambda waiting: min(waiting, key=lambda batch: batch.arrival)
    slopes_of = _operator_slopes if scheduling is Scheduling.GREEDY else _chain_slopes
    slopes: dict[int, float] = {}
    for path in paths:
        for operator, slope in zip(path.operators, slopes_of(path.chart), strict=True):
            slopes[operator] = max(slope, slopes.get(operator, slope))
    return lambda waiting: min(waiting, key=lambda batch: (-slopes[batch.operator], batch.arrival))


def _operator_slopes(chart: ProgressChart) -> list[float]:
    """Returns by how much each operator alone shrinks what it is given, per unit of time."""
    return [
        (before - after) / time if time else 0.0
        for before, after, time in zip(chart.sizes, chart.sizes[1:], chart.times, strict=False)
    ]


def _chain_slopes(chart: ProgressChart) -> list[float]:
    """Returns the slope of the chain that each operator is in."""
    return [chain.slope for chain in chart.chains for _ in range(chain.first, chain.end)]
