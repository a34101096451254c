"""Windows that hold the same rows, and what is stored of those that several queries read (thesis 2.3.1).

A stream, a window on it and a filter below it decide which rows a window holds; occurrences of a stream differ in
nothing but their names. Queries seldom read the same columns, so a window that they share stores those that any of them
reads: never more than all of them would store by themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.algebra.expressions import Column, Expr, substitute
from penstock.algebra.physical import Scan
from penstock.algebra.pipelined_filters import PipelinedFilters
from penstock.algebra.relations import (
    Output,
    PartitionRows,
    Relation,
    Schema,
    Unbounded,
)
from penstock.closing.physical_join import PhysicalJoin
from penstock.plan.fragments import Plan, Route
from penstock.plan.panes import Panes


def same_rows(route: Route) -> Hashable:
    """What decides which rows, of which columns, a window holds in a cell."""
    scan = route.leaf
    assert isinstance(scan, Scan)
    dimensions = tuple(None if dimension is None else bare(scan, dimension) for dimension in route.dimensions)
    return contents(scan), bare(scan, (output.expr for output in scan.outputs)), dimensions


def contents(scan: Scan) -> Hashable:
    """What decides which rows a window holds, whatever is kept of each."""
    spec: Hashable = scan.spec
    if isinstance(scan.spec, PartitionRows):
        inside = {output.column: output.expr for output in scan.outputs}
        spec = PartitionRows, scan.spec.count, frozenset(bare(scan, (inside[column] for column in scan.spec.by)))
    return scan.stream.name, spec, frozenset(bare(scan, scan.where))


def bare(scan: Scan, exprs: Iterable[Expr]) -> tuple[Expr, ...]:
    """Expressions over a stream's own columns, without the name of the occurrence."""
    columns: Mapping[Column, Expr] = {column: replace(column, scope="") for column in scan.stream.schema}
    return tuple(substitute(expr, columns) for expr in exprs)


@dataclass(frozen=True, slots=True)
class SharedScan:
    """A window that several queries read."""

    contents: Hashable
    #: The leaf through which its rows come: of the first query that reads it.
    owner: Scan
    #: The owner with all columns that somebody reads.
    stored: Scan

    def names(self, reader: Scan) -> Schema:
        """The stored columns, those that a reader reads under the names that it has for them."""
        own = dict(zip(_copies(reader), reader.schema, strict=True))
        return tuple(
            own.get(copy, Column("", f"_stored{number}", output.column.type))
            for number, (copy, output) in enumerate(zip(_copies(self.stored), self.stored.outputs, strict=True))
        )


def _copies(scan: Scan) -> list[tuple[Expr, int]]:
    """What each column holds, and how many of the columns before it hold the same."""
    seen: Counter[Expr] = Counter()
    copies = []
    for expr in bare(scan, (output.expr for output in scan.outputs)):
        copies.append((expr, seen[expr]))
        seen[expr] += 1
    return copies


def positions(scan: Scan, wider: Scan) -> list[int]:
    """Where each column of a scan is among those of one that computes all of them (`with_columns_of`)."""
    places = {copy: place for place, copy in enumerate(_copies(wider))}
    return [places[copy] for copy in _copies(scan)]


@dataclass(frozen=True, slots=True)
class Sharing:
    """The leaves of plans that read windows which several of the plans read."""

    #: Leaves are told apart by identity: another leaf of the plan may be equal, and have a window of its own.
    readers: tuple[tuple[Scan, SharedScan], ...] = ()

    def of(self, leaf: Scan) -> SharedScan | None:
        return next((shared for reader, shared in self.readers if reader is leaf), None)

    def taken(self, leaf: Scan) -> Scan | None:
        """What is made of a stream's rows for a leaf; nothing where they come through another."""
        shared = self.of(leaf)
        if shared is None:
            return leaf
        return shared.stored if shared.owner is leaf else None

    def concerns(self, plan: Plan) -> bool:
        leaves = (route.leaf for fragment in plan.fragments for route in fragment.routes)
        return any(isinstance(leaf, Scan) and self.of(leaf) is not None for leaf in leaves)


NOTHING_SHARED = Sharing()


def sharing(plans: Sequence[Plan]) -> Sharing:
    """What plans that run together share. In several cells nothing: rows go to where their query wants them. Nor do
    queries whose results come early: they take rows before others do.
    """
    by_contents: dict[Hashable, list[tuple[int, Scan]]] = {}
    for number, plan in enumerate(plans):
        for scan in _stored(plan):
            by_contents.setdefault(contents(scan), []).append((number, scan))
    readers: list[tuple[Scan, SharedScan]] = []
    for what, found in by_contents.items():
        if len({number for number, _ in found}) > 1:
            scans = [scan for _, scan in found]
            shared = SharedScan(what, scans[0], with_columns_of(scans))
            readers += [(scan, shared) for scan in scans]
    return Sharing(tuple(readers))


def _stored(plan: Plan) -> list[Scan]:
    """The leaves whose windows are stored, and may be read by others."""
    if len(plan.fragments) > 1 or plan.last.cells > 1 or plan.last.comes_early:
        return []
    guarded = [plan.last.routes[guard.leaf].leaf for guard in plan.last.guards]
    return [scan for scan in _windows(plan.last.root, False) if not any(scan is leaf for leaf in guarded)]


def _windows(relation: Relation, is_joined: bool) -> Iterator[Scan]:
    """All rows of a stream are stored only where they are joined. Who forgets rows has a window of its own.

    Panes are kept in place of a window's rows, and filters judge rows before their window stores them.
    """
    if isinstance(relation, Panes):
        return
    if isinstance(relation, PipelinedFilters) and relation.window is not None and isinstance(relation.left, Scan):
        for side in relation.sides:
            yield from _windows(side, False)
        return
    if isinstance(relation, Scan) and (is_joined or not isinstance(relation.spec, Unbounded)):
        yield relation
    joined, reduced = (relation.operands, relation.reduced) if isinstance(relation, PhysicalJoin) else ((), ())
    for number, below in enumerate(relation.inputs):
        if number not in reduced:
            yield from _windows(below, number < len(joined))


def with_columns_of(scans: Sequence[Scan]) -> Scan:
    """The first of windows that hold the same rows, with the columns of all."""
    first = scans[0]
    names: Mapping[Column, Expr] = {replace(column, scope=""): column for column in first.stream.schema}
    outputs = dict(zip(_copies(first), first.outputs, strict=True))
    for scan in scans[1:]:
        for expr, copy in _copies(scan):
            column = Column(first.stream.occurrence, f"_stored{len(outputs)}", expr.type)
            outputs.setdefault((expr, copy), Output(column, substitute(expr, names)))
    return replace(first, outputs=tuple(outputs.values()))
