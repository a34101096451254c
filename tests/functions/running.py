"""A stream of one row per value, and queries over it that call user functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

import penstock


def session_over(**streams: Mapping[str, Any]) -> penstock.Session:
    """A session with streams of these columns, whose rows arrive a microsecond apart."""
    session = penstock.Session()
    for name, columns in streams.items():
        count = len(next(iter(columns.values())))
        times = pa.array(range(count), pa.timestamp("us", "UTC"))
        session.stream(name, pa.table({**columns, "ts": times}), timestamp="ts")
    return session


def values(session: penstock.Session, query: str, cells: int = 1) -> list[Any]:
    """The values of a query's one column, in the order of their arrival."""
    found = session.query(query).to_arrow(cells=cells)
    (name,) = found.column_names[2:]
    return found.sort_by("_ts").column(name).to_pylist()


def rows(session: penstock.Session, query: str, cells: int = 1) -> list[tuple[Any, ...]]:
    """The rows of a query, without their times, sorted."""
    found = session.query(query).to_arrow(cells=cells)
    return sorted((tuple(row.values())[1:] for row in found.to_pylist()), key=str)


def refusal(session: penstock.Session, query: str) -> str:
    """What is said of a query that is refused or fails."""
    try:
        session.query(query).to_arrow()
    except penstock.PenstockError as error:
        return str(error)
    raise AssertionError(f"not refused: {query}")
