"""The inputs of a machine: what arrives at a cell, and which leaves of its fragment read it (thesis 2.2.5).

Leaves that read one stream, such as an operand of a join and the evidence of its purges, are views of one input. A row
travels to a cell once and waits for its instant once, with the columns of all views and a word that says which of them
read it:

    bid ──▶ (columns of all views, bits) ──▶ waits for the watermark ──┬──▶ view 0: leaves 0 and 3
                                                                      └──▶ view 1: leaf 5, its punctuations

A window of rows counts rows that it does not read (`Scan.counts`). So its view has a second bit: of `[ROWS n]` all rows
have it, in every cell, and of `[PARTITION BY ... ROWS n]` those of partitions that pass.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from penstock.algebra.expressions import Column
from penstock.algebra.physical import Scan
from penstock.algebra.relations import PartitionRows, Schema, walk_relations
from penstock.plan.fragments import Fragment, Leaf, Route
from penstock.plan.panes import Panes
from penstock.plan.sharing import NOTHING_SHARED, Sharing, bare, positions, with_columns_of
from penstock.types import BIGINT

#: A word of bits names the views that read a row, and in its upper half those that count it; its sign bit stays free.
MOST_VIEWS = 31


@dataclass(frozen=True, slots=True)
class View:
    """Leaves that read the same columns of the same rows of an input."""

    leaves: tuple[int, ...]
    #: The filter, the columns and the cells of its rows.
    route: Route
    #: Its columns among those of the input.
    columns: Schema

    @property
    def counts(self) -> bool:
        """Whether it counts rows that it does not read: those that fail its filter, and those of other cells."""
        leaf = self.route.leaf
        return isinstance(leaf, Scan) and leaf.counts and bool(leaf.where or self.route.dimensions)


@dataclass(frozen=True, slots=True)
class Input:
    views: tuple[View, ...]
    #: The leaf whose columns are those of all views.
    leaf: Leaf
    #: Whether its rows wait until their instant is closed. Panes take rows in any order, a window that several queries
    #: read has a buffer of its own, and rows of other fragments and of tables are due when they arrive.
    waits: bool
    #: The streams that have to close a row's instant before it is taken; None where all of the query have to.
    awaited: tuple[str, ...] | None = None

    @property
    def has_bits(self) -> bool:
        """Whether not every row is just a row of its one view."""
        return len(self.views) > 1 or self.views[0].counts

    @property
    def schema(self) -> Schema:
        """The columns of its rows, and where it has bits a word of them behind."""
        return (*self.leaf.schema, Column("", "_views", BIGINT)) if self.has_bits else self.leaf.schema

    @property
    def stream(self) -> str | None:
        return self.leaf.stream.name if isinstance(self.leaf, Scan) else None


def inputs(fragment: Fragment, sharing: Sharing = NOTHING_SHARED) -> tuple[Input, ...]:
    """The inputs of a fragment's machines. A leaf whose rows arrive at another query's machine is in none of them."""
    in_panes = [node.scan for node in walk_relations(fragment.root) if isinstance(node, Panes)]
    found: list[Input] = []
    streams: dict[str, list[int]] = {}
    for number, route in enumerate(fragment.routes):
        leaf = sharing.taken(route.leaf) if isinstance(route.leaf, Scan) else route.leaf
        if leaf is not route.leaf or not isinstance(leaf, Scan) or any(leaf is scan for scan in in_panes):
            found += [] if leaf is None else [_at_once(number, replace(route, leaf=leaf))]
        else:
            streams.setdefault(leaf.stream.name, []).append(number)
    for leaves in streams.values():
        found += _of_stream(fragment, leaves)
    return tuple(sorted(found, key=lambda each: each.views[0].leaves))


def _at_once(leaf: int, route: Route) -> Input:
    return Input((View((leaf,), route, route.leaf.schema),), route.leaf, waits=False)


def _of_stream(fragment: Fragment, leaves: Iterable[int]) -> list[Input]:
    """The leaves that read one stream, grouped by what they read of it."""
    alike: dict[Hashable, list[int]] = {}
    for leaf in leaves:
        alike.setdefault(_what_is_read(fragment.routes[leaf]), []).append(leaf)
    groups = list(alike.values())
    return [_together(fragment, groups[start : start + MOST_VIEWS]) for start in range(0, len(groups), MOST_VIEWS)]


def _what_is_read(route: Route) -> Hashable:
    scan = route.leaf
    assert isinstance(scan, Scan)
    dimensions = tuple(None if dimension is None else bare(scan, dimension) for dimension in route.dimensions)
    counted = None if not scan.counts else frozenset(bare(scan, counted_by(scan)))
    sample = None if scan.sample is None else (bare(scan, scan.sample.by), scan.sample.one_in)
    read = bare(scan, (output.expr for output in scan.outputs))
    return frozenset(bare(scan, scan.where)), read, dimensions, counted, sample


def counted_by(scan: Scan) -> Schema:
    """The columns of a partition, within which rows are counted; none where all rows of a stream are."""
    return scan.spec.by if isinstance(scan.spec, PartitionRows) else ()


def _together(fragment: Fragment, groups: Sequence[Sequence[int]]) -> Input:
    routes = [fragment.routes[leaves[0]] for leaves in groups]
    scans = [route.leaf for route in routes if isinstance(route.leaf, Scan)]
    awaited = fragment.early.awaited(scans[0].stream.name) if fragment.early else None
    if len(routes) == 1:
        return Input((View(tuple(groups[0]), routes[0], scans[0].schema),), scans[0], waits=True, awaited=awaited)
    widest = with_columns_of(scans)
    views = []
    for leaves, route, scan in zip(groups, routes, scans, strict=True):
        columns = tuple(widest.schema[place] for place in positions(scan, widest))
        views.append(View(tuple(leaves), route, columns))
    return Input(tuple(views), widest, waits=True, awaited=awaited)
