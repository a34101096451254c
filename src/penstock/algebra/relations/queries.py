"""Queries: a relation or the stream that is made of one, under a name, with what its text says of how it runs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from penstock.algebra.join_trees import TreeJoin
from penstock.algebra.relations.relation import Relation, Schema
from penstock.algebra.zones import DEFAULT


class StreamKind(Enum):
    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"
    RSTREAM = "RSTREAM"
    ON_CLOSE = "EMIT ON CLOSE"


@dataclass(frozen=True, slots=True)
class ToStream:
    """A relation turned into a stream: what was inserted, what was deleted, all that is there, or groups that close."""

    kind: StreamKind
    input: Relation

    @property
    def schema(self) -> Schema:
        return self.input.schema


#: How far a query may adapt while it runs: not at all, in the orders in which it evaluates, or in all that can change.
ADAPTIVE_MODES = ("off", "orders", "full")


@dataclass(frozen=True, slots=True)
class Approximate:
    """`APPROXIMATE [WITHIN n | WITHIN n PERCENT]`: counts may be intervals that hold the exact ones."""

    #: How wide an interval may be: in rows, or in percent of the count.
    within: Decimal | None = None
    percent: bool = False

    def __str__(self) -> str:
        """The clause as it is written.

        >>> str(Approximate(Decimal(2), percent=True))
        'APPROXIMATE WITHIN 2 PERCENT'
        """
        if self.within is None:
            return "APPROXIMATE"
        return f"APPROXIMATE WITHIN {self.within}{' PERCENT' if self.percent else ''}"


@dataclass(frozen=True, slots=True)
class Query:
    """A named continuous query. Without a ToStream at its root it gives its relation's change log."""

    name: str
    root: Relation | ToStream
    allow_unbounded: bool = False
    #: The time zone that it was bound in, in which texts without one are read.
    zone: str = DEFAULT
    #: What `WITH (adaptive = ...)` says: how far it adapts while it runs, whatever the run's settings are.
    adaptive: str | None = None
    #: Whether counts may be certified intervals.
    approximate: Approximate | None = None
    #: What `WITH (plan = ...)` says: trees of joins by which it is run, each of the join whose inputs it names.
    trees: tuple[TreeJoin, ...] = ()
    #: What `WITH (early = ...)` says: whether results come as soon as their rows are there, where that changes none
    #: (`plan/early.py`), whatever the run's settings are.
    early: bool | None = None
    #: One key in so many is watched for broken assertions. It is a setting of a run, not of the query's text.
    watched_one_in: int = 64

    @property
    def relation(self) -> Relation:
        return self.root.input if isinstance(self.root, ToStream) else self.root

    @property
    def schema(self) -> Schema:
        return self.root.schema
