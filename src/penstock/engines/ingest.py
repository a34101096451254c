"""Ingest: a source's batches become routed batches, without late rows, filtered, projected, and with their cells.

    Arrow batch ──▶ on time? ──▶ cheap filters ──▶ dear filters ──▶ codes ──▶ rows ──▶ cells
                    the time      columns where     columns of       of the columns that are kept,
                    column        they lie          rows left        and of rows that pass

Which rows are late is decided in `lateness`: of all rows, before any filter, so that it depends neither on filters nor
on how the rows were cut into batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.algebra.expressions import Column, Expr, columns
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Schema, Stream
from penstock.catalog import StreamDef
from penstock.engines.exchange import RoutedBatch
from penstock.engines.lateness import LAST_INSTANT, Progress, on_time
from penstock.engines.pruning import Pruning, is_pruned, pruning_together
from penstock.engines.routing import Router
from penstock.errors import PenstockError
from penstock.operators.filters.arrow_columns import ArrowColumns
from penstock.operators.filters.bounds import Bounds, may_pass
from penstock.operators.filters.clauses import split, tested_columns
from penstock.operators.filters.columns import Columns
from penstock.operators.filters.filters import Filters, Tuning
from penstock.operators.functions.failures import Tally
from penstock.operators.scalars import compile_scalar
from penstock.plan.fragments import Fragment, Plan, Route
from penstock.plan.inputs import MOST_VIEWS, Input, counted_by, inputs
from penstock.plan.sharing import NOTHING_SHARED, Sharing
from penstock.synopsis.codes import Nulls, encode_column
from penstock.synopsis.deltas import Bools, Deltas, assemble
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints
from penstock.types import TimeUnit


class Ingest:
    """Reads one declared stream for all inputs of a plan that take its rows. `tuning` orders its filters."""

    def __init__(
        self,
        definition: StreamDef,
        plan: Plan,
        dictionary: Dictionary,
        horizon: int | None = None,
        sharing: Sharing = NOTHING_SHARED,
        tuning: Tuning | None = None,
    ) -> None:
        _require_instant(horizon)
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
        self._time = self.names.index(definition.timestamp)
        self._unit = definition.unit
        #: The columns without which a row is bad, by their places.
        self._needed = [place for place, a in enumerate(self._attributes) if a.name.lower() in needed]
        for reader in self._readers:
            reader.compile(self.names, tuning)

    @property
    def names(self) -> list[str]:
        """Returns the columns that the plan reads."""
        return [attribute.name for attribute in self._attributes]

    @property
    def filters(self) -> list[tuple[str, Filters]]:
        """Returns the filters of all that read it, each with the occurrence that it is of."""
        return [each for reader in self._readers for each in reader.filters]

    def times(self, batch: pa.RecordBatch) -> Ints:
        """Returns the instants of a batch's rows; where there is none, some other number."""
        attribute = self._attributes[self._time]
        column = _column(batch, attribute.name, self.definition)
        return instants_of(encode_column(column, attribute.type, self._dictionary)[0], self._unit)

    def take(self, batch: pa.RecordBatch, progress: Progress | None = None) -> tuple[list[RoutedBatch], Ints]:
        """Routes the rows of a batch that are on time, and gives their timestamps.

        Whether a row is late is judged by `progress`, the stream's own unless another is given.
        """
        if is_pruned(batch):
            columns = self._columns(batch, self._needed)
            ts = instants_of(columns.lasting(self._needed.index(self._time))[0], self._unit)
            return [], ts[self._on_time(ts, columns, range(len(self._needed)), progress)]
        columns = self._columns(batch, range(len(self._attributes)))
        ts = instants_of(columns.lasting(self._time)[0], self._unit)
        kept = self._on_time(ts, columns, self._needed, progress)
        if not kept.all():
            ts, columns = ts[kept], columns.filter(kept)
        arrived = _Arrived(ts, columns)
        routed = [reader.routed(arrived, self._dictionary) for reader in self._readers]
        (progress or self.progress).function_errors += self._tally.count
        self._tally.count = 0
        return routed, ts

    @property
    def pruning(self) -> Pruning | None:
        """Returns which rows need not be read whole; None if all have to be."""
        parts = pruning_together(reader.pruning for reader in self._readers)
        if parts is None:
            return None
        return replace(parts, always=frozenset(self._attributes[place].name for place in self._needed))

    def _columns(self, batch: pa.RecordBatch, places: Sequence[int]) -> ArrowColumns:
        some = [self._attributes[place] for place in places]
        names = [attribute.name for attribute in some]
        if batch.schema.names == names:
            arrays = batch.columns
        else:
            arrays = [_column(batch, name, self.definition) for name in names]
        return ArrowColumns(arrays, [attribute.type for attribute in some], self._dictionary)

    def _on_time(self, ts: Ints, columns: ArrowColumns, needed: Sequence[int], progress: Progress | None) -> Bools:
        """Returns which rows are neither late nor bad; `needed` are the places of columns that are NOT NULL."""
        lacking = [null for place in needed if (null := columns.nulls(place)) is not None]
        nulls = np.logical_or.reduce(lacking) if lacking else None
        return on_time(ts, nulls, progress or self.progress, self.definition.delay, self._horizon)


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
    """Rows that are on time, as they were read."""

    ts: Ints
    columns: ArrowColumns


