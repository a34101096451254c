"""From a source's batches to the rows that a plan's leaves take: late rows out, filtered, projected, cells found.

What is late is said in `lateness`: it does not depend on how the rows were cut into batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.algebra.expressions import Column, Literal, columns
from penstock.algebra.physical import Scan
from penstock.algebra.relations import PartitionRows, Rows, Schema, Stream
from penstock.catalog import StreamDef
from penstock.engines.lateness import LAST_INSTANT, Progress, on_time
from penstock.engines.routing import Router
from penstock.errors import PenstockError
from penstock.operators.projection import projection
from penstock.operators.scalars import compile_predicate
from penstock.plan.fragments import Fragment, Plan, Route
from penstock.plan.sharing import NOTHING_SHARED, Sharing
from penstock.synopsis.codes import Nulls, encode_column
from penstock.synopsis.deltas import Deltas, assemble, null_row
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints
from penstock.types import TimeUnit


@dataclass(frozen=True, slots=True)
class Sent:
    """Rows on their way: to which fragment, leaf and cell each goes."""

    fragment: int
    leaf: int
    cells: Ints
    deltas: Deltas


class Ingest:
    """The readers of one declared stream in a plan."""

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
        self._readers = [
            _Reader(fragment, number, replace(route, leaf=taken))
            for fragment in plan.fragments
            for number, route in enumerate(fragment.routes)
            if isinstance(route.leaf, Scan) and route.leaf.stream.name == definition.name
            if (taken := sharing.taken(route.leaf)) is not None
        ]
        attributes = {a.name: a for a in definition.attributes if not a.virtual}
        read = {name for reader in self._readers for name in reader.names} | {definition.timestamp}
        self._attributes = [attribute for name, attribute in attributes.items() if name in read]

    @property
    def names(self) -> list[str]:
        """The columns that somebody reads."""
        return [attribute.name for attribute in self._attributes]

    def times(self, batch: pa.RecordBatch) -> Ints:
        """The instants of a batch's rows; where there is none, some other number."""
        (attribute,) = (a for a in self._attributes if a.name == self.definition.timestamp)
        column = _column(batch, attribute.name, self.definition)
        return instants_of(encode_column(column, attribute.type, self._dictionary)[0], self.definition.unit)

    def take(self, batch: pa.RecordBatch, progress: Progress | None = None) -> tuple[list[Sent], Ints]:
        """The rows of a batch for every leaf, and the timestamps of the rows that are on time.

        They are judged by `progress`, the stream's own unless another is given.
        """
        encoded = []
        for attribute in self._attributes:
            column = _column(batch, attribute.name, self.definition)
            encoded.append(encode_column(column, attribute.type, self._dictionary))
        counted, nulls = encoded[self.names.index(self.definition.timestamp)]
        ts = instants_of(counted, self.definition.unit)
        kept = on_time(ts, nulls, progress or self.progress, self.definition.delay, self._horizon)
        if not kept.all():
            ts = ts[kept]
            encoded = [(codes[kept], None if null is None else null[kept]) for codes, null in encoded]
        arrived = _Arrived(ts, self.names, encoded)
        return [reader.send(arrived, self._dictionary) for reader in self._readers], ts


