"""CA(k) on joined columns: evidence that no more parents come, once there was one (6.7).

After the first row with a value and k + 1 rows with other values the value does not come again. At most k + 1 values
are open at a time: after the first row of the oldest came one of each other, and those are at most k. But a row to
which nothing has referred yet waits for its first parent without end. So CA(k) reduces state and never bounds it.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.kconstraints.join_graph import JoinGraph
from penstock.closing.kconstraints.streams import ClusteredArrival, RowCount


def clustered_evidence(graph: JoinGraph, stream: str, partner: str) -> Iterator[ClusteredArrival]:
    """The CA constraints of `partner` whose columns are all joined with `stream`: a closed value closes its rows."""
    joined = graph.shared(stream, partner)
    for constraint in graph.query.constraints:
        if isinstance(constraint, ClusteredArrival) and constraint.stream == partner:
            numbers = [graph.classes.get(JoinAttribute(partner, name)) for name in constraint.columns]
            if all(number in joined for number in numbers):
                yield constraint


def most_referred(graph: JoinGraph, stream: str, constraint: ClusteredArrival) -> int | None:
    """How many rows of `stream` have an open cluster of partners, if each value is that of one row."""
    numbers = frozenset(graph.classes[JoinAttribute(constraint.stream, name)] for name in constraint.columns)
    own = graph.attributes(stream, numbers)
    is_one_row = any(key <= own for key in graph.stream(stream).keys)
    return constraint.within.n + 1 if isinstance(constraint.within, RowCount) and is_one_row else None
