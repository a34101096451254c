"""RIDS(k): a guard that ends by itself (6.6).

A *guard* X ⇝ Y says from when on no further row of Y will join a given row x of X. With RIDS(k) from X to Y that is
after k more rows of Y, or that time. On a many-one join it is the child that comes in time, so rows do not stay
Unknown; against the arrow it is the parents, so rows do not stay Yes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.kconstraints.join_graph import JoinGraph
from penstock.closing.kconstraints.streams import Extent, Rids, RowCount
from penstock.closing.kconstraints.waits import Fact, Lapse, SameClock, WaitStep, step_within


@dataclass(frozen=True, slots=True)
class ArrivalGuard:
    """After `step`, counted from the arrival of a row of `stream`, no more row of `target` joins with it."""

    stream: str
    target: str
    step: WaitStep
    fact: Fact


def rids_guards(graph: JoinGraph) -> Iterator[ArrivalGuard]:
    """Every declared RIDS constraint whose columns the query joins is a guard."""
    for constraint in graph.query.constraints:
        if isinstance(constraint, Rids) and constraint.stream != constraint.target and _is_joined(graph, constraint):
            step = step_within(constraint.target, _between_occurrences(graph, constraint))
            yield ArrivalGuard(constraint.stream, constraint.target, step, constraint)


def clock_guards(graph: JoinGraph) -> Iterator[ArrivalGuard]:
    """Where time columns are joined, partners tell one time t and arrive from t to t + delay: RIDS(delay)."""
    clocks = {
        stream.name: (JoinAttribute(stream.name, stream.clock.attribute), stream.clock.delay)
        for stream in graph.query.streams
        if stream.clock is not None
    }
    for earlier, (column, _) in clocks.items():
        for later, (other, delay) in clocks.items():
            joined = column in graph.classes and graph.classes[column] == graph.classes.get(other)
            if earlier != later and joined:
                yield ArrivalGuard(earlier, later, Lapse(delay), SameClock(column, other, delay))


def _between_occurrences(graph: JoinGraph, constraint: Rids) -> Extent:
    """The guard waits for k rows; between occurrences of one stream for k + 1, as a row may reach one of them first."""
    stream, target = graph.stream(constraint.stream), graph.stream(constraint.target)
    if isinstance(constraint.within, RowCount) and stream.counted_as == target.counted_as:
        return RowCount(constraint.within.n + 1)
    return constraint.within


def _is_joined(graph: JoinGraph, constraint: Rids) -> bool:
    """Say whether rows that join agree on the columns of the constraint."""
    unjoined = object()
    return all(
        graph.classes.get(JoinAttribute(constraint.stream, name), unjoined)
        == graph.classes.get(JoinAttribute(constraint.target, other))
        for name, other in zip(constraint.columns, constraint.target_columns, strict=True)
    )
