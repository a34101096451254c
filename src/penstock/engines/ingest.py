"""Ingest: a source's batches become routed batches, without late rows, filtered, projected, and with their cells.

Which rows are late is decided in `lateness`, and does not depend on how the rows were cut into batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from penstock.algebra.expressions import Column, columns
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Schema, Stream
from penstock.catalog import StreamDef
from penstock.engines.exchange import RoutedBatch
from penstock.engines.lateness import LAST_INSTANT, Progress, on_time
from penstock.engines.routing import Router
from penstock.errors import PenstockError
from penstock.operators.functions.failures import Tally
from penstock.operators.scalars import compile_predicate, compile_scalar
from penstock.plan.fragments import Fragment, Plan, Route
from penstock.plan.inputs import MOST_VIEWS, Input, counted_by, inputs
from penstock.plan.sharing import NOTHING_SHARED, Sharing
from penstock.synopsis.codes import Nulls, encode_column
from penstock.synopsis.deltas import Deltas, assemble
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints
from penstock.types import TimeUnit


class Ingest:
    """Reads one declared stream for all inputs of a plan that take its rows."""

    def __init__(
        self,
        definition: StreamDef,
        plan: Plan,
        dictionary: Dictionary,
        horizon: int | None = None,
        sharing: Sharing = NOTHING_SHARED,
    ) -> None:
        if horizon is not None and horizon > LAST_INSTANT:
            message = f"the horizon {horizon} is beyond the last instant, {LAST_INSTANT}"
            raise PenstockError(message, "give the horizon in microseconds since 1970")
        self.definition = definition
        self.progress = Progress()
        self._dictionary = dictionary
        self._horizon = horizon
        self._tally = Tally()
        self._readers = [
            _Reader(fragment, number, each, self._tally)
            for fragment in plan.fragments
            for number, each in enumerate(inputs(fragment, sharing))
            if each.stream == definition.name
        ]
        attributes = {a.name: a for a in definition.attributes if not a.virtual}
        read = {name for reader in self._readers for name in reader.names} | {definition.timestamp}
        needed = definition.not_null
        self._attributes = [a for name, a in attributes.items() if name in read or name.lower() in needed]
        #: The columns without which a row is bad, by their places.
        self._needed = [place for place, a in enumerate(self._attributes) if a.name.lower() in needed]

    @property
    def names(self) -> list[str]:
        """Returns the columns that the plan reads."""
        return [attribute.name for attribute in self._attributes]

    def times(self, batch: pa.RecordBatch) -> Ints:
        """Returns the instants of a batch's rows; where there is none, some other number."""
        (attribute,) = (a for a in self._attributes if a.name == self.definition.timestamp)
        column = _column(batch, attribute.name, self.definition)
        return instants_of(encode_column(column, attribute.type, self._dictionary)[0], self.definition.unit)

    def take(self, batch: pa.RecordBatch, progress: Progress | None = None) -> tuple[list[RoutedBatch], Ints]:
        """Routes the rows of a batch that are on time, and gives their timestamps.

        Whether a row is late is judged by `progress`, the stream's own unless another is given.
        """
        encoded = []
        for attribute in self._attributes:
            column = _column(batch, attribute.name, self.definition)
            encoded.append(encode_column(column, attribute.type, self._dictionary))
        counted, _ = encoded[self.names.index(self.definition.timestamp)]
        lacking = [null for place in self._needed if (null := encoded[place][1]) is not None]
        nulls = np.logical_or.reduce(lacking) if lacking else None
        ts = instants_of(counted, self.definition.unit)
        kept = on_time(ts, nulls, progress or self.progress, self.definition.delay, self._horizon)
        if not kept.all():
            ts = ts[kept]
            encoded = [(codes[kept], None if null is None else null[kept]) for codes, null in encoded]
        arrived = _Arrived(ts, self.names, encoded)
        routed = [reader.routed(arrived, self._dictionary) for reader in self._readers]
        (progress or self.progress).function_errors += self._tally.count
        self._tally.count = 0
        return routed, ts