@dataclass(frozen=True)
class _Kept:
    """Rows that pass, by the columns that are kept, and assembled into rows where an expression has to be computed."""

    ts: Ints
    columns: list[tuple[Ints, Nulls]]

    @cached_property
    def rows(self) -> Ints:
        return assemble(self.columns, len(self.ts))


class _Reader:
    """Makes the rows of one input out of a stream's rows."""

    def __init__(self, fragment: Fragment, number: int, input_: Input, tally: Tally) -> None:
        assert isinstance(input_.leaf, Scan)
        self._tally = tally
        self._fragment, self._number, self._input, self._scan = fragment, number, input_, input_.leaf
        exprs = [output.expr for output in self._scan.outputs]
        filters: list[Expr] = []
        for view in input_.views:
            assert isinstance(view.route.leaf, Scan)
            filters += view.route.leaf.where
            filters += view.route.leaf.sample.by if view.route.leaf.sample else ()
            exprs += [expr for dimension in view.route.dimensions if dimension for expr in dimension]
        #: The columns whose values are kept or tell the cells of a row; filters may read others.
        self._kept = {column.name for expr in exprs for column in columns(expr)}
        self.names = self._kept | {column.name for expr in filters for column in columns(expr)}

    def routed(self, arrived: _Arrived, dictionary: Dictionary) -> RoutedBatch:
        if not self._input.has_bits:
            return self._routed_to_one(self._views[0], arrived, dictionary)
        bits = np.zeros(len(arrived.ts), np.int64)
        for number, view in enumerate(self._views):
            bits |= _word(view.passing(arrived.columns, dictionary)) << number
            if view.counts:
                bits |= _word(view.counting(arrived.columns, dictionary)) << MOST_VIEWS + number
        read = np.flatnonzero(bits)
        taken = self._taken(arrived, read)
        bits = bits[read]
        out = self._columns(taken, dictionary, bits)
        if all(view.router.is_trivial for view in self._views):
            return self._batch(taken.ts, out, bits, np.zeros(len(bits), np.int64))
        picked, cells, bits = self._cells(taken, bits, dictionary)
        some = [(codes[picked], None if nulls is None else nulls[picked]) for codes, nulls in out]
        return self._batch(taken.ts[picked], some, bits, cells)

    def _routed_to_one(self, view: _View, arrived: _Arrived, dictionary: Dictionary) -> RoutedBatch:
        passing = view.passing(arrived.columns, dictionary)
        taken = self._taken(arrived, None if passing is None else np.flatnonzero(passing))
        out = assemble(self._columns(taken, dictionary), len(taken.ts))
        if view.router.is_trivial:
            deltas = Deltas(taken.ts, np.ones(len(out), np.int64), out)
            return RoutedBatch(self._fragment.number, self._number, np.zeros(len(out), np.int64), deltas)
        picked, cells = view.router.cells(taken.rows, dictionary)
        deltas = Deltas(taken.ts[picked], np.ones(len(picked), np.int64), out[picked])
        return RoutedBatch(self._fragment.number, self._number, cells, deltas)

    @property
    def pruning(self) -> Pruning | None:
        """Returns which rows it need not read; None if each is read or counted."""
        if any(view.counts or not view.clauses for view in self._views):
            return None
        tested = {place for view in self._views for place in tested_columns(view.clauses)}

        def may_read(bounds: Mapping[str, Bounds]) -> bool:
            by_place = {place: bounds[self._all[place]] for place in tested if self._all[place] in bounds}
            return any(may_pass(view.clauses, by_place) for view in self._views)

        return Pruning(frozenset(), frozenset(self._all[place] for place in tested), may_read)

    def _taken(self, arrived: _Arrived, some: Ints | None) -> _Kept:
        """Encodes the columns that are kept, of some rows or, if it is None, of all."""
        if some is not None and len(some) == len(arrived.ts):
            some = None
        encoded = [arrived.columns.lasting(place, some) for place in self._kept_places]
        return _Kept(arrived.ts if some is None else arrived.ts[some], encoded)

    def _columns(self, taken: _Kept, dictionary: Dictionary, bits: Ints | None = None) -> list[tuple[Ints, Nulls]]:
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

    def _cells(self, taken: _Kept, bits: Ints, dictionary: Dictionary) -> tuple[Ints, Ints, Ints]:
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

    @property
    def filters(self) -> list[tuple[str, Filters]]:
        """Returns the filters of its views, each with the occurrence that it reads."""
        return [(view.occurrence, view.filters) for view in self._views if view.filters is not None]

    def compile(self, names: list[str], tuning: Tuning | None) -> None:
        """Compiles its expressions for rows of these columns. `tuning` orders filters as rows come."""
        self._all = names
        raw = _raw_schema(self._scan.stream, names)
        self._kept_places = [place for place, name in enumerate(names) if name in self._kept]
        kept = tuple(raw[place] for place in self._kept_places)
        self._places = [
            kept.index(output.expr)
            if isinstance(output.expr, Column)
            else compile_scalar(output.expr, kept, self._tally)
            for output in self._scan.outputs
        ]
        #: By column, the bits of the views that read it.
        self._views_of_place = [
            sum(1 << number for number, view in enumerate(self._input.views) if output.column in view.columns)
            for output in self._scan.outputs
        ]
        self._views = [
            _View(self._fragment, view.route, names, kept, view.counts, tuning, self._tally)
            for view in self._input.views
        ]
        needs = ((1 << n) | (not view.counts_all) << MOST_VIEWS + n for n, view in enumerate(self._views))
        #: The bits of rows whose values somebody reads, if only those of their partition.
        self._valued = sum(needs)


