"""What generated cases may hold. Users of the generator switch off what they cannot do yet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class WindowKind(Enum):
    UNBOUNDED = "UNBOUNDED"
    RANGE = "RANGE"
    SLIDE = "SLIDE"
    NOW = "NOW"
    ROWS = "ROWS"
    PARTITION = "PARTITION"


@dataclass(frozen=True, slots=True)
class Features:
    windows: tuple[WindowKind, ...] = tuple(WindowKind)
    #: Names of `declarations.COLUMNS`: the columns, and so the types, that streams and tables may have.
    columns: tuple[str, ...] = ("k", "n", "w", "i", "x", "p", "f", "m", "d", "h")
    max_streams: int = 3
    max_rows: int = 8
    #: Timestamps are from 0 to this, windows are about as wide.
    max_time: int = 9
    #: Streams, tables and subqueries in one FROM; more than one are joined.
    max_sources: int = 3
    #: How deep subqueries may stand in each other.
    max_level: int = 2
    tables: bool = True
    joins: bool = True
    #: LEFT, RIGHT and FULL OUTER JOIN.
    outer_joins: bool = True
    functions: bool = True
    casts: bool = True
    #: Calls of `user_functions`. DuckDB has none of them.
    user_functions: bool = False
    #: [NOT] EXISTS and [NOT] IN over queries.
    subqueries: bool = True
    #: The same under OR, NOT, IS NULL and in CASE.
    marks: bool = True
    correlated: bool = True
    scalar_subqueries: bool = True
    derived_tables: bool = True
    views: bool = True
    with_clause: bool = True
    aggregates: bool = True
    distinct: bool = True
    set_operations: bool = True
    to_stream: bool = True
    #: Rows that come out of order, and later than the delay allows.
    disorder: bool = True
    late_rows: bool = True
    #: Leave out what DuckDB computes in another way: see `duckdb_sql`.
    as_duckdb: bool = True


ALL = Features()
