"""Windows `[RANGE w SLIDE w]` as buckets: both of their ends are in them, at every instant, in any cells and cuts."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from penstock.elimination.counting import counting, counts_of
from penstock.elimination.running import with_plan
from tests.elimination.counting.querying import case_of, declared
from tests.elimination.counting.simulating import Flows, simulated
from tests.engines.comparing import bound, embedded, expected
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.seeds import seeds

from .test_broken import broken
from .test_queries import assert_contains, at, relations


def windowed(flows: Flows, random: Random) -> str:
    """A count of the flows over windows of s0: of all other streams, of none, or of those that are anti-joined."""
    window = f"[RANGE {flows.width} MICROSECONDS SLIDE {flows.width} MICROSECONDS]"
    which = random.choice(("none", "all", "antis"))
    tables, where = [f"s0 {window}"], []
    for n, anti in enumerate(flows.antis, start=1):
        own = window if which == "all" or (which == "antis" and anti) else ""
        on = f"s{n}.id = s{flows.above(n - 1)}.id"
        if random.random() < 0.3:
            on += f" AND s{n}.ts >= s{flows.above(n - 1)}.ts AND s{n}.ts <= s{flows.above(n - 1)}.ts + 30"
        if anti:
            where.append(f"NOT EXISTS (SELECT * FROM s{n} {own} WHERE {on})")
        else:
            tables.append(f"s{n} {own}")
            where.append(on)
    joined = [n for n in range(len(flows.streams)) if n == 0 or not flows.antis[n - 1]]
    key = random.choice(("", f"s{random.choice(joined)}.k"))
    select = f"{key}, COUNT(*) AS n" if key else "COUNT(*) AS n"
    group = f" GROUP BY {key}" if key else ""
    return f"SELECT {select} FROM {', '.join(tables)} WHERE {' AND '.join(where)}{group} APPROXIMATE"


def case_with_windows(flows: Flows, random: Random, delay: int = 0) -> Case:
    end = max((row[0] for rows in flows.streams for row in rows), default=0) + random.randint(0, 3 * flows.width)
    return replace(case_of(flows, random, delay=delay), query=windowed(flows, random), horizon=end)


@pytest.mark.parametrize("seed", seeds(60))
def test_a_window_is_counted_as_the_join_counts_it(seed: int) -> None:
    random = Random(seed)
    flows = simulated(random, links=random.randint(1, 3), keys=2, size=25, most_delay=6, branches=seed % 2 == 1)
    case = case_with_windows(flows, random, delay=random.choice((0, 0, 7)))
    query, catalog = bound(case)
    found = counting(query, catalog)
    assert found is not None
    assert found.relation is not None, (found.reason, case.query)
    counts = counts_of(found.relation)
    assert counts is not None
    assert counts.slides
    exact = expected(case, query, catalog)
    one = embedded(case, query, catalog, 1, 0)
    assert_contains(one, exact)
    assert embedded(case, query, catalog, 1, random) == one
    assert embedded(case, query, catalog, random.randint(2, 4), random) == one
    assert embedded(case, with_plan(query, "exact"), catalog, 1, 0) == exact


@pytest.mark.parametrize("seed", seeds(4))
def test_windows_are_the_same_in_tasks_and_cells_of_spark(seed: int) -> None:
    random = Random(seed)
    case = case_with_windows(simulated(random, links=random.randint(1, 2), keys=3, size=30, most_delay=6), random)
    query, catalog = bound(case)
    query = with_plan(query, None, one_in=random.choice((1, 64)))
    assert pretended(case, query, catalog, random.randint(1, 3), random) == embedded(case, query, catalog, 1, 0)


@pytest.mark.parametrize("seed", seeds(80))
def test_a_window_is_uncertain_or_holds_the_exact_count_at_every_instant(seed: int) -> None:
    random = Random(seed)
    flows = simulated(random, links=random.randint(1, 2), keys=2, size=30, most_delay=6)
    case = case_with_windows(broken(flows, random), random)
    query, catalog = bound(case)
    query = with_plan(query, None, one_in=1)
    ours, theirs = relations(embedded(case, query, catalog, 1, 0)), relations(expected(case, query, catalog))
    for ts in sorted({*ours, *theirs}):
        truth = {row[:-4]: row[-4] for row in (at(theirs, ts) if theirs else ())}
        mine = {row[:-4]: row[-4:] for row in (at(ours, ts) if ours else ())}
        for key in {*truth, *mine}:
            _, low, high, certain = mine.get(key, (0, 0, 0, ("boolean", True)))
            assert certain == ("boolean", False) or low <= truth.get(key, 0) <= high, (ts, key, case)


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        ("s0 [RANGE 9 MICROSECONDS], s1", "s0 has a window that is no bucket"),
        ("s0 [RANGE 9 MICROSECONDS SLIDE 3 MICROSECONDS], s1", "s0 has a window that is no bucket"),
        (
            "s0 [RANGE 9 MICROSECONDS SLIDE 9 MICROSECONDS], s1 [RANGE 18 MICROSECONDS SLIDE 18 MICROSECONDS]",
            "the windows of s0 and s1 differ",
        ),
        ("s0 [RANGE 4 MICROSECONDS SLIDE 4 MICROSECONDS], s1", "shorter than a delay"),
    ],
)
def test_a_window_that_is_not_counted_says_why(tables: str, reason: str) -> None:
    flows = Flows(100, 0, (5,), (False,), ((), ()))
    text = f"SELECT COUNT(*) AS n FROM {tables} WHERE s0.id = s1.id APPROXIMATE"
    found = counting(*bound(Case(declared(flows), text, {"s0": [], "s1": []}, None, "")))
    assert found is not None
    assert reason in str(found.reason)


def test_within_needs_buckets_that_are_keys() -> None:
    flows = Flows(100, 0, (5,), (False,), ((), ()))
    window = "[RANGE 9 MICROSECONDS SLIDE 9 MICROSECONDS]"
    text = f"SELECT COUNT(*) AS n FROM s0 {window}, s1 WHERE s0.id = s1.id APPROXIMATE WITHIN 3"
    found = counting(*bound(Case(declared(flows), text, {"s0": [], "s1": []}, None, "")))
    assert found is not None
    assert "WITHIN is kept by the exact join" in str(found.reason)


def test_windows_of_the_last_stream_are_exact_and_share_an_instant() -> None:
    flows = Flows(100, 0, (5,), (False,), ((), ()))
    window = "[RANGE 10 MICROSECONDS SLIDE 10 MICROSECONDS]"
    text = f"SELECT COUNT(*) AS n FROM s0, s1 {window} WHERE s0.id = s1.id APPROXIMATE"
    data = {"s0": [(1, 1, 0, 0), (8, 2, 0, 0), (19, 3, 0, 0)], "s1": [(2, 1, 0, 0), (10, 2, 0, 0), (20, 3, 0, 0)]}
    case = Case(declared(flows), text, data, 45, "")
    query, catalog = bound(case)
    found = counting(query, catalog)
    assert found is not None
    assert found.is_exact
    log = embedded(case, query, catalog, 1, 0)
    assert log == expected(case, query, catalog)
    held = relations(log)
    assert [next(iter(at(held, ts)))[0] for ts in (0, 10, 20, 30, 40)] == [0, 2, 2, 1, 0]
