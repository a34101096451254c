"""Aggregates over sliding windows keep partial aggregates, not rows.

The ends of a window `[RANGE w SLIDE m]` cut time into panes, at most two per slide: all rows of a pane come at one
instant and go at another. Who needs only aggregates of the window's rows can have them from one partial aggregate per
group and pane (Li et al. 2005: No Pane, No Gain; Krishnamurthy et al. 2006 have panes for any w and m).
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.algebra.expressions import require
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Aggregate, Range, Relation, Schema, WindowSpec

#: A window whose range has more slides than these has rows that are often alone in their panes: then rows are stored.
MOST_SLIDES = 1000


@dataclass(frozen=True, slots=True)
class Panes(Relation):
    """What a sliding window holds, as an aggregate sees it: by pane and group."""

    scan: Scan

    def __post_init__(self) -> None:
        require(has_panes(self.scan.spec), "only rows of a window that slides come and go together")

    @property
    def window(self) -> Range:
        assert isinstance(self.scan.spec, Range)
        return self.scan.spec

    def _schema(self) -> Schema:
        return self.scan.schema

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.scan,)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Panes:
        (scan,) = inputs
        assert isinstance(scan, Scan)
        return Panes(scan)


def in_panes(relation: Relation) -> Relation:
    """The physical relation with panes below each aggregate of a sliding window.

    >>> from penstock.algebra.expressions import Column
    >>> from penstock.algebra.functions import AggregateFunction
    >>> from penstock.algebra.relations import Aggregation, Stream, walk_relations
    >>> from penstock.types import BIGINT
    >>> count = Aggregation(Column("agg", "n", BIGINT), AggregateFunction.COUNT, None)
    >>> ts = Column("s", "ts", BIGINT)
    >>> scan = Scan(Stream("s", "s", (ts,), ts), Range(60, 10), (), ())
    >>> [type(node).__name__ for node in walk_relations(in_panes(Aggregate(scan, (), (count,))))]
    ['Aggregate', 'Panes', 'Scan']
    """
    below = tuple(map(in_panes, relation.inputs))
    match relation, below:
        case Aggregate(), (Scan() as scan,) if has_panes(scan.spec):
            return relation.with_inputs((Panes(scan),))
    return relation.with_inputs(below) if below else relation


def has_panes(window: WindowSpec) -> bool:
    """Whether many rows of a window come and go together."""
    match window:
        case Range(width, int(slide)):
            return width // slide <= MOST_SLIDES
    return False
