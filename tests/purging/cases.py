"""Random joins with declarations that hold, and data for them: rows that would break one do not come.

Whether a row may come is decided from the definitions, on all rows that came before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from penstock.algebra.relations import Query
from penstock.catalog import Catalog
from penstock.sql import bind_text
from tests.generators import Case

SECOND = 1_000_000
COLUMNS = ("a", "b")
#: Windows whose rows leave when others come, or enter later than they come.
COUNTED = (" [ROWS 3]", " [ROWS 8]")
SLIDING = (
    " [RANGE 6 SECONDS SLIDE 4 SECONDS]",
    " [RANGE 9 SECONDS SLIDE 3 SECONDS]",
    " [RANGE 2 SECONDS SLIDE 5 SECONDS]",
)
PARTITIONED = (" [PARTITION BY a ROWS 2]",)
WINDOWS = ("", "", "", " [RANGE 3 SECONDS]", " [RANGE 8 SECONDS]", *COUNTED, *SLIDING, *PARTITIONED)
#: What a query gives of its results.
OUTPUTS = ("{}", "{}", "{}", "ISTREAM({})", "ISTREAM({})", "DSTREAM({})", "RSTREAM({})")


@dataclass(frozen=True, slots=True)
class Row:
    stream: str
    ts: int
    a: int | None
    b: int | None
    closes: bool

    def values(self, columns: tuple[str, ...]) -> tuple[int | None, ...]:
        return tuple(getattr(self, column) for column in columns)


#: Says whether a row may come after those.
Allows = Callable[[list[Row], Row], bool]


@dataclass(frozen=True, slots=True)
class Declared:
    """A constraint of a stream, as it is written and as it is meant."""

    stream: str
    text: str
    allows: Allows


def within(k: int, in_time: bool) -> str:
    return f"WITHIN {k} SECONDS" if in_time else f"WITHIN {k} ROWS"


def holds(k: int, in_time: bool, rows: int, time: int) -> bool:
    return time <= k * SECOND if in_time else rows <= k


def unique(stream: str, columns: tuple[str, ...]) -> Declared:
    def allows(past: list[Row], row: Row) -> bool:
        mine = (other for other in past if other.stream == stream)
        return row.stream != stream or all(other.values(columns) != row.values(columns) for other in mine)

    return Declared(stream, f"UNIQUE ({', '.join(columns)})", allows)


def punctuated(stream: str, columns: tuple[str, ...]) -> Declared:
    """A punctuation rules out what comes after its instant."""

    def allows(past: list[Row], row: Row) -> bool:
        closing = (other for other in past if other.stream == stream and other.closes and other.ts < row.ts)
        return row.stream != stream or all(other.values(columns) != row.values(columns) for other in closing)

    return Declared(stream, f"PUNCTUATED BY ({', '.join(columns)}) WHEN closes = 1", allows)


def punctuated_for(stream: str, columns: tuple[str, ...], seconds: int) -> Declared:
    """So long after a punctuation; then its values may come again."""

    def allows(past: list[Row], row: Row) -> bool:
        closing = (
            other
            for other in past
            if other.stream == stream and other.closes and other.ts < row.ts <= other.ts + seconds * SECOND
        )
        return row.stream != stream or all(other.values(columns) != row.values(columns) for other in closing)

    text = f"PUNCTUATED BY ({', '.join(columns)}) WHEN closes = 1 LIFESPAN {seconds} SECONDS"
    return Declared(stream, text, allows)


def punctuated_from(stream: str, columns: tuple[str, ...], source: str) -> Declared:
    def allows(past: list[Row], row: Row) -> bool:
        closing = (other for other in past if other.stream == source and other.ts < row.ts)
        return row.stream != stream or all(other.values(columns) != row.values(columns) for other in closing)

    listed = ", ".join(columns)
    return Declared(stream, f"PUNCTUATED BY ({listed}) FROM {source} ({listed})", allows)


def clustered(stream: str, columns: tuple[str, ...], k: int, in_time: bool) -> Declared:
    def allows(past: list[Row], row: Row) -> bool:
        if row.stream != stream:
            return True
        mine = [other for other in past if other.stream == stream]
        for place, other in enumerate(mine):
            if other.values(columns) == row.values(columns):
                between = sum(later.values(columns) != row.values(columns) for later in mine[place + 1 :])
                if not holds(k, in_time, between, row.ts - other.ts):
                    return False
        return True

    return Declared(stream, f"CLUSTERED BY ({', '.join(columns)}) {within(k, in_time)}", allows)


def ordered(stream: str, column: str, k: int, in_time: bool) -> Declared:
    def allows(past: list[Row], row: Row) -> bool:
        value = getattr(row, column)
        if row.stream != stream or value is None:
            return True
        mine = [other for other in past if other.stream == stream]
        for place, other in enumerate(mine):
            before = getattr(other, column)
            is_before = before is None or before <= value
            if not is_before and not holds(k, in_time, len(mine) - place, row.ts - other.ts):
                return False
        return True

    return Declared(stream, f"ORDERED BY {column} {within(k, in_time)}", allows)


def reference(stream: str, column: str, target: str, other_column: str, k: int, in_time: bool) -> Declared:
    def allows(past: list[Row], row: Row) -> bool:
        if row.stream != target:
            return True
        for place, other in enumerate(past):
            if other.stream == stream and getattr(other, column) == getattr(row, other_column):
                come = sum(later.stream == target for later in past[place + 1 :]) + 1
                if not holds(k, in_time, come, row.ts - other.ts):
                    return False
        return True

    text = f"FOREIGN KEY ({column}) REFERENCES {target} ({other_column}) {within(k, in_time)}"
    return Declared(stream, text, allows)


@dataclass(frozen=True, slots=True)
class Purging:
    case: Case
    query: Query
    catalog: Catalog


def purging_case(seed: int, rows: int = 40, windows: tuple[str, ...] = WINDOWS) -> Purging:
    random = Random(seed)
    names = [f"s{n}" for n in range(random.choice((2, 2, 3, 3, 4)))]
    edges = list(join_edges(random, names))
    declared = [one for name in names for one in _declared(random, name, names, edges)]
    return data_case(random, names, declared, join_select(random, names, edges, windows), rows)


def filtered_case(seed: int, rows: int = 40) -> Purging:
    """Windows of rows, each with a filter over it: of a stream's own columns, and of two that a join makes equal."""
    random = Random(seed)
    names = [f"s{n}" for n in range(random.choice((1, 2, 2, 3, 3)))]
    edges = list(join_edges(random, names)) if len(names) > 1 else []
    declared = [one for name in names for one in _declared(random, name, names, edges)]
    windows = (*COUNTED, *COUNTED, " [ROWS 1]", *PARTITIONED, "", " [RANGE 8 SECONDS]")
    sources = ", ".join(name + random.choice(windows) for name in names)
    filters = ("{}.closes = 0", "{}.a % 3 <> 1", "{}.b > {}.a - 2", "{}.a = {}.b", "{}.b IS NOT NULL OR {}.closes = 1")
    on = [f"{one}.{column} = {other}.{theirs}" for one, column, other, theirs in edges]
    on += [random.choice(filters).format(name, name) for name in names if len(names) == 1 or random.random() < 0.7]
    where = f" WHERE {' AND '.join(on)}" if on else ""
    columns = ", ".join(f"{name}.{random.choice(COLUMNS)} AS c{n}" for n, name in enumerate(names))
    shapes = {
        f"SELECT {random.choice(OUTPUTS).format(columns)} FROM {sources}{where}": 6,
        f"SELECT {random.choice(OUTPUTS).format(f'{names[0]}.a + 1 AS c, {names[-1]}.b')} FROM {sources}{where}": 2,
        f"SELECT {names[0]}.a, COUNT(*) AS n, MAX({names[-1]}.b) AS m FROM {sources}{where} GROUP BY {names[0]}.a": 2,
        f"SELECT COUNT(*) AS n, SUM({names[0]}.a) AS m FROM {sources}{where}": 1,
        f"SELECT DISTINCT {names[0]}.b FROM {sources}{where}": 1,
    }
    select = random.choices(list(shapes), list(shapes.values()))[0]
    return data_case(random, names, declared, select, rows)


