"""The progress chart of a path of operators, its lower envelope, and the chains that it cuts the path into.

A row that has gone through operators for some time has shrunk to some size, on average: the product of selectivities.

    size 1 ●──╮ O1
           │   ╲                    the lower envelope goes from the start of each chain to the point that is
       0.9 │    ●━━━━● O2           steepest below: O1 alone would be flat, O1 to O3 together are not,
           │          ╲             so these three are one chain
         0 ┼───────────● O3
                              time
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from penstock.errors import PenstockError


@dataclass(frozen=True, slots=True)
class Operator:
    """What was measured of an operator: its time for a row that comes to it, and how many rows leave it for one."""

    name: str
    time: float
    selectivity: float

    def __post_init__(self) -> None:
        if not self.time > 0 or not self.selectivity >= 0:
            raise PenstockError(f"{self.name} takes {self.time} and passes {self.selectivity}", "measure it again")


@dataclass(frozen=True, slots=True)
class Chain:
    """Consecutive operators, from `first` to before `end`, and by how much they shrink a row per unit of time."""

    first: int
    end: int
    slope: float


@dataclass(frozen=True, slots=True)
class ProgressChart:
    """Operators in the order of a row's path. Sizes and times are those of one row that enters it.

    >>> chart = ProgressChart((Operator("O1", 1, 0.9), Operator("O2", 1 / 0.9, 1), Operator("O3", 1 / 0.9, 0)))
    >>> [(round(time, 3), size) for time, size in chart.points]
    [(0.0, 1.0), (1.0, 0.9), (2.0, 0.9), (3.0, 0.0)]
    >>> [(chain.first, chain.end, round(chain.slope, 3)) for chain in chart.chains]
    [(0, 3, 0.333)]
    """

    operators: tuple[Operator, ...]

    def __post_init__(self) -> None:
        if not self.operators:
            raise PenstockError("a path has no operator", "give at least one")

    @property
    def sizes(self) -> tuple[float, ...]:
        """Returns what is left of a row before each operator, and at the end."""
        return tuple(accumulate((each.selectivity for each in self.operators), lambda a, b: a * b, initial=1.0))

    @property
    def times(self) -> tuple[float, ...]:
        """Returns the time that each operator takes for what is left of a row."""
        return tuple(size * each.time for size, each in zip(self.sizes, self.operators, strict=False))

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """Returns the points of the chart: the time after each operator, and the size then."""
        return tuple(zip(accumulate(self.times, initial=0.0), self.sizes, strict=True))

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Returns the chains: from each start the block that shrinks a row fastest, the longest of several."""
        points = self.points
        found: list[Chain] = []
        start = 0
        while start < len(self.operators):
            slope, end = max((_slope(points[start], points[end]), end) for end in range(start + 1, len(points)))
            found.append(Chain(start, end, slope))
            start = end
        return tuple(found)


def _slope(start: tuple[float, float], end: tuple[float, float]) -> float:
    """Returns by how much a row shrinks per unit of time; without time at once, or not at all."""
    shrinks, time = start[1] - end[1], end[0] - start[0]
    if time > 0:
        return shrinks / time
    return float("inf") if shrinks > 0 else 0.0


def measured_chart(measures: Sequence[tuple[str, int, int, int]]) -> ProgressChart:
    """Returns the chart of operators of which rows in, rows out and nanoseconds were measured, in their order.

    They may be bytes as well. What consumed nothing yet is taken to pass all rows in a nanosecond.

    >>> measured_chart([("scan1", 1000, 200, 50_000), ("join2", 0, 0, 0)]).operators
    (Operator(name='scan1', time=50.0, selectivity=0.2), Operator(name='join2', time=1.0, selectivity=1.0))
    """
    return ProgressChart(
        tuple(
            Operator(name, max(0.001, took / rows_in), rows_out / rows_in) if rows_in else Operator(name, 1.0, 1.0)
            for name, rows_in, rows_out, took in measures
        )
    )
