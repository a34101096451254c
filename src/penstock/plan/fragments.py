"""Fragments: the parts of a plan between which rows are exchanged, and where each row goes.

A fragment runs in cells. Its cells are the points of a grid, one dimension per thing that it partitions by, and a row
goes to the cells at the coordinates that its values hash to; a row that says nothing of a dimension goes to all cells
along it (shares, or HyperCube: Afrati and Ullman 2010, Beame et al. 2013). So each combination of rows meets in one
cell just once, whatever the join graph. With one cell nothing is exchanged and the plan is one fragment.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from penstock.algebra.bucket_counts import FallBack
from penstock.algebra.expressions import Expr
from penstock.algebra.physical import Received, Scan
from penstock.algebra.relations import (
    Query,
    Relation,
    StreamKind,
    Table,
    walk_relations,
)
from penstock.plan.adaptivity import FULL, Adaptive
from penstock.plan.early import Early
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.guards import Guard

#: What a row is partitioned by along one dimension: expressions over its leaf's own columns, or None for all of it.
Dimension = tuple[Expr, ...] | None
Leaf = Scan | Table | Received


@dataclass(frozen=True, slots=True)
class Route:
    """How rows of one leaf find their cells."""

    leaf: Leaf
    dimensions: tuple[Dimension, ...]


@dataclass(frozen=True, slots=True)
class Switch:
    """Leaves of a fragment whose rows begin when another leaf says so."""

    leaf: int
    gated: tuple[int, ...]
    node: FallBack


@dataclass(frozen=True, slots=True)
class Fragment:
    number: int
    root: Relation
    routes: tuple[Route, ...]
    shares: tuple[int, ...]
    guards: tuple[Guard, ...] = ()
    switch: Switch | None = None
    #: How it gives results early, where that was asked for.
    early: Early | None = None

    @property
    def comes_early(self) -> bool:
        """Whether it takes rows whose instants are not closed."""
        return self.early is not None and self.early.obstacle is None

    @property
    def cells(self) -> int:
        return prod(self.shares)

    def replication(self, route: Route) -> int:
        """To how many cells each row of a leaf goes."""
        return prod(s for s, dimension in zip(self.shares, route.dimensions, strict=True) if dimension is None)


@dataclass(frozen=True, slots=True)
class Plan:
    """Fragments in an order in which each comes after those that it receives from; the last one gives the result."""

    query: Query
    fragments: tuple[Fragment, ...]
    kind: StreamKind | None
    #: Whether no row of the result is there twice or comes again: then there is nothing to net (`keys`).
    comes_once: bool = False
    forgetting: Forgetting = EAGER
    #: How far it adapts while it runs. It changes no result, and no state.
    adaptive: Adaptive = FULL

    @property
    def last(self) -> Fragment:
        return self.fragments[-1]


def leaves_of(relation: Relation) -> tuple[Leaf, ...]:
    return tuple(node for node in walk_relations(relation) if isinstance(node, (Scan, Table, Received)))
