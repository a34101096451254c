"""Routed batches: rows with the cell of each, on their way to an input of a fragment's machines, in either engine.

They come from a stream (`ingest`), from another fragment, or from a static table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.algebra.physical import Received
from penstock.algebra.relations import Table
from penstock.engines.routing import Router
from penstock.errors import PenstockError
from penstock.plan.fragments import Leaf, Plan
from penstock.plan.inputs import inputs
from penstock.plan.sharing import NOTHING_SHARED, Sharing
from penstock.synopsis.codes import encode_column
from penstock.synopsis.deltas import Deltas, assemble
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints


@dataclass(frozen=True, slots=True)
class RoutedBatch:
    """Rows for one input of a fragment, and the cell that each belongs to."""

    fragment: int
    input: int
    cells: Ints
    deltas: Deltas

    def by_cell(self) -> Iterator[tuple[int, Deltas]]:
        """Yields each cell with its rows, which keep their order."""
        cells = self.cells
        if not len(cells):
            return
        if cells.min() == cells.max():
            yield int(cells[0]), self.deltas
            return
        # Short numbers are sorted digit by digit, which is faster.
        order = np.argsort(cells.astype(np.min_scalar_type(int(cells.max()))), kind="stable")
        counts = np.bincount(cells)
        ends = np.cumsum(counts)
        for cell in np.flatnonzero(counts).tolist():
            yield cell, self.deltas.take(order[ends[cell] - counts[cell] : ends[cell]])


@dataclass(frozen=True, slots=True)
class Exchange:
    """The route of rows to an input of a fragment that is not a stream."""

    fragment: int
    input: int
    router: Router

    def routed(self, deltas: Deltas, dictionary: Dictionary) -> RoutedBatch:
        if self.router.is_trivial:
            return RoutedBatch(self.fragment, self.input, np.zeros(len(deltas), np.int64), deltas)
        picked, cells = self.router.cells(deltas.rows, dictionary)
        return RoutedBatch(self.fragment, self.input, cells, deltas.take(picked))


def exchanges(plan: Plan, sharing: Sharing = NOTHING_SHARED) -> dict[int, list[Exchange]]:
    """Returns the exchanges by the number of the sending fragment."""
    found: dict[int, list[Exchange]] = {}
    for leaf, exchange in _exchanges(plan, sharing):
        if isinstance(leaf, Received):
            found.setdefault(leaf.fragment, []).append(exchange)
    return found


def table_batches(
    plan: Plan, contents: Mapping[str, pa.Table], dictionary: Dictionary, sharing: Sharing = NOTHING_SHARED
) -> list[RoutedBatch]:
    """Returns the rows of static tables, which are there from instant 0 on."""
    found = []
    for leaf, exchange in _exchanges(plan, sharing):
        if isinstance(leaf, Table):
            rows = _encoded(contents[leaf.name], leaf, dictionary)
            at_start = Deltas(np.zeros(len(rows), np.int64), np.ones(len(rows), np.int64), rows)
            found.append(exchange.routed(at_start, dictionary))
    return found


def _exchanges(plan: Plan, sharing: Sharing) -> Iterator[tuple[Leaf, Exchange]]:
    for fragment in plan.fragments:
        for number, each in enumerate(inputs(fragment, sharing)):
            if isinstance(each.leaf, (Received, Table)):
                router = Router(fragment, each.views[0].route, each.schema)
                yield each.leaf, Exchange(fragment.number, number, router)


def _encoded(contents: pa.Table, leaf: Table, dictionary: Dictionary) -> Ints:
    columns = []
    for column in leaf.schema:
        found = [i for i, name in enumerate(contents.schema.names) if name.lower() == column.name.lower()]
        if len(found) != 1:
            given = ", ".join(contents.schema.names)
            raise PenstockError(f"the table {leaf.name} has no column {column.name}", f"it has {given}")
        columns.append(encode_column(contents.column(found[0]), column.type, dictionary))
    return assemble(columns, contents.num_rows)