def instants_of(counted: Ints, unit: TimeUnit) -> Ints:
    """The instants that a column of times counts in its unit; below 0 where there is none that fits.

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
    """Rows that are on time, as columns, and as rows for whom columns will not do."""

    ts: Ints
    names: list[str]
    columns: list[tuple[Ints, Nulls]]

    @cached_property
    def rows(self) -> Ints:
        return assemble(self.columns, len(self.ts))

    @cached_property
    def ones(self) -> Ints:
        """How often each row comes."""
        return np.ones(len(self.ts), np.int64)

    @cached_property
    def zeros(self) -> Ints:
        """To which cell each goes, where there is one."""
        return np.zeros(len(self.ts), np.int64)

    def take(self, some: Ints) -> _Arrived:
        columns = [(codes[some], None if nulls is None else nulls[some]) for codes, nulls in self.columns]
        return _Arrived(self.ts[some], self.names, columns)


class _Reader:
    """One leaf that reads a stream."""

    def __init__(self, fragment: Fragment, leaf: int, route: Route) -> None:
        scan = route.leaf
        assert isinstance(scan, Scan)
        self._fragment, self._leaf, self._route, self._scan = fragment, leaf, route, scan
        self._everywhere = np.arange(fragment.cells)
        exprs = [*scan.where, *(output.expr for output in scan.outputs)]
        exprs += [expr for dimension in route.dimensions if dimension for expr in dimension]
        self.names = {column.name for expr in exprs for column in columns(expr)}
        self._compiled_for: list[str] | None = None

    def send(self, arrived: _Arrived, dictionary: Dictionary) -> Sent:
        self._compile(arrived.names)
        if self._partitions is not None:
            arrived = arrived.take(np.flatnonzero(self._partitions(arrived.rows, dictionary)))
        kept = None if self._where is None else np.flatnonzero(self._where(arrived.rows, dictionary))
        taken = arrived if kept is None else arrived.take(kept)
        if self._takes_columns:
            out = assemble([taken.columns[place] for place in self._places], len(taken.ts))
        else:
            out = self._project(taken.rows, dictionary)
        deltas = Deltas(taken.ts, arrived.ones[: len(out)], out)
        if self._scan.counts and kept is not None:
            deltas = self._counted(arrived, kept, out, dictionary)
        if self._router.is_trivial:
            return Sent(self._fragment.number, self._leaf, arrived.zeros[: len(deltas)], deltas)
        if isinstance(self._scan.spec, Rows):
            return self._ticking(deltas, *self._router.cells(arrived.rows, dictionary))
        routed = arrived if self._scan.counts else taken
        picked, cells = self._router.cells(routed.rows, dictionary)
        return Sent(self._fragment.number, self._leaf, cells, deltas.take(picked))

    def _counted(self, arrived: _Arrived, kept: Ints, out: Ints, dictionary: Dictionary) -> Deltas:
        """All rows, those that the filter leaves out with weight 0 and nothing but the values of their partition."""
        weight, rows = np.zeros(len(arrived.ts), np.int64), np.empty((len(arrived.ts), out.shape[1]), np.int64)
        weight[kept] = 1
        rows[kept], rows[weight == 0] = out, self._bare(arrived.rows[weight == 0], dictionary)
        return Deltas(arrived.ts, weight, rows)

    def _ticking(self, deltas: Deltas, picked: Ints, cells: Ints) -> Sent:
        """The rows of a stream that is counted as a whole: where one does not go, it still counts."""
        shape = len(deltas), len(self._everywhere)
        weight = np.zeros(shape, np.int64)
        weight[picked, cells] = deltas.weight[picked]
        everywhere = deltas.take(np.repeat(np.arange(len(deltas)), len(self._everywhere)))
        everywhere = everywhere.counting(weight.reshape(-1) != 0)
        everywhere.rows[everywhere.weight == 0] = null_row(len(self._scan.schema))
        return Sent(self._fragment.number, self._leaf, np.tile(self._everywhere, len(deltas)), everywhere)

    def _compile(self, names: list[str]) -> None:
        if self._compiled_for == names:
            return
        self._compiled_for = names
        schema = _raw_schema(self._scan.stream, names)
        by = self._scan.spec.by if isinstance(self._scan.spec, PartitionRows) else ()
        # A predicate on the partition's columns takes all rows of a partition or none, which then need not count.
        whole = tuple(p for p in self._scan.where if columns(p) and columns(p) <= frozenset(by))
        where = tuple(p for p in self._scan.where if p not in whole)
        outputs = tuple(output.expr for output in self._scan.outputs)
        self._partitions = compile_predicate(whole, schema) if whole else None
        self._where = compile_predicate(where, schema) if where else None
        self._project = projection(outputs, schema)
        bare = (o.expr if o.column in by else Literal(None, o.expr.type) for o in self._scan.outputs)
        self._bare = projection(tuple(bare), schema)
        self._router = Router(self._fragment, self._route, schema)
        self._places = [schema.index(output) for output in outputs if isinstance(output, Column)]
        #: Whether nothing is computed for its rows.
        self._takes_columns = len(self._places) == len(outputs)


def _raw_schema(stream: Stream, names: list[str]) -> Schema:
    by_name: dict[str, Column] = {column.name: column for column in stream.schema}
    return tuple(by_name[name] for name in names)
