"""Where rates tell how many rows a bound is, no more are kept. Rates and k are just those of the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pytest

from penstock import check
from penstock.catalog import Clustered, Constraint, Ordered, Reference, WithinRows
from penstock.closing.declarations import constraint_text
from tests.profiling import definitions
from tests.purging.stored import Steps
from tests.seeds import seeds

#: Two values, then the time.
Row = tuple[int, int, int]
#: A column of one stream, and of another.
Edge = tuple[str, str, str, str]
Data = dict[str, list[Row]]
COLUMNS = ("a", "b")
WINDOWS = ("", "", "", " [RANGE 7 MICROSECONDS]", " [RANGE 15 MICROSECONDS]", " [ROWS 4]")


def sizes(script: str) -> dict[str, int]:
    """Of each input of the join, how many rows of it are kept at most, where there is a number."""
    (verdict,) = check(script)
    return {s.stream: s.bound.size for s in verdict.states if s.stream and s.bound.size is not None}


def follow(script: str, data: Data) -> int:
    """Gives how many numbers were looked at."""
    most = sizes(script)
    run = Steps(script)
    if not most or not run.forgets:
        return 0
    for ts, name, row in sorted((row[-1], name, row) for name, rows in data.items() for row in rows):
        run.come(name, row[:-1], ts)
        for stream, size in most.items():
            assert len(run.stored(stream)) <= size, f"{script}\n{data}\n{stream} at {ts}"
    return len(most)


def test_rows_wait_for_what_a_row_refers_to_that_they_refer_to() -> None:
    """Few rows of t come, but many of s refer to each, and all of these wait for u."""
    script = """
    CREATE STREAM s (a BIGINT, ts BIGINT, FOREIGN KEY (a) REFERENCES t (a) WITHIN 1 MICROSECOND,
      RATE 5 PER 5 MICROSECONDS) TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, b BIGINT, ts BIGINT, UNIQUE (a), FOREIGN KEY (b) REFERENCES u (b) WITHIN 60 MICROSECONDS,
      FOREIGN KEY (a) REFERENCES s (a) WITHIN 50 MICROSECONDS, RATE 1 PER 60 MICROSECONDS) TIMESTAMP BY ts;
    CREATE STREAM u (b BIGINT, ts BIGINT, UNIQUE (b), FOREIGN KEY (b) REFERENCES t (b) WITHIN 0 SECONDS)
    TIMESTAMP BY ts;
    SELECT s.a, u.b, s.ts FROM s, t, u WHERE s.a = t.a AND t.b = u.b
    """
    assert sizes(script) == {"s": 65, "t": 3}
    run = Steps(script)
    run.come("t", (1, 7), 1)
    for ts in range(2, 50):
        run.come("s", (1,), ts)
    assert len(run.stored("s")) == 48
    run.come("u", (7,), 60)
    assert not run.stored("s")


def test_rows_stay_as_long_as_their_results() -> None:
    """A row of s has met its row of t, which is in its window for longer, and then takes the result back."""
    script = """
    CREATE STREAM s (a BIGINT, ts BIGINT, FOREIGN KEY (a) REFERENCES t (a) WITHIN 4 MICROSECONDS,
      RATE 5 PER 5 MICROSECONDS) TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, ts BIGINT, UNIQUE (a), RATE 1 PER 10 MICROSECONDS) TIMESTAMP BY ts;
    SELECT s.a, s.ts FROM s, t [RANGE 15 MICROSECONDS] WHERE s.a = t.a
    """
    assert sizes(script)["s"] >= 15
    run = Steps(script)
    run.come("t", (1,), 1)
    for ts in range(2, 17):
        run.come("s", (1,), ts)
    assert len(run.stored("s")) == 15


@pytest.mark.parametrize("block", range(3))
def test_no_more_is_kept_than_the_numbers_say(block: int) -> None:
    counted = sum(follow(*random_case(Random(seed))) for seed in seeds(12, start=block * 300))
    assert counted, "no bound has a number"


def random_case(random: Random) -> tuple[str, Data]:
    names = [f"s{n}" for n in range(random.choice((2, 2, 3, 3, 4)))]
    data = random_rows(random, names, 60)
    edges = [
        (name, random.choice(COLUMNS), random.choice(names[:n]), random.choice(COLUMNS))
        for n, name in enumerate(names[1:], start=1)
    ]
    ddl = "\n".join(declaration(name, constraints(random, name, data, edges)) for name in names)
    sources = ", ".join(name + random.choice(WINDOWS) for name in names)
    on = " AND ".join(f"{one}.{column} = {other}.{theirs}" for one, column, other, theirs in edges)
    listed = ", ".join(f"{name}.{column} AS {name}_{column}" for name in names for column in COLUMNS)
    shown = f"ISTREAM({listed})" if random.random() < 0.3 else listed
    return f"{ddl}\nSELECT {shown} FROM {sources} WHERE {on} ALLOW UNBOUNDED", data


def random_rows(random: Random, names: list[str], count: int) -> Data:
    """Values that number a stream's rows, are near those of other streams, or are few."""
    ways = {(name, column): random.choice(("number", "near", "near", "few")) for name in names for column in COLUMNS}
    data: Data = {name: [] for name in names}
    ts = 0
    for n in range(count):
        ts += random.choice((1, 1, 2))
        name = names[n % len(names)] if random.random() < 0.6 else random.choice(names)
        near = max(0, int(n / len(names) + random.gauss(0, 1.2)))
        values = {"number": len(data[name]), "near": near, "few": random.randint(0, 3)}
        data[name].append((values[ways[name, "a"]], values[ways[name, "b"]], ts))
    return data