class _View:
    """Decides which rows a view reads, and in which cells."""

    def __init__(
        self,
        fragment: Fragment,
        route: Route,
        names: list[str],
        kept: Schema,
        counts: bool,
        tuning: Tuning | None,
        tally: Tally,
    ) -> None:
        assert isinstance(route.leaf, Scan)
        schema = _raw_schema(route.leaf.stream, names)
        where, self.occurrence = route.leaf.where, route.leaf.stream.occurrence
        name = f"{fragment.number}.{self.occurrence}"
        sample = route.leaf.sample
        self._sample = None if sample is None else ([schema.index(column) for column in sample.by], sample.one_in)
        #: What rows have to pass; None if all are read.
        self.filters = Filters(where, schema, tuning, name, tally) if where else None
        #: What rows pass at least that pass the filter.
        self.clauses = split(where, schema)[0]
        self.counts = counts
        by = frozenset(counted_by(route.leaf))
        #: Whether it counts all rows of the stream, in every cell.
        self.counts_all = self.counts and not by
        # A predicate on the partition's columns takes all rows of a partition or none, which then need not count.
        whole = [predicate for predicate in where if columns(predicate) and columns(predicate) <= by]
        self._partitions = Filters(whole, schema) if whole else None
        own = _raw_schema(route.leaf.stream, [column.name for column in kept])
        self.router = Router(fragment, route, own)

    def passing(self, columns: ArrowColumns, dictionary: Dictionary) -> Bools | None:
        """Returns which rows it reads; None means all."""
        passing = None if self.filters is None else self.filters.passing(columns, dictionary)
        if self._sample is None:
            return passing
        places, one_in = self._sample
        sampled = columns.sampled(places, one_in)
        return sampled if passing is None else passing & sampled

    def counting(self, columns: Columns, dictionary: Dictionary) -> Bools | None:
        """Returns which rows it counts; None means all."""
        return None if self._partitions is None else self._partitions.passing(columns, dictionary)


def _word(passing: Bools | None) -> Ints | int:
    return 1 if passing is None else passing.astype(np.int64)


def _raw_schema(stream: Stream, names: list[str]) -> Schema:
    by_name: dict[str, Column] = {column.name: column for column in stream.schema}
    return tuple(by_name[name] for name in names)


def _require_instant(horizon: object) -> None:
    """Refuses a horizon that is no instant."""
    if horizon is None:
        return
    hint = "give the horizon in whole microseconds since 1970"
    if not isinstance(horizon, int) or isinstance(horizon, bool):
        raise PenstockError(f"the horizon is {horizon!r}", hint)
    if horizon > LAST_INSTANT:
        raise PenstockError(f"the horizon {horizon} is beyond the last instant, {LAST_INSTANT}", hint)
