"""The work of a query: all that sources and cells must know, as one value that Spark sends to its workers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.algebra.physical import Received, Scan
from penstock.algebra.relations import Query, Schema, Table, streams
from penstock.algebra.zones import DEFAULT
from penstock.catalog import Catalog, StreamDef, TableDef
from penstock.engines.planning import plan_of
from penstock.engines.routing import Router
from penstock.engines.spark.addresses import Addresses
from penstock.engines.spark.packing import rows_packets
from penstock.engines.spark.residence import new_run
from penstock.errors import PenstockError
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Fragment, Plan, Route
from penstock.synopsis.codes import encode_column
from penstock.synopsis.deltas import Deltas, assemble
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints

#: Changes when state that an older version wrote can no longer be read.
STATE_VERSION = 8


@dataclass(frozen=True)
class Work:
    name: str
    plan: Plan
    schema: Schema
    streams: tuple[StreamDef, ...]
    cells: int
    horizon: int | None
    #: What must not change between a checkpoint and a restart.
    fingerprint: str
    #: Tells this start of the query from all others (`residence.new_run`).
    run: str
    #: The packets of static tables by address.
    tables: Mapping[int, tuple[bytes, ...]]
    #: The folder that cells write results to; None if they hand them on.
    out: str | None = None
    #: The folder under which cells put rows on disk.
    spill: str | None = None
    zone: str = DEFAULT

    @cached_property
    def addresses(self) -> Addresses:
        return Addresses(self.plan, self.cells)

    @cached_property
    def own(self) -> frozenset[str]:
        """The streams of the query's windows. Others are read for their punctuations: their times are not its own."""
        return frozenset(stream.name for stream in streams(self.plan.query.relation))

    @cached_property
    def delays(self) -> dict[str, int]:
        return {stream.name: stream.delay for stream in self.streams}

    @cached_property
    def exchanges(self) -> dict[int, list[Exchange]]:
        """By the fragment that sends: where its rows are received."""
        exchanges: dict[int, list[Exchange]] = {}
        for fragment, number, route in _routes(self.plan):
            if isinstance(route.leaf, Received):
                router = Router(fragment, route, route.leaf.schema)
                exchanges.setdefault(route.leaf.fragment, []).append(Exchange(fragment.number, number, router))
        return exchanges

    def __getstate__(self) -> dict[str, object]:
        """Without what was computed: compiled expressions do not travel."""
        return {name: value for name, value in vars(self).items() if name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class Exchange:
    """The way to a leaf of another fragment."""

    fragment: int
    leaf: int
    router: Router


def make_work(
    query: Query,
    catalog: Catalog,
    cells: int,
    horizon: int | None,
    forgetting: Forgetting = EAGER,
    planned: Plan | None = None,
) -> Work:
    """The work of a query, still without its tables. `planned` is its plan, if there is one already."""
    planned = planned or plan_of(query, catalog, cells, forgetting)
    names = {route.leaf.stream.name for _, _, route in _routes(planned) if isinstance(route.leaf, Scan)}
    streams = tuple(stream for stream in catalog.streams if stream.name in names)
    described = repr((STATE_VERSION, planned.fragments, planned.kind, planned.comes_once, query.schema, horizon, cells))
    described += repr([(s.name, s.attributes, s.timestamp, s.delay, s.unit) for s in streams])
    fingerprint = f"{hashlib.blake2b(described.encode(), digest_size=16).hexdigest()} {query.zone}"
    return Work(query.name, planned, query.schema, streams, cells, horizon, fingerprint, new_run(), {}, zone=query.zone)


def tables_of(work: Work, catalog: Catalog) -> list[TableDef]:
    """The static tables that a query reads."""
    names = {route.leaf.name for _, _, route in _routes(work.plan) if isinstance(route.leaf, Table)}
    return [table for table in catalog.tables if table.name in names]


def with_tables(work: Work, contents: Mapping[str, pa.Table]) -> Work:
    """The work with the rows of static tables, which are there from instant 0 on."""
    packets: dict[int, list[bytes]] = {}
    for fragment, number, route in _routes(work.plan):
        if isinstance(route.leaf, Table):
            dictionary = Dictionary()
            rows = _encoded(contents[route.leaf.name], route.leaf, dictionary)
            picked, cells = Router(fragment, route, route.leaf.schema).cells(rows, dictionary)
            for cell in range(fragment.cells):
                mine = rows[picked[cells == cell]]
                deltas = Deltas(np.zeros(len(mine), np.int64), np.ones(len(mine), np.int64), mine)
                address = work.addresses.of(fragment.number, cell)
                sent = rows_packets(deltas, route.leaf.schema, dictionary, number, address)
                packets.setdefault(address, []).extend(sent)
    return replace(work, tables={address: tuple(sent) for address, sent in packets.items()})


def _routes(planned: Plan) -> list[tuple[Fragment, int, Route]]:
    return [(fragment, i, route) for fragment in planned.fragments for i, route in enumerate(fragment.routes)]


def _encoded(contents: pa.Table, leaf: Table, dictionary: Dictionary) -> Ints:
    columns = []
    for column in leaf.schema:
        found = [i for i, name in enumerate(contents.schema.names) if name.lower() == column.name.lower()]
        if len(found) != 1:
            given = ", ".join(contents.schema.names)
            raise PenstockError(f"the table {leaf.name} has no column {column.name}", f"it has {given}")
        columns.append(encode_column(contents.column(found[0]), column.type, dictionary))
    return assemble(columns, contents.num_rows)
