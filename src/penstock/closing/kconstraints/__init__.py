"""k-constraints on join graphs: which synopsis components a windowed stream join needs, and how large they get.

The theory of thesis chapter 6 (k-Mon) and of its online appendix (000), over values of its own: streams, equality
joins, and the constraints RIDS(k), CA(k) and OA(k), in rows or in time. `bounded_components` says of the Yes, No and
Unknown component of a stream whether it is empty or bounded, with proof. What an unbounded component lacks, input that
defeats every plan, and how rows are to be handled are oracles of the tests, in `tests/reference/kconstraints/`.

Bids refer to items, and the item of a bid comes at most 100 items after the bid. Bidding ends an hour after its item:

>>> bid = ConstrainedStream("bid", ("auction", "price"), rate=Rate(most=1000))
>>> item = ConstrainedStream("item", ("id", "seller"), keys=(frozenset({"id"}),), rate=Rate(most=10, least=1))
>>> join = JoinEquality(JoinAttribute("bid", "auction"), JoinAttribute("item", "id"))
>>> in_time = Rids("bid", ("auction",), "item", ("id",), RowCount(100))
>>> ends = Rids("item", ("id",), "bid", ("auction",), TimeSpan(3_600_000_000))
>>> components = bounded_components(ConstrainedJoin((bid, item), (join,), (in_time, ends)))
>>> print(components("bid")[Component.UNKNOWN])
the rows of bid that arrive during 100 rows of item: at most 101000
>>> print(components("item")[Component.YES])
the rows of item that arrive during 1 h: at most 36010
>>> components("item")[Component.YES].proof.leans_on == (ends,)
True

Without the second constraint a bid for an item may come at any time, so that nothing bounds the items:

>>> bounded_components(ConstrainedJoin((bid, item), (join,), (in_time,)))("item") is None
True
"""

from __future__ import annotations

from penstock.closing.join_predicates import JoinAttribute, JoinEquality
from penstock.closing.kconstraints.components import bounded_components
from penstock.closing.kconstraints.streams import (
    ArrivalConstraint,
    ClusteredArrival,
    ConstrainedJoin,
    ConstrainedStream,
    Extent,
    JoinOutput,
    OrderedArrival,
    Rate,
    Rids,
    RowCount,
    StreamClock,
    TimeSpan,
)
from penstock.closing.kconstraints.verdicts import (
    BoundedComponent,
    Component,
    ComponentBound,
    ComponentKind,
    EmptyComponent,
)
from penstock.closing.kconstraints.waits import After, Lapse, Passed

__all__ = [
    "After",
    "ArrivalConstraint",
    "BoundedComponent",
    "ClusteredArrival",
    "Component",
    "ComponentBound",
    "ComponentKind",
    "ConstrainedJoin",
    "ConstrainedStream",
    "EmptyComponent",
    "Extent",
    "JoinAttribute",
    "JoinEquality",
    "JoinOutput",
    "Lapse",
    "OrderedArrival",
    "Passed",
    "Rate",
    "Rids",
    "RowCount",
    "StreamClock",
    "TimeSpan",
    "bounded_components",
]