def instants_of(counted: Ints, unit: TimeUnit) -> Ints:
    """Returns the instants that a column of times counts in its unit; below 0 where there is none that fits.

    >>> instants_of(np.array([2, 2**62]), TimeUnit.MILLISECONDS).tolist()
    [2000, -1]
    """
    if unit is TimeUnit.MICROSECONDS:
        return counted
    fits = (counted >= 0) & (counted <= unit.most)
    found: Ints = np.where(fits, unit.instant(np.where(fits, counted, 0)), -1)
    return found


def _column(batch: pa.RecordBatch, name: str, definition: StreamDef) -> pa.Array:
    index = batch.schema.get_field_index(name)
    if index < 0:
        matching = [i for i, other in enumerate(batch.schema.names) if other.lower() == name.lower()]
        if len(matching) != 1:
            given = ", ".join(batch.schema.names)
            raise PenstockError(f"the rows of {definition.name} have no column {name}", f"they have {given}")
        index = matching[0]
    return batch.column(index)


@dataclass(frozen=True)
class _Arrived:
    """Rows that are on time, as columns, and assembled into rows where an expression has to be computed."""

    ts: Ints
    names: list[str]
    columns: list[tuple[Ints, Nulls]]

    @cached_property
    def rows(self) -> Ints:
        return assemble(self.columns, len(self.ts))

    @cached_property
    def ones(self) -> Ints:
        """Returns the weight of each row."""
        return np.ones(len(self.ts), np.int64)

    @cached_property
    def zeros(self) -> Ints:
        """Returns the cell of each row, where a fragment has only one."""
        return np.zeros(len(self.ts), np.int64)

    def take(self, some: Ints) -> _Arrived:
        columns = [(codes[some], None if nulls is None else nulls[some]) for codes, nulls in self.columns]
        return _Arrived(self.ts[some], self.names, columns)


