"""What each operator retains, row by row: just what the windows hold, and groups of it; and what waits for its instant.

The counts are worked out from the definition of the windows, from all rows that ever came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

import pyarrow as pa
import pytest

from penstock.catalog import StreamDef
from penstock.engines.embedded import EmbeddedEngine
from penstock.sql import bind_text
from tests.engines.comparing import table

SECOND = 1_000_000
DDL = """
CREATE STREAM s (k BIGINT, w STRING, v DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts DELAY 2 SECONDS;
CREATE TABLE t (k BIGINT, name STRING);
"""
TABLE = [(1, "one"), (2, "two"), (2, "two again"), (None, "none")]

Row = tuple[int | None, str, float | None, int]
Pane = tuple[int, int, int | None]


@dataclass(frozen=True, slots=True)
class Moment:
    """All rows that came so far, in the order of arrival, and the first instant that is not closed."""

    came: list[Row]
    until: int

    @property
    def closed(self) -> list[Row]:
        return sorted((row for row in self.came if row[3] < self.until), key=lambda row: row[3])

    @property
    def waiting(self) -> int:
        return len(self.came) - len(self.closed)

    def range(self, reach: int, slide: int = 1) -> list[Row]:
        """What is in the window at the last closed instant, or is to come into it at a later one."""
        return [row for row in self.closed if row[3] >= (self.until - 1) // slide * slide - reach]

    def shown(self, reach: int, slide: int) -> list[Row]:
        """What is in a window that slides at the last closed instant."""
        now = (self.until - 1) // slide * slide
        return [row for row in self.closed if now - reach <= row[3] <= now]

    def live(self, reach: int, slide: int) -> list[tuple[Row, Pane]]:
        """Rows that are in the window or will be, by the instants at which they come and have gone, and their key."""
        found = [(row, (-(-row[3] // slide), (row[3] + reach) // slide + 1, row[0])) for row in self.came]
        return [(row, pane) for row, pane in found if pane[1] * slide >= self.until]

    def rows(self, count: int) -> list[Row]:
        return self.closed[-count:]

    def partitions(self, count: int) -> list[Row]:
        keys = {row[0] for row in self.closed}
        return [row for key in keys for row in [row for row in self.closed if row[0] == key][-count:]]


def keys(rows: list[Row]) -> int:
    return len({row[0] for row in rows})


def with_key(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row[0] is not None]


def values(rows: list[Row]) -> int:
    """Distinct values of each group."""
    return len({(row[0], row[2]) for row in rows if row[2] is not None})


def panes(live: list[tuple[Row, Pane]]) -> set[Pane]:
    return {pane for _, pane in live}


def extremes(rows: list[Row]) -> int:
    """Distinct least values among those of the panes of each group."""
    least: dict[Pane, float] = {}
    for row in rows:
        if row[2] is not None:
            pane = (-(-row[3] // (2 * SECOND)), (row[3] + RANGE) // (2 * SECOND), row[0])
            least[pane] = min(row[2], least.get(pane, row[2]))
    return len({(pane[2], value) for pane, value in least.items()})


Expected = Callable[[Moment], dict[str, int]]
RANGE = 5 * SECOND

#: A query, and how many rows each of its operators retains.
RETAINED: dict[str, tuple[str, Expected]] = {
    "range": (
        "SELECT w FROM s [RANGE 5 SECONDS]",
        lambda at: {"scan0": len(at.range(RANGE))},
    ),
    "slide": (
        "SELECT w FROM s [RANGE 5 SECONDS SLIDE 2 SECONDS]",
        lambda at: {"scan0": len(at.range(RANGE, 2 * SECOND))},
    ),
    "now": (
        "SELECT w FROM s [NOW]",
        lambda at: {"scan0": len(at.range(0))},
    ),
    "rows": (
        "SELECT w FROM s [ROWS 30]",
        lambda at: {"scan0": len(at.rows(30))},
    ),
    "partitions": (
        "SELECT w FROM s [PARTITION BY k ROWS 3]",
        lambda at: {"scan1": len(at.partitions(3))},
    ),
    "all rows, by themselves": (
        "SELECT w FROM s",
        lambda at: {},
    ),
    "all rows, joined": (
        "SELECT a.w FROM s a, s b WHERE a.k = b.k",
        lambda at: {"scan2": len(at.closed), "scan3": len(at.closed)},
    ),
    "filter": (
        "SELECT w FROM s [RANGE 5 SECONDS] WHERE k = 1",
        lambda at: {"scan0": sum(row[0] == 1 and row[3] >= at.until - 1 - RANGE for row in at.closed)},
    ),
    "filter of the latest rows": (
        "SELECT w FROM s [ROWS 30] WHERE k = 1",
        lambda at: {"scan0": sum(row[0] == 1 for row in at.rows(30))},
    ),
    "join": (
        "SELECT a.w FROM s [RANGE 5 SECONDS] a, s [ROWS 30] b, s [NOW] c WHERE a.k = b.k AND b.k = c.k",
        lambda at: {
            "scan2": len(at.range(RANGE)),
            "scan3": len(at.rows(30)),
            "scan4": len(at.range(0)),
        },
    ),
    "theta join": (
        "SELECT a.w FROM s [RANGE 5 SECONDS] a, s [ROWS 3] b WHERE a.v < b.v",
        lambda at: {"scan2": len(at.range(RANGE)), "scan3": len(at.rows(3))},
    ),
    "join of a table": (
        "SELECT w, name FROM s [ROWS 30] JOIN t ON s.k = t.k",
        lambda at: {"scan2": len(at.rows(30)), "table3": len(TABLE) if at.until > 0 else 0},
    ),
    "join of groups": (
        "SELECT n, w FROM (SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k) x, s [NOW] y WHERE x.k = y.k",
        lambda at: {
            # Once as groups, once as rows for the join; what has no partner is in neither.
            "aggregate2": 2 * keys(with_key(at.range(RANGE))),
            "scan3": len(with_key(at.range(RANGE))),
            "scan4": len(at.range(0)),
        },
    ),
    "semi-join": (
        "SELECT w FROM s [RANGE 5 SECONDS] a WHERE EXISTS (SELECT 1 FROM s [ROWS 30] b WHERE a.k = b.k)",
        lambda at: {
            "scan2": len(at.range(RANGE)),
            "distinct3": 2 * keys(at.rows(30)),
            "scan4": len(at.rows(30)),
        },
    ),
    "anti-join": (
        "SELECT w FROM s [RANGE 5 SECONDS] a WHERE NOT EXISTS (SELECT 1 FROM s [ROWS 3] b WHERE a.k = b.k)",
        lambda at: {
            "scan2": len(at.range(RANGE)),
            "distinct3": 2 * keys(at.rows(3)),
            "scan4": len(at.rows(3)),
        },
    ),
    "distinct": (
        "SELECT DISTINCT k FROM s [RANGE 5 SECONDS]",
        lambda at: {"distinct0": keys(at.range(RANGE)), "scan1": len(at.range(RANGE))},
    ),
    "distinct of all": (
        "SELECT DISTINCT k FROM s",
        lambda at: {"distinct0": keys(at.closed)},
    ),
    "union all": (
        "SELECT k FROM s [NOW] UNION ALL SELECT k FROM s [ROWS 30]",
        lambda at: {"scan1": len(at.range(0)), "scan2": len(at.rows(30))},
    ),
    **{
        name.lower(): (
            f"SELECT k FROM s [RANGE 1 SECOND] {name} SELECT k FROM s [ROWS 2]",
            lambda at: {
                "setop0": keys(at.range(SECOND) + at.rows(2)),
                "scan1": len(at.range(SECOND)),
                "scan2": len(at.rows(2)),
            },
        )
        for name in ("UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL")
    },
    "groups": (
        "SELECT k, COUNT(*), SUM(v), AVG(v) FROM s [RANGE 5 SECONDS] GROUP BY k",
        lambda at: {"aggregate1": keys(at.range(RANGE)), "scan2": len(at.range(RANGE))},
    ),
    "least of groups": (
        "SELECT k, MIN(v) FROM s [RANGE 5 SECONDS] GROUP BY k",
        lambda at: {
            "aggregate1": keys(at.range(RANGE)) + values(at.range(RANGE)),
            "scan2": len(at.range(RANGE)),
        },
    ),
    "distinct values of groups": (
        "SELECT k, COUNT(DISTINCT v) FROM s [RANGE 5 SECONDS] GROUP BY k",
        lambda at: {
            "aggregate1": keys(at.range(RANGE)) + values(at.range(RANGE)),
            "scan2": len(at.range(RANGE)),
        },
    ),
    "groups of a window that slides": (
        "SELECT k, COUNT(*), SUM(v), AVG(v), MIN(v) FROM s [RANGE 5 SECONDS SLIDE 2 SECONDS] GROUP BY k",
        lambda at: {
            "aggregate1": keys(at.shown(RANGE, 2 * SECOND)) + extremes(at.shown(RANGE, 2 * SECOND)),
            "panes2": len(panes(at.live(RANGE, 2 * SECOND))),
        },
    ),
    "distinct values of groups of a window that slides": (
        "SELECT k, COUNT(*), COUNT(DISTINCT v) FROM s [RANGE 5 SECONDS SLIDE 2 SECONDS] GROUP BY k",
        lambda at: {
            "aggregate1": keys(at.shown(RANGE, 2 * SECOND)) + values(at.shown(RANGE, 2 * SECOND)),
            "panes2": len({(*pane, row[2]) for row, pane in at.live(RANGE, 2 * SECOND)}),
        },
    ),
    "one group": (
        "SELECT COUNT(*) FROM s [RANGE 5 SECONDS]",
        lambda at: {"aggregate1": 1 if at.until > 0 else 0, "scan2": len(at.range(RANGE))},
    ),
    "least and greatest of all": (
        "SELECT k, MIN(v), MAX(v), MAX(w) FROM s GROUP BY k",
        lambda at: {"aggregate1": keys(at.closed)},
    ),
    "greatest of distinct rows of all": (
        "SELECT MAX(k) FROM (SELECT DISTINCT k FROM s) x",
        lambda at: {
            "aggregate1": 1 if at.until > 0 else 0,
            "distinct2": keys(at.closed),
        },
    ),
    "istream": (
        "SELECT ISTREAM(w) FROM s [RANGE 5 SECONDS]",
        lambda at: {"scan0": len(at.range(RANGE))},
    ),
    "dstream": (
        "SELECT DSTREAM(w) FROM s [RANGE 5 SECONDS]",
        lambda at: {"scan0": len(at.range(RANGE))},
    ),
    "rstream": (
        # The window, and the relation once more.
        "SELECT RSTREAM(w) FROM s [ROWS 3]",
        lambda at: {"scan0": 2 * len(at.rows(3))},
    ),
}


def stream_rows(count: int) -> list[Row]:
    """Rows at instants of their own, out of order by less than the delay."""
    random = Random(7)
    instants = [i * 100_003 for i in range(count)]
    instants.sort(key=lambda ts: ts + random.randrange(SECOND))
    return [
        (random.choice((None, 0, 1, 2, 3)), f"w{i}", random.choice((None, 0.5, 1.5, 2.5, float(i))), ts)
        for i, ts in enumerate(instants)
    ]


def engine_of(query: str, horizon: int | None = None) -> tuple[EmbeddedEngine, StreamDef]:
    script = bind_text(f"{DDL}CREATE QUERY q AS {query};").checked()
    (stream,) = script.catalog.streams
    tables = {t.name: table(t, TABLE) for t in script.catalog.tables}
    return EmbeddedEngine(script.queries[0], script.catalog, tables, 1, horizon), stream


def stepped(engine: EmbeddedEngine, stream: StreamDef, rows: list[Row], size: int) -> Iterator[int]:
    """How many rows came, after each batch."""
    for start in range(0, len(rows), size):
        engine.push("s", batch_of(stream, rows[start : start + size]))
        engine.advance()
        yield min(start + size, len(rows))


def batch_of(stream: StreamDef, rows: list[Row]) -> pa.RecordBatch:
    return table(stream, rows).combine_chunks().to_batches()[0]


def retained(engine: EmbeddedEngine) -> dict[str, int]:
    operators = [line for line in engine.metrics() if line.fragment is not None]
    assert engine.state()[0] == sum(line.state_rows for line in operators)
    return {line.operator: line.state_rows for line in operators if line.state_rows}


@pytest.mark.parametrize("name", RETAINED)
def test_just_what_is_needed_is_retained(name: str) -> None:
    query, expected = RETAINED[name]
    engine, stream = engine_of(query)
    rows = stream_rows(150)
    for came in stepped(engine, stream, rows, 13):
        want = expected(Moment(rows[:came], max(0, engine.watermark)))
        assert retained(engine) == {operator: count for operator, count in want.items() if count}
    engine.finish()
    want = expected(Moment(rows, engine.watermark))
    assert retained(engine) == {operator: count for operator, count in want.items() if count}


@pytest.mark.parametrize("name", [name for name in RETAINED if name != "filter" and "slides" not in name])
def test_a_row_in_flight_waits_once_however_many_leaves_read_it(name: str) -> None:
    engine, stream = engine_of(RETAINED[name][0])
    rows = stream_rows(150)
    for came in stepped(engine, stream, rows, 13):
        waiting = Moment(rows[:came], max(0, engine.watermark)).waiting
        assert waiting > 0
        assert engine.totals().in_flight_rows == waiting
        assert sum(line.in_flight_rows for line in engine.metrics()) == waiting
    engine.finish()
    assert engine.totals().in_flight_rows == 0


@pytest.mark.parametrize("name", RETAINED)
def test_long_after_the_last_row_what_is_left_is_no_time_window(name: str) -> None:
    query, expected = RETAINED[name]
    rows = stream_rows(80)
    engine, stream = engine_of(query, horizon=rows[-1][3] + 3600 * SECOND)
    for _ in stepped(engine, stream, rows, 20):
        pass
    engine.finish()
    want = expected(Moment(rows, engine.watermark))
    assert retained(engine) == {operator: count for operator, count in want.items() if count}


@pytest.mark.parametrize("name", [name for name in RETAINED if name != "all rows, joined"])
def test_bytes_do_not_grow_with_the_stream(name: str) -> None:
    """The arrays of a machine are as large after three times as many rows."""
    engine, stream = engine_of(RETAINED[name][0])
    rows = [(i % 5, f"w{i % 50}", float(i % 20), i * 100_000) for i in range(1800)]
    arrays = []
    for _ in stepped(engine, stream, rows, 100):
        lines = [line for line in engine.metrics() if line.fragment is not None]
        arrays.append(sum(line.state_bytes + line.in_flight_bytes for line in lines))
    assert arrays[-1] == arrays[5]
