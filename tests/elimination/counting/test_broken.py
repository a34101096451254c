"""Data that breaks assertions: each interval of which it is not said that it is uncertain holds the exact count."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from penstock.elimination.counting import counting
from penstock.elimination.running import with_plan
from penstock.engines.embedded import EmbeddedEngine
from tests.elimination.counting.querying import counted, declared
from tests.elimination.counting.simulating import Flows, Row, simulated
from tests.engines.comparing import batches, bound, embedded, expected
from tests.generators import Case
from tests.seeds import seeds

from .test_queries import at, relations


def broken(flows: Flows, random: Random) -> Flows:
    """The flows with rows that are missing, late, doubled, of another key, or of an id that was there before."""
    streams: list[list[Row]] = [list(rows) for rows in flows.streams]
    for _ in range(random.randint(1, 6)):
        rows = random.choice(streams)
        if not rows:
            continue
        place = random.randrange(len(rows))
        ts, i, key = rows[place]
        match random.choice(("missing", "late", "double", "again", "key")):
            case "missing":
                del rows[place]
            case "late":
                rows[place] = (ts + random.randint(1, 12), i, key)
            case "double":
                rows.append((ts, i, key))
            case "key":
                rows[place] = (ts, i, 1 - key)
            case "again":
                rows.append((ts + random.randint(0, 20), i, key))
    return replace(flows, streams=tuple(tuple(sorted(rows)) for rows in streams))


def broken_case(random: Random) -> Case:
    flows = simulated(random, links=random.randint(1, 2), keys=2, size=30, most_delay=6)
    # Results of sixteen buckets can be marked: so long after each other rows match here, if they match at any time.
    flows = replace(flows, width=flows.width + 5)
    data = {
        f"s{n}": [(ts, i, key, i % 3) for ts, i, key in rows] for n, rows in enumerate(broken(flows, random).streams)
    }
    ddl = declared(flows)
    if random.random() < 0.3:
        ddl = ddl.replace("s1 (ts BIGINT, id BIGINT", "s1 (ts BIGINT, id INT")
    return Case(ddl, counted(flows, random), data, None, "")


@pytest.mark.parametrize("seed", seeds(80))
def test_an_interval_is_uncertain_or_holds_the_exact_count(seed: int) -> None:
    random = Random(seed)
    case = broken_case(random)
    query, catalog = bound(case)
    query = with_plan(query, None, one_in=1)
    ours = relations(embedded(case, query, catalog, 1, 0))
    theirs = relations(expected(case, query, catalog))
    last = max([*ours, *theirs], default=0)
    truth = {row[:-4]: row[-4] for row in at(theirs, last)} if theirs else {}
    mine = {row[:-4]: row[-4:] for row in at(ours, last)} if ours else {}
    for key in {*truth, *mine}:
        _, low, high, certain = mine.get(key, (0, 0, 0, ("boolean", True)))
        assert certain == ("boolean", False) or low <= truth.get(key, 0) <= high, (key, case)


@pytest.mark.parametrize("seed", seeds(15))
def test_what_is_uncertain_depends_on_the_rows_alone(seed: int) -> None:
    random = Random(seed)
    case = broken_case(random)
    query, catalog = bound(case)
    query = with_plan(query, None, one_in=random.choice((1, 2, 5)))
    one = embedded(case, query, catalog, 1, 0)
    assert embedded(case, query, catalog, 1, random) == one
    assert embedded(case, query, catalog, 3, random) == one


def last_shown(text: str, data: dict[str, list[tuple[int, ...]]]) -> dict[int, tuple[int, ...]]:
    """By bucket what is shown last of s0 and s1, where s1 follows within 5, in buckets of 10."""
    flows = Flows(10, 0, (5,), (False,), ((), ()))
    case = Case(declared(flows), text, data, 200, "")
    return shown_last(case)


def shown_last(case: Case, cells: int = 1) -> dict[int, tuple[int, ...]]:
    query, catalog = bound(case)
    log = embedded(case, with_plan(query, None, one_in=1), catalog, cells, 0)
    held: Counter[tuple[int, ...]] = Counter()
    for change, times in log.items():
        held[change[2:]] += times if change[1] == "+" else -times
    return {bucket: (*ends, certain == ("boolean", True)) for bucket, *ends, certain in +held}


JOINED = "SELECT s0.ts / 10 AS tb, COUNT(*) AS n FROM s0, s1 WHERE s0.id = s1.id {} GROUP BY s0.ts / 10 APPROXIMATE{}"


@pytest.mark.parametrize("ending", ["", " EMIT ON CLOSE"])
def test_a_bucket_is_marked_as_long_as_the_conditions_match_its_rows(ending: str) -> None:
    data = {"s0": [(1, 1, 0, 0), (12, 2, 0, 0)], "s1": [(13, 2, 0, 0), (41, 1, 0, 0)]}
    shown = last_shown(JOINED.format("AND s1.ts >= s0.ts AND s1.ts <= s0.ts + 45", ending), data)
    assert shown[0][-1] is False, "its partner came four buckets later"
    assert shown[4][-1] is False, "where it is counted"


def test_a_bucket_is_marked_if_conditions_match_at_any_time() -> None:
    data = {"s0": [(1, 1, 0, 0), (12, 2, 0, 0)], "s1": [(13, 2, 0, 0), (151, 1, 0, 0)]}
    assert last_shown(JOINED.format("", ""), data)[0][-1] is False


def test_buckets_that_a_violation_cannot_concern_stay_certified() -> None:
    data = {"s0": [(1, 1, 0, 0), (12, 2, 0, 0)], "s1": [(2, 1, 0, 0), (13, 2, 0, 0), (38, 3, 0, 0)]}
    shown = last_shown(JOINED.format("", ""), data)
    assert {bucket: certified for bucket, (*_, certified) in shown.items()} == {0: True, 1: True, 3: False}


def test_violations_are_counted_by_assertion() -> None:
    data = {"s0": [(10, 1, 0, 0), (11, 2, 0, 0)], "s1": [(12, 1, 0, 0), (13, 3, 0, 0), (40, 2, 0, 0)]}
    flows = Flows(100, 0, (5,), (False,), ((), ()))
    query_text = (
        "SELECT s0.ts / 100 AS tb, COUNT(*) AS n FROM s0, s1 WHERE s0.id = s1.id AND s1.ts >= s0.ts "
        "AND s1.ts - s0.ts <= 50 GROUP BY s0.ts / 100 APPROXIMATE"
    )
    case = Case(declared(flows), query_text, data, None, "")
    query, catalog = bound(case)
    engine = EmbeddedEngine(with_plan(query, None, one_in=1), catalog, {}, 1, None)
    for name, rows in batches(case, engine, catalog, 0):
        engine.push(name, rows)
    engine.finish()
    counts = Counter(
        {each.constraint: each.violations for line in engine.metrics() for each in line.constraints if each.violations}
    )
    assert counts == {"follows1: each s1 follows a s0 within 5": 2}


NARROW = """
CREATE STREAM s0 (ts BIGINT, id BIGINT) TIMESTAMP BY ts;
CREATE STREAM s1 (ts BIGINT, id BIGINT, n INT) TIMESTAMP BY ts;
CREATE ASSERTION k0 FOR s0 x, s0 y WHERE x.id = y.id THEN x.ts = y.ts;
CREATE ASSERTION k1 FOR s1 x, s1 y WHERE x.id = y.id THEN x.ts = y.ts AND x.n = y.n;
CREATE ASSERTION n1 FOR s1 x, s1 y WHERE x.n = y.n THEN x.ts = y.ts AND x.id = y.id;
CREATE ASSERTION soon FOR s1 x THEN EXISTS s0 y
WHERE y.id = x.n AND y.id = x.id AND x.ts >= y.ts AND x.ts - y.ts <= 5 AND (x.ts - y.ts) % 2 = 0;
"""
NARROW_COUNT = "SELECT s0.ts / 10 AS tb, COUNT(*) AS n FROM s0, s1 WHERE {} GROUP BY s0.ts / 10 APPROXIMATE"


@pytest.mark.parametrize("cells", [1, 3])
def test_a_row_that_follows_another_than_its_own_is_seen_where_int_is_joined_with_bigint(cells: int) -> None:
    text = NARROW_COUNT.format("s0.id = s1.n AND s1.ts >= s0.ts")
    data = {"s0": [(1, 1), (31, 3)], "s1": [(3, 2, 2), (32, 3, 3)]}
    case = Case(NARROW, text, data, None, "")
    found = counting(*bound(case))
    assert found is not None
    assert found.relation is not None, found.reason
    shown = shown_last(case, cells)
    assert shown[0][-1] is False, "1 has no s1, and 2 has no s0"
    assert shown[3] == (1, 1, 1, True)


def test_a_condition_that_monitors_would_miss_is_not_counted() -> None:
    case = Case(
        NARROW,
        NARROW_COUNT.format("s0.id = s1.id AND (s1.ts - s0.ts) % 2 = 0"),
        {"s0": [(1, 1)], "s1": [(3, 2, 2)]},
        None,
        "",
    )
    found = counting(*bound(case))
    assert found is not None
    assert "is not watched" in str(found.reason)
    assert embedded(case, *bound(case), 1, 0) == expected(case, *bound(case))
    ignored = replace(
        case, ddl=NARROW.replace(";", " ON VIOLATION IGNORE;").replace("BY ts ON VIOLATION IGNORE;", "BY ts;")
    )
    trusted = counting(*bound(ignored))
    assert trusted is not None
    assert trusted.relation is not None, trusted.reason