class _Reader:
    """Makes the rows of one input out of a stream's rows."""

    def __init__(self, fragment: Fragment, number: int, input_: Input, tally: Tally) -> None:
        assert isinstance(input_.leaf, Scan)
        self._tally = tally
        self._fragment, self._number, self._input, self._scan = fragment, number, input_, input_.leaf
        exprs = [output.expr for output in self._scan.outputs]
        for view in input_.views:
            assert isinstance(view.route.leaf, Scan)
            exprs += view.route.leaf.where
            exprs += [expr for dimension in view.route.dimensions if dimension for expr in dimension]
        self.names = {column.name for expr in exprs for column in columns(expr)}
        self._compiled_for: list[str] | None = None

    def routed(self, arrived: _Arrived, dictionary: Dictionary) -> RoutedBatch:
        self._compile(arrived.names)
        if not self._input.has_bits:
            return self._routed_to_one(self._views[0], arrived, dictionary)
        bits = np.zeros(len(arrived.ts), np.int64)
        for number, view in enumerate(self._views):
            bits |= view.passing(arrived, dictionary).astype(np.int64) << number
            if view.counts:
                bits |= view.counting(arrived, dictionary).astype(np.int64) << MOST_VIEWS + number
        read = np.flatnonzero(bits)
        taken, bits = (arrived, bits) if len(read) == len(bits) else (arrived.take(read), bits[read])
        out = self._columns(taken, dictionary, bits)
        if all(view.router.is_trivial for view in self._views):
            return self._batch(taken.ts, out, bits, taken.zeros)
        picked, cells, bits = self._cells(taken, bits, dictionary)
        some = [(codes[picked], None if nulls is None else nulls[picked]) for codes, nulls in out]
        return self._batch(taken.ts[picked], some, bits, cells)

    def _routed_to_one(self, view: _View, arrived: _Arrived, dictionary: Dictionary) -> RoutedBatch:
        taken = arrived
        if view.where is not None:
            taken = arrived.take(np.flatnonzero(view.where(arrived.rows, dictionary)))
        out = assemble(self._columns(taken, dictionary), len(taken.ts))
        ones = arrived.ones[: len(out)]
        if view.router.is_trivial:
            deltas = Deltas(taken.ts, ones, out)
            return RoutedBatch(self._fragment.number, self._number, arrived.zeros[: len(out)], deltas)
        picked, cells = view.router.cells(taken.rows, dictionary)
        deltas = Deltas(taken.ts[picked], np.ones(len(picked), np.int64), out[picked])
        return RoutedBatch(self._fragment.number, self._number, cells, deltas)

    def _columns(self, taken: _Arrived, dictionary: Dictionary, bits: Ints | None = None) -> list[tuple[Ints, Nulls]]:
        """Returns the columns of the rows. No user function is called for views that do not read a row."""
        return [
            taken.columns[place]
            if isinstance(place, int)
            else place(taken.rows, dictionary, None if bits is None else bits & views != 0)
            for place, views in zip(self._places, self._views_of_place, strict=True)
        ]

    def _batch(self, ts: Ints, some: list[tuple[Ints, Nulls]], bits: Ints, cells: Ints) -> RoutedBatch:
        """Assembles rows with their bits. Of a row that is only counted among all others no value travels."""
        bare = (bits & self._valued) == 0
        if bare.any():
            some = [(codes, bare if nulls is None else nulls | bare) for codes, nulls in some]
        deltas = Deltas(ts, np.ones(len(ts), np.int64), assemble([*some, (bits, None)], len(ts)))
        return RoutedBatch(self._fragment.number, self._number, cells, deltas)

    def _cells(self, taken: _Arrived, bits: Ints, dictionary: Dictionary) -> tuple[Ints, Ints, Ints]:
        """Returns triples of a row's number, a cell, and the bits of the views that read or count the row there."""
        found = np.zeros((len(bits), self._fragment.cells), np.int64)
        for number, view in enumerate(self._views):
            counted = 1 << MOST_VIEWS + number
            if view.counts_all:
                found |= counted
            for bit in (1 << number,) if view.counts_all else (1 << number, counted):
                mine = np.flatnonzero(bits & bit)
                picked, cells = view.router.cells(taken.rows[mine], dictionary)
                found[mine[picked], cells] |= bit
        rows, cells = np.nonzero(found)
        return rows, cells, found[rows, cells]

    def _compile(self, names: list[str]) -> None:
        if self._compiled_for == names:
            return
        self._compiled_for = names
        schema = _raw_schema(self._scan.stream, names)
        self._places = [
            schema.index(output.expr)
            if isinstance(output.expr, Column)
            else compile_scalar(output.expr, schema, self._tally)
            for output in self._scan.outputs
        ]
        #: By column, the bits of the views that read it.
        self._views_of_place = [
            sum(1 << number for number, view in enumerate(self._input.views) if output.column in view.columns)
            for output in self._scan.outputs
        ]
        self._views = [_View(self._fragment, view.route, names, view.counts, self._tally) for view in self._input.views]
        needs = ((1 << n) | (not view.counts_all) << MOST_VIEWS + n for n, view in enumerate(self._views))
        #: The bits of rows whose values somebody reads, if only those of their partition.
        self._valued = sum(needs)


class _View:
    """Decides which rows a view reads, and in which cells."""

    def __init__(self, fragment: Fragment, route: Route, names: list[str], counts: bool, tally: Tally) -> None:
        assert isinstance(route.leaf, Scan)
        schema = _raw_schema(route.leaf.stream, names)
        self.where = compile_predicate(route.leaf.where, schema, tally) if route.leaf.where else None
        self.counts = counts
        by = frozenset(counted_by(route.leaf))
        #: Whether it counts all rows of the stream, in every cell.
        self.counts_all = self.counts and not by
        # A predicate on the partition's columns takes all rows of a partition or none, which then need not count.
        whole = tuple(p for p in route.leaf.where if columns(p) and columns(p) <= by)
        self._partitions = compile_predicate(whole, schema) if whole else None
        self.router = Router(fragment, route, schema)

    def passing(self, arrived: _Arrived, dictionary: Dictionary) -> NDArray[np.bool_]:
        if self.where is None:
            return np.ones(len(arrived.ts), np.bool_)
        return self.where(arrived.rows, dictionary)

    def counting(self, arrived: _Arrived, dictionary: Dictionary) -> NDArray[np.bool_]:
        if self._partitions is None:
            return np.ones(len(arrived.ts), np.bool_)
        return self._partitions(arrived.rows, dictionary)


def _raw_schema(stream: Stream, names: list[str]) -> Schema:
    by_name: dict[str, Column] = {column.name: column for column in stream.schema}
    return tuple(by_name[name] for name in names)
