"""Buckets as people write them: of any length and offset, each counted as the reference groups the join."""

from __future__ import annotations

from random import Random

import pytest

from penstock.elimination.counting import counting
from tests.engines.comparing import bound, embedded, expected
from tests.generators import Case

from .test_queries import assert_contains

SECOND = 1_000_000
DDL = """
CREATE STREAM s (ts TIMESTAMP, id BIGINT) TIMESTAMP BY ts;
CREATE STREAM d (ts TIMESTAMP, id BIGINT) TIMESTAMP BY ts;
CREATE ASSERTION s_key FOR s x, s y WHERE x.id = y.id THEN x.ts = y.ts;
CREATE ASSERTION d_key FOR d x, d y WHERE x.id = y.id THEN x.ts = y.ts;
CREATE ASSERTION follows FOR d x THEN EXISTS s y
WHERE y.id = x.id AND x.ts >= y.ts AND x.ts - y.ts <= INTERVAL 2 SECONDS;
"""
KEYS = (
    ("UNIX_SECONDS(s.ts) / 7", "UNIX_SECONDS(s.ts) / 7"),
    ("UNIX_MILLIS(s.ts) DIV 3500", "UNIX_MILLIS(s.ts) DIV 3500"),
    ("(UNIX_SECONDS(s.ts) + 4) / 9", "(UNIX_SECONDS(s.ts) + 4) / 9"),
    ("DATE_TRUNC('MINUTE', s.ts)", "DATE_TRUNC('MINUTE', s.ts)"),
    ("window.start", "window(s.ts, '7 seconds')"),
    ("window.start", "window(s.ts, '7 seconds', '7 seconds', '3 seconds')"),
    ("TUMBLE_START(s.ts, INTERVAL 8 SECONDS)", "TUMBLE(s.ts, INTERVAL 8 SECONDS)"),
)


def case_of(shown: str, key: str) -> Case:
    random = Random(key)
    s = [(random.randint(0, 100 * SECOND), number) for number in range(40)]
    d = [(ts + random.randint(0, 2 * SECOND), number) for ts, number in s if random.random() < 0.7]
    query = f"SELECT {shown}, COUNT(*) AS n FROM s, d WHERE s.id = d.id GROUP BY {key} APPROXIMATE"
    return Case(DDL, query, {"s": sorted(s), "d": sorted(d)}, None, "")


@pytest.mark.parametrize(("shown", "key"), KEYS, ids=[key for _, key in KEYS])
def test_a_key_that_cuts_time_is_counted(shown: str, key: str) -> None:
    case = case_of(shown, key)
    query, catalog = bound(case)
    found = counting(query, catalog)
    assert found is not None
    assert found.relation is not None, found.reason
    assert_contains(embedded(case, query, catalog, 1, 0), expected(case, query, catalog))


def test_windows_that_overlap_are_joined() -> None:
    case = case_of("window.start", "window(s.ts, '10 seconds', '5 seconds')")
    found = counting(*bound(case))
    assert found is not None
    assert found.relation is None
