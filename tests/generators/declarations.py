"""Streams, tables and their rows.

A column's name tells its type in every stream and table, so that `JOIN ... USING` finds partners; values come from
small pools, so that joins find partners too, with the edges of each type among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from hypothesis import strategies as st

from penstock.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
    decimal,
)
from tests.generators.features import Features

Value = bool | int | float | Decimal | str | bytes | None

COLUMNS: dict[str, Type] = {
    "k": BIGINT,
    "n": BIGINT,
    "w": STRING,
    "i": INT,
    "x": DOUBLE,
    "p": decimal(6, 2),
    "f": BOOLEAN,
    "m": TIMESTAMP,
    "d": DATE,
    "h": BINARY,
}

#: What comes first is simplest, and what stands twice comes twice as often. The sums of DOUBLEs are exact.
POOLS: dict[Kind, tuple[Value, ...]] = {
    Kind.BIGINT: (0, 1, 2, 3, 1, 2, 1, 2, 1, 3, -1, -7, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63)),
    Kind.INT: (0, 1, 2, 3, 1, 2, 1, 2, -1, -7, 2**31 - 1, -(2**31)),
    Kind.STRING: ("", "a", "b", "ab", "a", "A", " a", "é", "日本", "😀", "10", "-3 ", "true", "a%", "it's"),
    Kind.DOUBLE: (0.0, 1.0, 1.5, -2.25, 0.5, 1.0, -0.0, 1024.0, float("nan"), float("inf"), float("-inf")),
    Kind.DECIMAL: tuple(map(Decimal, ("0.00", "1.00", "1.50", "-2.25", "1.00", "0.05", "9999.99"))),
    Kind.BOOLEAN: (False, True),
    Kind.TIMESTAMP: (0, 1, 2, 3, 500_000, DAY, 1_709_210_096_123_456, -1),
    Kind.DATE: (0, 1, 2, 1, 19_782, -1),
    Kind.BINARY: (b"", b"a", b"\x00", b"\xff\x00", "é".encode()),
}
SMALL_KEYS: tuple[Value, ...] = (1, 2, 3, 1, 2, None)


@dataclass(frozen=True, slots=True)
class TableDecl:
    name: str
    columns: tuple[tuple[str, Type], ...]

    @property
    def ddl(self) -> str:
        return f"CREATE TABLE {self.name} ({_columns(self.columns)});"


@dataclass(frozen=True, slots=True)
class StreamDecl:
    name: str
    columns: tuple[tuple[str, Type], ...]
    delay: int

    @property
    def ddl(self) -> str:
        delay = f" DELAY {self.delay} MICROSECONDS" if self.delay else ""
        return f"CREATE STREAM {self.name} ({_columns(self.columns)}) TIMESTAMP BY ts{delay};"

    @property
    def time_type(self) -> Type:
        return dict(self.columns)["ts"]


Row = tuple[Value, ...]


def _columns(columns: tuple[tuple[str, Type], ...]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in columns)


@st.composite
def streams(draw: st.DrawFn, features: Features) -> tuple[StreamDecl, ...]:
    count = draw(st.integers(1, features.max_streams))
    return tuple(draw(_stream(name, features)) for name in "rst"[:count])


@st.composite
def tables(draw: st.DrawFn, features: Features) -> tuple[TableDecl, ...]:
    wanted = features.tables and draw(st.integers(0, 3)) == 3
    return (TableDecl("g", draw(_some_columns(features))),) if wanted else ()


@st.composite
def _stream(draw: st.DrawFn, name: str, features: Features) -> StreamDecl:
    columns = draw(_some_columns(features))
    time = ("ts", draw(st.sampled_from([BIGINT, BIGINT, TIMESTAMP])))
    columns = (time, *columns) if draw(st.booleans()) else (*columns, time)
    return StreamDecl(name, columns, draw(st.sampled_from([0, 0, 1, 3, 20])))


@st.composite
def _some_columns(draw: st.DrawFn, features: Features) -> tuple[tuple[str, Type], ...]:
    key, *others = features.columns
    # Columns at the front of the list come more often.
    weighted = [name for place, name in enumerate(others) for _ in range(5 if place < 2 else 1)]
    chosen = draw(st.lists(st.sampled_from(weighted), max_size=3, unique=True)) if weighted else []
    return tuple((name, COLUMNS[name]) for name in (key, *chosen))


@st.composite
def stream_rows(draw: st.DrawFn, stream: StreamDecl, features: Features) -> list[Row]:
    """Rows in arrival order: by time, or out of order within the delay, or anyhow."""
    row = st.tuples(*(_field(name, type_, features.max_time) for name, type_ in stream.columns))
    rows = draw(_bag(row, features.max_rows))
    place = [name for name, _ in stream.columns].index("ts")
    orders = ["by time", "by time"]
    orders += ["within the delay"] * 2 if features.disorder else []
    orders += ["anyhow"] if features.disorder and features.late_rows else []
    order = draw(st.sampled_from(orders))
    if order == "by time":
        return sorted(rows, key=lambda row: _time(row, place))
    if order == "within the delay":
        # A row that is held back by at most the delay overtakes none that is more than the delay older.
        held = [draw(st.integers(0, stream.delay)) for _ in rows]
        arrivals = sorted(range(len(rows)), key=lambda i: _time(rows[i], place) + held[i])
        return [rows[i] for i in arrivals]
    return rows


@st.composite
def table_rows(draw: st.DrawFn, table: TableDecl, features: Features) -> list[Row]:
    row = st.tuples(*(_field(name, type_, features.max_time) for name, type_ in table.columns))
    return draw(_bag(row, min(4, features.max_rows)))


@st.composite
def _bag(draw: st.DrawFn, row: st.SearchStrategy[Row], most: int) -> list[Row]:
    """Rows, some of them more than once. Hypothesis prefers short lists, but out of nothing nothing comes."""
    least = draw(st.sampled_from((0, 2, 5, 5, 5)))
    times = st.sampled_from((1, 1, 1, 2))
    counted = draw(st.lists(st.tuples(row, times), min_size=min(least, most), max_size=most))
    return [each for each, count in counted for _ in range(count)][:most]


def _time(row: Row, place: int) -> int:
    time = row[place]
    assert isinstance(time, int)
    return time


def _field(name: str, type_: Type, max_time: int) -> st.SearchStrategy[Value]:
    if name == "ts":
        return st.integers(0, max_time)
    pool = SMALL_KEYS if name == "k" else POOLS[type_.kind]
    return st.sampled_from((*pool, None))
