"""DuckDB as a second opinion: it cuts the windows out of the raw rows by SQL, and runs its own form of the query.

It gets from us only declarations and rows. Late rows are found by SQL, too.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from penstock.catalog import Attribute, Catalog, StreamDef, TableDef
from penstock.types import TIMESTAMP
from tests.generators import Case
from tests.generators.duckdb_sql import literal, type_sql
from tests.reference.values import Bag, Row, Value

_EPOCH = datetime.datetime(1970, 1, 1)
_CONNECTION = duckdb.connect(config={"threads": 1})


@dataclass(frozen=True, slots=True)
class History:
    """What a query's relation holds at every instant, and the instants at which a row of its streams arrives."""

    relation: dict[int, Bag]
    arrivals: set[int]


def history(case: Case, catalog: Catalog, streams: Iterable[str], horizon: int) -> History:
    """What DuckDB says of a case up to the horizon; `streams` are those that its query reads."""
    with _loaded(case, catalog, horizon):
        relation = {t: _rows(case.oracle, t) for t in range(horizon + 1)}
        arrivals = {ts for name in streams for (ts,) in _rows(f"SELECT _ts FROM {name}", 0) if isinstance(ts, int)}
    return History(relation, arrivals)


def _rows(query: str, t: int) -> Bag:
    parameters = {"t": t} if "$t" in query else {}
    return [tuple(map(_value, row)) for row in _CONNECTION.execute(query, parameters).fetchall()]


def _value(value: object) -> Value:
    """A value as `penstock.types` holds it."""
    if isinstance(value, datetime.datetime):
        return (value - _EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - _EPOCH.date()).days
    return value  # type: ignore[return-value]


@contextmanager
def _loaded(case: Case, catalog: Catalog, horizon: int) -> Iterator[None]:
    """A table for each stream and table of the case, in a transaction that is taken back."""
    _CONNECTION.begin()
    try:
        for name, rows in case.data.items():
            definition = catalog.get(name)
            if isinstance(definition, StreamDef):
                _create(f"raw_{name}", definition.attributes, rows)
                _CONNECTION.execute(_without_late_rows(definition, horizon))
            elif isinstance(definition, TableDef):
                _create(name, definition.attributes, rows)
        yield
    finally:
        _CONNECTION.rollback()


def _create(name: str, attributes: tuple[Attribute, ...], rows: Sequence[Row]) -> None:
    columns = ", ".join(f"{attribute.name} {type_sql(attribute.type)}" for attribute in attributes)
    _CONNECTION.execute(f"CREATE TABLE {name} ({columns}, _n BIGINT)")
    values = ", ".join(_row(row, attributes, place) for place, row in enumerate(rows))
    if values:
        _CONNECTION.execute(f"INSERT INTO {name} VALUES {values}")


def _row(row: Row, attributes: tuple[Attribute, ...], place: int) -> str:
    values = (literal(value, attribute.type) for value, attribute in zip(row, attributes, strict=True))
    return f"({', '.join(values)}, {place})"


def _without_late_rows(stream: StreamDef, horizon: int) -> str:
    """A table of the rows that exist and come no later than the delay allows, with their time as `_ts`."""
    types = {attribute.name: attribute.type for attribute in stream.attributes}
    time = f"epoch_us({stream.timestamp})" if types[stream.timestamp] == TIMESTAMP else stream.timestamp
    before = "OVER (ORDER BY _n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    return f"""
        CREATE TABLE {stream.name} AS
        SELECT *, {time} AS _ts FROM raw_{stream.name} WHERE {time} <= {horizon}
        QUALIFY coalesce(max({time}) {before}, 0) <= {time} + {stream.delay}
    """
