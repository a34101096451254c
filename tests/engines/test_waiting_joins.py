"""Outer joins as streams: a row without a partner comes once, when none can come any more.

The engine says what the reference says, and for one query both say what a definition in a few lines says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from penstock import check
from tests.engines.comparing import bound, embedded, expected
from tests.generators import Case

DDL = """
CREATE STREAM a (id BIGINT, x BIGINT, kind STRING, ts TIMESTAMP, PUNCTUATED BY (id) WHEN kind = 'close')
TIMESTAMP BY ts DELAY 2 MICROSECONDS;
CREATE STREAM b (id BIGINT, y BIGINT, kind STRING, ts TIMESTAMP, PUNCTUATED BY (id) WHEN kind = 'close')
TIMESTAMP BY ts;
CREATE STREAM c (id BIGINT, z BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
"""
NEAR = "b.ts BETWEEN a.ts - INTERVAL 2 MICROSECONDS AND a.ts + INTERVAL 3 MICROSECONDS"
LEFT = f"SELECT ISTREAM(a.id, x, y, b.ts AS bt) FROM a LEFT JOIN b ON a.id = b.id AND {NEAR}"
QUERIES = {
    "left": LEFT,
    "right": f"SELECT ISTREAM(a.id, x, y) FROM a RIGHT JOIN b ON a.id = b.id AND {NEAR} AND x > 0",
    "full": f"SELECT ISTREAM(a.id, b.id, x, y) FROM a FULL JOIN b ON a.id = b.id AND {NEAR} WHERE y IS NULL OR x < 2",
    "windows": "SELECT ISTREAM(x, y) FROM a [RANGE 3 MICROSECONDS] LEFT JOIN b [RANGE 2 MICROSECONDS] ON a.id = b.id",
    "punctuations": "SELECT ISTREAM(a.id, x, y) FROM a LEFT JOIN b ON a.id = b.id",
    "two of one row": f"SELECT ISTREAM(x, y, z) FROM a LEFT JOIN b ON a.id = b.id AND {NEAR} "
    "LEFT JOIN c ON c.id = a.id AND c.ts BETWEEN a.ts AND a.ts + INTERVAL 2 MICROSECONDS",
    "one after the other": f"SELECT ISTREAM(x, y, z) FROM a LEFT JOIN b ON a.id = b.id AND {NEAR} "
    "LEFT JOIN c ON c.id = b.id AND c.ts BETWEEN b.ts AND b.ts + INTERVAL 2 MICROSECONDS",
    "using": f"SELECT ISTREAM id, x, y FROM a LEFT JOIN b USING (id) WHERE b.ts IS NULL OR {NEAR}",
    "on close": f"SELECT a.id, x, y FROM a LEFT JOIN b ON a.id = b.id AND {NEAR} EMIT ON CLOSE",
}


#: Groups of outer joins, which show once, with their last values.
GROUPS = {
    "groups by a key": "SELECT a.id, COUNT(*) AS n, COUNT(b.id) AS m, SUM(y) AS s FROM a "
    f"LEFT JOIN b ON a.id = b.id AND {NEAR} GROUP BY a.id EMIT ON CLOSE",
    "groups by a time": f"SELECT a.ts, COUNT(*) AS n, COUNT(b.id) AS m FROM a LEFT JOIN b ON a.id = b.id AND {NEAR} "
    "WHERE y IS NULL OR y > 0 GROUP BY a.ts EMIT ON CLOSE",
    "groups by a window": "SELECT window.start, COUNT(*) AS n, COUNT(y) AS m FROM a "
    f"LEFT JOIN b ON a.id = b.id AND {NEAR} GROUP BY window(a.ts, '4 microseconds', '2 microseconds') EMIT ON CLOSE",
    "groups that punctuations close": "SELECT a.id, COUNT(*) AS n, COUNT(b.id) AS m FROM a LEFT JOIN b ON a.id = b.id "
    "GROUP BY a.id EMIT ON CLOSE",
    "groups of a right join": f"SELECT b.id, COUNT(*) AS n FROM a RIGHT JOIN b ON a.id = b.id AND {NEAR} AND x > 0 "
    "GROUP BY b.id EMIT ON CLOSE",
}


def rows(random: Random) -> list[tuple[Any, ...]]:
    """Rows in the order of time, some of them twice, of which none breaks a punctuation."""
    found: list[tuple[Any, ...]] = []
    closed: set[int] = set()
    for ts in sorted(random.randint(0, 12) for _ in range(random.randint(0, 8))):
        key = random.choice([1, 2, 3, None])
        if key in closed:
            continue
        closes = key is not None and random.random() < 0.3
        if key is not None and closes:
            closed.add(key)
        row = (key, random.choice([0, 1, 2, None]), "close" if closes else "row", ts)
        found += [row] * (2 if not closes and random.random() < 0.25 else 1)
    return found


def case_of(query: str, seed: int) -> Case:
    random = Random(seed)
    data = {name: rows(random) for name in "abc"}
    return Case(DDL, query, data, random.choice([15, 20]), "")


@pytest.mark.parametrize("name", [*QUERIES, *GROUPS])
def test_the_engine_says_what_the_reference_says(name: str) -> None:
    for seed in range(3):
        case = case_of((QUERIES | GROUPS)[name], seed)
        query, catalog = bound(case)
        wanted = expected(case, query, catalog)
        for cells, cuts in ((1, 0), (3, Random(seed))):
            assert embedded(case, query, catalog, cells, cuts) == wanted, repr(case)


def test_a_left_join_is_what_its_definition_says() -> None:
    for seed in range(40):
        case = case_of(LEFT, seed)
        query, catalog = bound(case)
        assert expected(case, query, catalog) == by_definition(case.data["a"], case.data["b"], case.horizon or 0)


def by_definition(left: Sequence[Any], right: Sequence[Any], horizon: int) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for key, x, _, ts in left:
        partners = [row for row in right if key is not None and row[0] == key and -2 <= row[3] - ts <= 3]
        for partner in partners:
            found[max(ts, partner[3]), "+", key, x, partner[1], partner[3]] += 1
        if not partners:
            closed = [max(ts, row[3]) for row in right if row[0] == key and row[2] == "close"]
            found[min([ts if key is None else ts + 3, *closed]), "+", key, x, None, None] += 1
    return Counter({row: count for row, count in found.items() if row[0] <= horizon})


@pytest.mark.parametrize("name", [*QUERIES, *GROUPS])
def test_a_wait_that_ends_is_safe(name: str) -> None:
    (verdict,) = check(f"{DDL}CREATE QUERY q AS {(QUERIES | GROUPS)[name]};")
    assert verdict.safe or name == "using"


def test_groups_of_an_outer_join_show_their_last_values() -> None:
    for seed in range(40):
        case = case_of(GROUPS["groups by a key"], seed)
        query, catalog = bound(case)
        right = case.data["b"]
        for (_, op, key, count, matched, total), times in expected(case, query, catalog).items():
            own = [row[3] for row in case.data["a"] if row[0] == key]
            partners = [[b[1] for b in right if key is not None and b[0] == key and -2 <= b[3] - ts <= 3] for ts in own]
            values = [y for some in partners for y in some if y is not None]
            assert (op, times, count) == ("+", 1, sum(max(1, len(some)) for some in partners)), repr(case)
            assert (matched, total) == (sum(map(len, partners)), sum(values) if values else None), repr(case)


def test_a_wait_that_never_ends_is_not_safe() -> None:
    plain = "".join(f"CREATE STREAM {name} (id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;" for name in "ab")
    (verdict,) = check(
        f"{plain} CREATE QUERY q AS SELECT ISTREAM(a.id, b.id AS other) FROM a LEFT JOIN b ON a.id = b.id;"
    )
    assert not verdict.safe
    assert verdict.actions
