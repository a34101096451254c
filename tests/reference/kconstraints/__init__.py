"""Oracles of the theory of k-constraints: what follows from an analysis, written out to be checked (thesis, chapter 6).

The theory itself is `penstock.closing.kconstraints`, which says what is bounded, and why. Here is the rest of the
chapter: minimal covers, what a run time may do with each row, and for components that nothing bounds, what would
bound them and input that defeats every plan. Only public parts of the theory are used.

>>> from penstock.closing.join_predicates import JoinAttribute, JoinEquality
>>> from penstock.closing.kconstraints import ConstrainedJoin, ConstrainedStream, Rids, RowCount
>>> bid = ConstrainedStream("bid", ("auction", "price"))
>>> item = ConstrainedStream("item", ("id", "seller"), keys=(frozenset({"id"}),))
>>> join = JoinEquality(JoinAttribute("bid", "auction"), JoinAttribute("item", "id"))
>>> in_time = Rids("bid", ("auction",), "item", ("id",), RowCount(100))
>>> analysis = analyse(ConstrainedJoin((bid, item), (join,), (in_time,)))
>>> analysis.is_bounded
False
>>> print(analysis["item"].yes)
rows without end: a row of bid that joins with a row of item may come at any time
>>> for remedy in analysis["item"].yes.remedies:
...     print(remedy)
(WantWindow(stream='item'),)
(WantRids(stream='item', columns=('id',), target='bid', target_columns=('auction',)),)
(WantOrdered(stream='bid', column='auction'),)
"""

from tests.reference.kconstraints.advice import Lack, Want, WantOrdered, WantRids, WantWindow
from tests.reference.kconstraints.analysis import Analysis, StreamComponent, StreamVerdict, analyse
from tests.reference.kconstraints.covers import MinCovers, min_covers
from tests.reference.kconstraints.handling import Handling, Stored
from tests.reference.kconstraints.shapes import Shape, is_many_many, shape
from tests.reference.kconstraints.unbounded import Unbounded
from tests.reference.kconstraints.witness import Row, Witness

__all__ = [
    "Analysis",
    "Handling",
    "Lack",
    "MinCovers",
    "Row",
    "Shape",
    "Stored",
    "StreamComponent",
    "StreamVerdict",
    "Unbounded",
    "Want",
    "WantOrdered",
    "WantRids",
    "WantWindow",
    "Witness",
    "analyse",
    "is_many_many",
    "min_covers",
    "shape",
]