def data_case(
    random: Random, names: list[str], declared: list[Declared], select: str, rows: int, drift: int = 4
) -> Purging:
    """A query over streams of these names, with rows that keep what is declared. Values grow by 1 in so many rows."""
    past = list(_rows(random, [*names, "closed"], declared, rows, drift))
    ddl = "\n".join(_ddl(name, declared) for name in ["closed", *names])
    data = {name: [(r.a, r.b, int(r.closes), r.ts) for r in past if r.stream == name] for name in [*names, "closed"]}
    case = Case(ddl, select, data, None, "")
    bound = bind_text(case.script).checked()
    return Purging(case, bound.queries[0], bound.catalog)


def join_edges(random: Random, names: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """A tree of equalities, and at times one more that closes a cycle."""
    for n, name in enumerate(names[1:], start=1):
        yield name, random.choice(COLUMNS), random.choice(names[:n]), random.choice(COLUMNS)
    if random.random() < 0.4:
        one, other = random.sample(names, 2)
        yield one, random.choice(COLUMNS), other, random.choice(COLUMNS)


def _declared(
    random: Random, name: str, names: list[str], edges: list[tuple[str, str, str, str]]
) -> Iterator[Declared]:
    if random.random() < 0.5:
        yield unique(name, (random.choice(COLUMNS),))
    if random.random() < 0.35:
        yield punctuated(name, random.choice((("a",), ("b",), ("a", "b"))))
    if random.random() < 0.2:
        yield punctuated_from(name, (random.choice(COLUMNS),), "closed")
    if random.random() < 0.2:
        yield punctuated_for(name, (random.choice(COLUMNS),), random.randint(1, 8))
    if random.random() < 0.3:
        yield clustered(name, (random.choice(COLUMNS),), random.randint(0, 4), random.random() < 0.4)
    if random.random() < 0.3:
        yield ordered(name, random.choice(COLUMNS), random.randint(0, 4), random.random() < 0.4)
    for one, column, other, other_column in edges:
        for child, own, target, theirs in ((one, column, other, other_column), (other, other_column, one, column)):
            if child == name and child != target and random.random() < 0.5:
                yield reference(child, own, target, theirs, random.randint(0, 4), random.random() < 0.4)


def _rows(random: Random, names: list[str], declared: list[Declared], count: int, drift: int) -> Iterator[Row]:
    past: list[Row] = []
    ts = SECOND
    for _ in range(count):
        ts += random.choice((0, 0, 1, 1, 2)) * SECOND
        base = len(past) // drift
        for _ in range(6):  # some attempts to find a row that may come
            a, b = (None if random.random() < 0.03 else max(0, base + random.randint(-3, 2)) for _ in COLUMNS)
            row = Row(random.choice(names), ts, a, b, random.random() < 0.3)
            if all(one.allows(past, row) for one in declared):
                past.append(row)
                yield row
                break


def _ddl(name: str, declared: list[Declared]) -> str:
    mine = "".join(f", {one.text}" for one in declared if one.stream == name)
    return f"CREATE STREAM {name} (a BIGINT, b BIGINT, closes INT, ts TIMESTAMP{mine}) TIMESTAMP BY ts;"


def join_select(
    random: Random, names: list[str], edges: list[tuple[str, str, str, str]], windows: tuple[str, ...] = WINDOWS
) -> str:
    chosen = [random.choice(windows) for _ in names]
    if windows is WINDOWS and random.random() < 0.4:
        chosen = ["" for _ in names]
    sources = ", ".join(name + window for name, window in zip(names, chosen, strict=True))
    on = [f"{one}.{column} = {other}.{theirs}" for one, column, other, theirs in edges]
    if random.random() < 0.3:
        one, other = random.sample(names, 2)
        on.append(f"{one}.ts BETWEEN {other}.ts - INTERVAL 2 SECONDS AND {other}.ts + INTERVAL 3 SECONDS")
    if random.random() < 0.3:
        on.append(f"{random.choice(names)}.closes = 0")
    if random.random() < 0.2:
        on.append(f"{names[0]}.a + 1 >= {names[1]}.b")
    columns = ", ".join(f"{name}.{random.choice(COLUMNS)} AS c{n}" for n, name in enumerate(names))
    listed = random.choice(OUTPUTS).format(columns)
    if random.random() < 0.15:
        return f"SELECT {names[0]}.a, COUNT(*) AS n FROM {sources} WHERE {' AND '.join(on)} GROUP BY {names[0]}.a"
    return f"SELECT {listed} FROM {sources} WHERE {' AND '.join(on)}"
