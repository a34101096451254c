"""What is kept is at every instant at most what the register's bound says, where that can be counted from the rows."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from penstock import check
from penstock.engines.embedded import EmbeddedEngine
from penstock.retention import punctuation_purge
from tests.engines.comparing import batch, bound
from tests.generators import Case
from tests.purging.stored import Steps

Row = tuple[object, ...]
#: The rows of each stream so far.
Past = dict[str, list[Row]]

ONE = "CREATE STREAM s (a BIGINT, closes INT, ts BIGINT, PUNCTUATED BY (a) WHEN closes = 1) TIMESTAMP BY ts;"
TWO = f"{ONE}\nCREATE STREAM t (a BIGINT, closes INT, ts BIGINT, PUNCTUATED BY (a) WHEN closes = 1) TIMESTAMP BY ts;"
AUCTION = """
CREATE STREAM item (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, closes INT, ts BIGINT,
    FOREIGN KEY (auction) REFERENCES item (id) WITHIN 2 ROWS,
    PUNCTUATED BY (auction) WHEN closes = 1) TIMESTAMP BY ts;
"""


def open_values(past: Past, *streams: str) -> int:
    """Values that came and are not closed on all of these streams."""
    closed = [{row[0] for row in past[name] if row[1]} for name in streams]
    return len({row[0] for name in streams for row in past[name]} - set.intersection(*closed))


def open_items(past: Past) -> int:
    return len({row[0] for row in past["item"]} - {row[0] for row in past["bid"] if row[1]})


def waiting_bids(past: Past) -> int:
    """Bids since which fewer than two items came."""
    times = sorted(row[-1] for row in past["item"])  # type: ignore[type-var]
    return sum(sum(at > row[-1] for at in times) < 2 for row in past["bid"])  # type: ignore[operator]


def wanted_items(past: Past) -> int:
    """Items that are open, and those that are in a result with one of the last six bids."""
    last = {row[0] for row in past["bid"][-6:]}
    return open_items(past) + len({row[0] for row in past["bid"] if row[1]} & last)


#: DDL, query, the words of its bound, and by the beginnings of operators' names what they may keep.
CASES: dict[str, tuple[str, str, str, dict[str, Callable[[Past], int]]]] = {
    "group by": (
        ONE,
        "SELECT a, COUNT(*) AS n, COUNT(DISTINCT closes) AS kinds FROM s GROUP BY a",
        "not yet closed",
        {"aggregate": lambda past: 3 * open_values(past, "s"), "ending": lambda past: 0},
    ),
    "emit on close": (
        ONE,
        "SELECT a, COUNT(*) AS n FROM s GROUP BY a EMIT ON CLOSE",
        "not yet closed",
        {"aggregate": lambda past: open_values(past, "s"), "ending": lambda past: 0},
    ),
    "distinct": (
        ONE,
        "SELECT DISTINCT a FROM s",
        "not yet closed",
        {"distinct": lambda past: open_values(past, "s"), "ending": lambda past: 0},
    ),
    "except": (
        TWO,
        "SELECT a FROM s EXCEPT SELECT a FROM t",
        "not yet closed",
        {"setop": lambda past: open_values(past, "s", "t")},
    ),
    "join": (
        AUCTION,
        "SELECT id, b.ts AS at FROM item, bid b WHERE id = b.auction",
        "auctions not yet closed",
        {"item": open_items, "b": waiting_bids},
    ),
    "join of windows of rows": (
        AUCTION,
        "SELECT id, b.ts AS at FROM item [ROWS 30], bid [ROWS 6] b WHERE id = b.auction",
        "30 rows of item + 6 rows of b",
        {"item": wanted_items, "b": lambda past: min(6, len(past["bid"]))},
    ),
    "join with a window that slides": (
        AUCTION,
        "SELECT id, b.ts AS at FROM item [RANGE 90 MICROSECONDS SLIDE 3 MICROSECONDS], bid [ROWS 6] b"
        " WHERE id = b.auction",
        "6 rows",
        {"item": wanted_items, "b": lambda past: min(6, len(past["bid"]))},
    ),
    "groups of a join": (
        AUCTION,
        "SELECT id, COUNT(*) AS n FROM item, bid b WHERE id = b.auction GROUP BY id EMIT ON CLOSE",
        "auctions not yet closed",
        {"item": open_items, "b": waiting_bids, "aggregate": open_items},
    ),
}


def rows(random: Random, ddl: str) -> list[tuple[str, Row]]:
    """Rows that keep what is declared, one per instant."""
    past: list[tuple[str, Row]] = []
    if "item" in ddl:
        for number in range(40):
            past.append(("item", (number,)))
            past += [("bid", (random.randint(max(0, number - 2), number), 0)) for _ in range(random.randint(0, 2))]
            past += [("bid", (number - 3, 1))] if number >= 3 else []
        return past
    closed: dict[str, set[int]] = {"s": set(), "t": set()}
    for number in range(160):
        name = random.choice("st" if "STREAM t" in ddl else "s")
        value, closes = number // 8 + random.randint(-4, 0), random.random() < 0.4
        if value not in closed[name]:
            past.append((name, (value, int(closes))))
            closed[name] |= {value} if closes else set()
    return past


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_no_more_is_kept_than_is_open(name: str, seed: int) -> None:
    ddl, select, words, most = CASES[name]
    case = Case(ddl, select, {}, None, "")
    query, catalog = bound(case)
    (verdict,) = check(case.script)
    assert verdict.safe
    assert words in verdict.bound.words
    engine = EmbeddedEngine(query, catalog)
    streams = {stream.name: stream for stream in catalog.streams}
    past: Past = {stream: [] for stream in streams}
    for ts, (stream, values) in enumerate(rows(Random(seed), ddl), start=1):
        past[stream].append((*values, ts))
        engine.push(stream, batch(streams[stream], [(*values, ts)]))
        engine._step(ts + 1)
        for what, count in most.items():
            lines = [m for m in engine.metrics() if m.stream == what or m.operator.rstrip("0123456789") == what]
            assert lines
            assert sum(line.state_rows for line in lines) <= count(past), (what, ts)


@pytest.mark.parametrize("keys", ["", ", UNIQUE (a)", ", PUNCTUATED BY (a) FROM closed (a)"])
@pytest.mark.parametrize("window", ["RANGE 9 MICROSECONDS", "RANGE 9 MICROSECONDS SLIDE 2 MICROSECONDS", "ROWS 4"])
def test_punctuations_do_not_grow_where_rows_leave(window: str, keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of s may ask for any punctuation of t, however old; they need not be told."""
    monkeypatch.setattr(punctuation_purge, "FEW", 8)
    ddl = f"""
    CREATE STREAM closed (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM s (id BIGINT, a BIGINT, ts BIGINT{keys}) TIMESTAMP BY ts;
    CREATE STREAM t (id BIGINT, a BIGINT, ts BIGINT, PUNCTUATED BY (a) FROM closed (a)) TIMESTAMP BY ts;
    """
    steps = Steps(f"{ddl}CREATE QUERY q AS SELECT s.id AS s, t.id AS t FROM s [{window}], t [ROWS 2] WHERE s.a = t.a;")
    for number in range(60):
        steps.feed("s", (number, number))
        steps.feed("t", (number, number))
        steps.feed("closed", (number,))
        assert steps.engine.state()[0] <= 40
    assert steps.log == steps.expected()