def declaration(name: str, declared: Iterator[str]) -> str:
    columns = ["a BIGINT", "b BIGINT", "ts BIGINT"]
    return f"CREATE STREAM {name} ({', '.join(dict.fromkeys([*columns, *declared]))}) TIMESTAMP BY ts;"


def constraints(random: Random, name: str, data: Data, edges: Sequence[Edge]) -> Iterator[str]:
    """Of a stream, with the k that its rows require."""
    for column in COLUMNS:
        values = [row[COLUMNS.index(column)] for row in data[name]]
        if len(set(values)) == len(values):
            yield f"UNIQUE ({column})"
        if random.random() < 0.3:
            yield required(random, name, Clustered((column,), WithinRows(0)), data)
        if random.random() < 0.3:
            yield required(random, name, Ordered(column, WithinRows(0)), data)
    turned = [(other, theirs, one, column) for one, column, other, theirs in edges]
    for one, column, other, theirs in [*edges, *turned]:
        if one == name and random.random() < 0.9:
            yield required(random, name, Reference((column,), other, (theirs,), WithinRows(0)), data)
    yield rate(random, data, name)


def required(random: Random, name: str, constraint: Constraint, data: Data) -> str:
    streams = {one: [(row[-1], dict(zip(COLUMNS, row, strict=False))) for row in rows] for one, rows in data.items()}
    in_time = random.random() < 0.5
    k = max((k[in_time] for k in definitions.required(constraint, name, streams) if k is not None), default=0)
    within = f"WITHIN {k} {'MICROSECONDS' if in_time else 'ROWS'}"
    return constraint_text(constraint).replace("WITHIN 0 ROWS", within)


def rate(random: Random, data: Data, name: str) -> str:
    """How many rows come in any span of a length, at most and at least."""
    per = random.choice((5, 10, 20))
    end = max(row[-1] for rows in data.values() for row in rows)
    times = [row[-1] for row in data[name]]
    counts = [sum(start <= ts < start + per for ts in times) for start in range(end - per + 2)]
    least = f"BETWEEN {min(counts)} AND " if min(counts) else ""
    return f"RATE {least}{max(1, *counts)} PER {per} MICROSECONDS"
