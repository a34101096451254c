"""A query on a few rows, for examples that are worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.algebra.relations import Query
from penstock.catalog import Catalog, StreamDef
from penstock.sql import bind_text
from tests.reference.interpreter import Change, run
from tests.reference.values import Row, Value, identity


def bound(text: str) -> tuple[Query, Catalog]:
    """The one query of a text, and what it declares."""
    script = bind_text(text).checked()
    (query,) = script.queries
    return query, script.catalog


def changes(text: str, horizon: int | None = None, **rows: Sequence[Row]) -> list[tuple[Value, ...]]:
    """What a query emits on the rows of each stream and table, as (time, op, value, ...)."""
    query, catalog = bound(text)
    return [(change.ts, change.op, *change.row) for change in run(query, catalog, rows, horizon)]


def final(text: str, **rows: Sequence[Row]) -> list[Row]:
    """What the query's relation holds in the end: what was inserted without what was deleted."""
    query, catalog = bound(text)
    held: list[Row] = []
    for change in run(query, catalog, rows):
        if change.op == "+":
            held.append(change.row)
        else:
            held.remove(change.row)
    return held


def time_of(stream: StreamDef, row: Row) -> int:
    place = [attribute.name for attribute in stream.attributes].index(stream.timestamp)
    ts = row[place]
    assert isinstance(ts, int)
    return ts


def same(left: Sequence[Change], right: Sequence[Change]) -> bool:
    """Whether two results are the same, as NaN is not equal to itself in Python."""
    return _identities(left) == _identities(right)


def _identities(result: Sequence[Change]) -> list[tuple[int, str, object]]:
    return [(change.ts, change.op, identity(change.row)) for change in result]
