"""Runs a case on the embedded engine in many ways and in the reference, and compares what they say."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from penstock.algebra.relations import Query
from penstock.catalog import Attribute, Catalog, StreamDef, TableDef
from penstock.engines.embedded import EmbeddedEngine
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.sql import bind_text
from penstock.synopsis.codes import arrow_type
from penstock.types import Kind
from tests.generators import Case
from tests.generators.user_functions import catalog_of_functions
from tests.reference.interpreter import run

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

#: What a run gave: how often each (ts, op, row).
Log = Counter[tuple[Any, ...]]


def bound(case: Case) -> tuple[Query, Catalog]:
    script = bind_text(case.script, catalog=catalog_of_functions()).checked()
    return script.queries[0], script.catalog


def expected(case: Case, query: Query, catalog: Catalog) -> Log:
    changes = run(query, catalog, case.data, case.horizon)
    return Counter((change.ts, change.op, *map(comparable, change.row)) for change in changes)


def embedded(
    case: Case, query: Query, catalog: Catalog, cells: int, cuts: Random | int, forgetting: Forgetting = EAGER
) -> Log:
    """`cuts`: rows per batch (0: all in one), or a source of randomness."""
    tables = {t.name: table(t, case.data.get(t.name, ())) for t in catalog.tables}
    engine = EmbeddedEngine(query, catalog, tables, cells, case.horizon, forgetting=forgetting)
    log: Log = Counter()
    for name, rows in batches(case, engine, catalog, cuts):
        engine.push(name, rows)
        log += logged(engine.advance(), query)
    return log + logged(engine.finish(), query)


def batches(
    case: Case, engine: EmbeddedEngine, catalog: Catalog, cuts: Random | int
) -> Sequence[tuple[str, pa.RecordBatch]]:
    return batches_of(case, [stream for stream in catalog.streams if stream.name in engine.streams], cuts)


def batches_of(case: Case, streams: list[StreamDef], cuts: Random | int) -> Sequence[tuple[str, pa.RecordBatch]]:
    if isinstance(cuts, int):
        size = cuts or 10**9
        pieces = [
            (s, list(case.data[s.name][i : i + size])) for s in streams for i in range(0, len(case.data[s.name]), size)
        ]
    else:
        pieces = _random_pieces(case, streams, cuts)
    return [(s.name, batch(s, rows)) for s, rows in pieces if rows]


def _random_pieces(case: Case, streams: list[StreamDef], random: Random) -> list[tuple[StreamDef, list[Any]]]:
    left = {stream.name: list(case.data[stream.name]) for stream in streams}
    pieces = []
    while any(left.values()):
        stream = random.choice([s for s in streams if left[s.name]])
        count = random.randint(1, 4)
        pieces.append((stream, left[stream.name][:count]))
        left[stream.name] = left[stream.name][count:]
    return pieces


def batch(definition: StreamDef, rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
    return table(definition, rows).combine_chunks().to_batches()[0]


def table(definition: StreamDef | TableDef, rows: Sequence[Sequence[Any]]) -> pa.Table:
    attributes = [attribute for attribute in definition.attributes if not attribute.virtual]
    columns = [pa.array([to_arrow(row[i], a) for row in rows], arrow_type(a.type)) for i, a in enumerate(attributes)]
    return pa.table(columns, names=[attribute.name for attribute in attributes])


def to_arrow(value: Any, attribute: Attribute) -> Any:
    if value is None:
        return None
    if attribute.type.kind is Kind.TIMESTAMP:
        return EPOCH + dt.timedelta(microseconds=value)
    if attribute.type.kind is Kind.DATE:
        return EPOCH.date() + dt.timedelta(days=value)
    return value


def logged(output: pa.Table, query: Query) -> Log:
    columns = [output.column(0).to_pylist(), output.column(1).to_pylist()]
    as_numbers = {Kind.TIMESTAMP: pa.int64(), Kind.DATE: pa.int32()}
    for column, values in zip(query.schema, output.columns[2:], strict=True):
        plain = values.cast(as_numbers[column.type.kind]) if column.type.kind in as_numbers else values
        columns.append([comparable(value) for value in plain.to_pylist()])
    return Counter(zip(*columns, strict=True))


def comparable(value: Any) -> Any:
    """A value that equals itself: NaN does, -0.0 is 0.0, and 1 is not 1.0 nor TRUE."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else ("double", value + 0.0)
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, Decimal):
        return ("decimal", value)
    return value
