"""The work of a query: all that sources and cells need, as one value that Spark sends to its workers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.algebra.relations import Query, Schema, streams
from penstock.algebra.zones import DEFAULT
from penstock.catalog import Catalog, StreamDef, TableDef
from penstock.engines.exchange import Exchange, exchanges, table_batches
from penstock.engines.planning import plan_of, read_by
from penstock.engines.spark.addresses import Addresses
from penstock.engines.spark.packing import rows_packets
from penstock.engines.spark.state_directory import new_run
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Plan
from penstock.plan.inputs import Input, inputs
from penstock.synopsis.dictionary import Dictionary

#: Changes when state that an older version wrote can no longer be read.
STATE_VERSION = 13


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
    #: The name of this start of the query (`state_directory.new_run`).
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
        return Addresses(self.plan)

    @cached_property
    def own(self) -> frozenset[str]:
        """Returns the streams of the query's windows; others are read for punctuations and do not set its horizon."""
        return frozenset(stream.name for stream in streams(self.plan.query.relation))

    @cached_property
    def delays(self) -> dict[str, int]:
        return {stream.name: stream.delay for stream in self.streams}

    @cached_property
    def exchanges(self) -> dict[int, list[Exchange]]:
        """Returns the exchanges by the number of the sending fragment."""
        return exchanges(self.plan)

    @cached_property
    def inputs(self) -> list[tuple[Input, ...]]:
        """Returns the inputs of each fragment's machines."""
        return [inputs(fragment) for fragment in self.plan.fragments]

    def __getstate__(self) -> dict[str, object]:
        """Leaves out cached properties: compiled expressions cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name in self.__dataclass_fields__}


def make_work(
    query: Query,
    catalog: Catalog,
    cells: int,
    horizon: int | None,
    forgetting: Forgetting = EAGER,
    planned: Plan | None = None,
) -> Work:
    """Returns the work of a query, still without its tables. `planned` is its plan, if there is one already."""
    planned = planned or plan_of(query, catalog, cells, forgetting)
    streams = tuple(read_by([planned], catalog)[0])
    described = repr((STATE_VERSION, planned.fragments, planned.kind, planned.comes_once, query.schema, horizon, cells))
    described += repr([(s.name, s.attributes, s.timestamp, s.delay, s.unit) for s in streams])
    fingerprint = f"{hashlib.blake2b(described.encode(), digest_size=16).hexdigest()} {query.zone}"
    return Work(query.name, planned, query.schema, streams, cells, horizon, fingerprint, new_run(), {}, zone=query.zone)


def tables_of(work: Work, catalog: Catalog) -> list[TableDef]:
    """Returns the static tables that a query reads."""
    return read_by([work.plan], catalog)[1]


def with_tables(work: Work, contents: Mapping[str, pa.Table]) -> Work:
    """Returns the work with the rows of static tables as packets."""
    packets: dict[int, list[bytes]] = {}
    dictionary = Dictionary()
    for batch in table_batches(work.plan, contents, dictionary):
        schema = work.inputs[batch.fragment][batch.input].schema
        for cell, deltas in batch.by_cell():
            address = work.addresses.of(batch.fragment, cell)
            packets.setdefault(address, []).extend(rows_packets(deltas, schema, dictionary, batch.input, address))
    return replace(work, tables={address: tuple(some) for address, some in packets.items()})
