"""OA(k) on a joined column: a guard that ends when the ordered stream gets there (6.8).

Once k rows have come after a row with value a, no smaller value than a can follow. So a row of X whose value Y has
passed gets no more partner from Y: OAC(k) if Y is the child, OAP(k) if it is the parent. Unlike RIDS(k) this bounds
nothing by itself, because X may run ahead of Y as far as it likes: what is kept are the rows that Y has not passed yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.kconstraints.join_graph import JoinGraph
from penstock.closing.kconstraints.rids import ArrivalGuard
from penstock.closing.kconstraints.streams import OrderedArrival, TimeSpan
from penstock.closing.kconstraints.waits import Passed


def ordered(graph: JoinGraph) -> Iterator[OrderedArrival]:
    """Orders are declared, or those of time columns: no row arrives later than its stream's delay allows."""
    for constraint in graph.query.constraints:
        if isinstance(constraint, OrderedArrival):
            yield constraint
    for stream in graph.query.streams:
        if stream.clock is not None:
            yield OrderedArrival(stream.name, stream.clock.attribute, TimeSpan(stream.clock.delay))


def ordered_guards(graph: JoinGraph) -> Iterator[ArrivalGuard]:
    """An ordered column of Y gives a guard X ⇝ Y for each stream X that is joined with it."""
    for order in ordered(graph):
        column = JoinAttribute(order.stream, order.column)
        number = graph.classes.get(column)
        for other in graph.neighbours[order.stream]:
            if number in graph.shared(order.stream, other):
                yield ArrivalGuard(other, order.stream, Passed(column, order.within), order)
