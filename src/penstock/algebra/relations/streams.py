"""Streams, the windows that turn them into relations, and static tables: the leaves of the algebra."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.algebra.expressions import Column, require
from penstock.algebra.relations.relation import Relation, Schema, require_distinct
from penstock.types import Kind, TimeUnit


@dataclass(frozen=True, slots=True)
class Stream:
    """One occurrence of a declared stream in a query. Its columns have the occurrence's name as their scope."""

    name: str
    occurrence: str
    schema: Schema
    timestamp: Column
    #: What a BIGINT timestamp counts; a DATE counts days. Instants are microseconds.
    unit: TimeUnit = TimeUnit.MICROSECONDS

    def __post_init__(self) -> None:
        _require_own_columns(self.schema, self.occurrence)
        require(self.timestamp in self.schema, "a stream is timestamped by one of its columns")
        units = {Kind.BIGINT: tuple(TimeUnit), Kind.DATE: (TimeUnit.DAYS,)}
        counted = units.get(self.timestamp.type.kind, (TimeUnit.MICROSECONDS,))
        require(self.unit in counted, "a BIGINT counts in units, a DATE days")


@dataclass(frozen=True, slots=True)
class Unbounded:
    """`[UNBOUNDED]`: all rows so far."""


@dataclass(frozen=True, slots=True)
class Range:
    """`[RANGE w]` at t: rows with t-w <= ts <= t. With SLIDE m: the same at floor(t/m)*m. In microseconds."""

    width: int
    slide: int | None = None

    def __post_init__(self) -> None:
        require(self.width >= 0 and (self.slide is None or self.slide > 0), "a window does not reach forward")

    @property
    def lag(self) -> int:
        """How long after its time a row enters the window, at most."""
        return 0 if self.slide is None else self.slide - 1

    @property
    def stay(self) -> int:
        """How long after it has entered a row is in the window, at most.

        >>> Range(5).stay, Range(5, 3).stay, Range(6, 3).stay
        (5, 5, 8)
        """
        return self.width if self.slide is None else (self.width // self.slide + 1) * self.slide - 1


@dataclass(frozen=True, slots=True)
class Rows:
    """`[ROWS n]`: the n rows with the largest (ts, arrival)."""

    count: int

    def __post_init__(self) -> None:
        require(self.count > 0, "a window holds a row")


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """`[PARTITION BY ... ROWS n]`: `[ROWS n]` of the rows with each value of `by`; NULLs are one value."""

    by: tuple[Column, ...]
    count: int

    def __post_init__(self) -> None:
        require(self.count > 0 and bool(self.by), "a partitioned window has columns and holds a row")


WindowSpec = Unbounded | Range | Rows | PartitionRows

NOW = Range(0)


@dataclass(frozen=True, slots=True)
class Window(Relation):
    stream: Stream
    spec: WindowSpec

    def __post_init__(self) -> None:
        if isinstance(self.spec, PartitionRows):
            require(set(self.spec.by) <= set(self.stream.schema), "a window is partitioned by the stream's columns")

    def _schema(self) -> Schema:
        return self.stream.schema


@dataclass(frozen=True, slots=True)
class Table(Relation):
    """One occurrence of a static table: the same bag at every instant."""

    name: str
    occurrence: str
    columns: Schema

    def __post_init__(self) -> None:
        _require_own_columns(self.columns, self.occurrence)

    def _schema(self) -> Schema:
        return self.columns


def _require_own_columns(schema: Schema, occurrence: str) -> None:
    require(all(column.scope == occurrence for column in schema), f"columns of another scope than {occurrence}")
    require_distinct(schema)
