"""Queries that count instead of joining hold what the reference's joins give, in any cells and cuts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from penstock.elimination.counting import counting
from penstock.elimination.running import running, with_plan
from tests.elimination.counting.querying import case_of, declared
from tests.elimination.counting.simulating import Flows, simulated
from tests.engines.comparing import Log, bound, embedded, expected
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.seeds import seeds


def relations(log: Log) -> dict[int, Counter[tuple[Any, ...]]]:
    """What a change log's relation holds after each instant at which it changes."""
    held: Counter[tuple[Any, ...]] = Counter()
    found = {}
    for ts in sorted({change[0] for change in log}):
        for change, times in log.items():
            if change[0] == ts:
                held[change[2:]] += times if change[1] == "+" else -times
        held = +held
        found[ts] = Counter(held)
    return found


def at(found: dict[int, Counter[tuple[Any, ...]]], ts: int) -> Counter[tuple[Any, ...]]:
    return found[max((t for t in found if t <= ts), default=min(found))] if any(t <= ts for t in found) else Counter()


def assert_contains(approximate: Log, exact: Log) -> None:
    """At every instant each group of the exact relation is in an interval of the approximate one."""
    ours, theirs = relations(approximate), relations(exact)
    for ts in sorted({*ours, *theirs}):
        mine = {row[:-4]: row[-4:] for row in at(ours, ts)}
        truth = {row[:-4]: row[-4] for row in at(theirs, ts)}
        assert truth.keys() <= mine.keys(), ts
        for key, (count, low, high, certain) in mine.items():
            assert certain == ("boolean", True)
            assert low <= count <= high
            assert low <= truth.get(key, 0) <= high, (ts, key)


@pytest.mark.parametrize("seed", seeds(40))
def test_counting_holds_what_the_join_gives(seed: int) -> None:
    random = Random(seed)
    flows = simulated(random, links=random.randint(1, 3), keys=2, size=25, most_delay=6, branches=seed % 2 == 1)
    case = case_of(flows, random, delay=random.choice((0, 0, 7)))
    query, catalog = bound(case)
    found = counting(query, catalog)
    assert found is not None
    assert found.relation is not None, found.reason
    exact = expected(case, query, catalog)
    one = embedded(case, query, catalog, 1, 0)
    assert_contains(one, exact)
    assert embedded(case, query, catalog, 1, random) == one
    assert embedded(case, query, catalog, random.randint(2, 4), random) == one
    assert embedded(case, with_plan(query, "exact"), catalog, 1, 0) == exact


@pytest.mark.parametrize("seed", seeds(10))
def test_a_filter_that_the_inclusion_does_not_preserve_is_not_counted(seed: int) -> None:
    random = Random(seed)
    flows = simulated(random, links=1, size=10)
    case = case_of(flows, random)
    text = case.query.replace(" WHERE ", " WHERE s0.v + s0.k > 1 AND ", 1)
    query, catalog = bound(replace(case, query=text))
    found = counting(query, catalog)
    assert found is not None
    assert found.relation is None


@pytest.mark.parametrize("seed", seeds(4))
def test_counting_gives_the_same_in_tasks_and_cells_of_spark(seed: int) -> None:
    random = Random(seed)
    flows = simulated(random, links=random.randint(1, 2), keys=3, size=40, most_delay=6)
    case = case_of(flows, random, random.choice(("", " EMIT ON CLOSE")), delay=random.choice((0, 7)))
    query, catalog = bound(case)
    query = with_plan(query, None, one_in=random.choice((1, 64)))
    assert pretended(case, query, catalog, random.randint(1, 3), random) == embedded(case, query, catalog, 1, 0)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("s0.ts / 100 AS tb", "s0.id AS tb"), None),
        (("APPROXIMATE", "APPROXIMATE WITHIN 5"), "WITHIN is kept by the exact join"),
        (("s0, s1", "s0 [RANGE 9 SECONDS], s1"), "s0 has a window"),
        (("GROUP BY s0.ts / 100", "GROUP BY s0.ts"), "does not group by buckets"),
        (("GROUP BY s0.ts / 100", "GROUP BY CAST(s0.ts / 100 AS DOUBLE)"), "does not group by buckets"),
        (("GROUP BY s0.ts / 100", "GROUP BY (s0.ts - 5) / 100"), "does not group by buckets"),
        (("GROUP BY s0.ts / 100", "GROUP BY s0.ts / 4"), "a bucket of 4 microseconds is shorter than a delay of 5"),
        (("COUNT(*) AS n", "COUNT(*) AS n, SUM(s1.v) AS v"), "SUM(s1.v) is not COUNT(*)"),
        (("COUNT(*) AS n", "COUNT(*) AS n, COUNT(*) + 1 AS m"), "computes with a count"),
        (("WHERE s0.id = s1.id", "WHERE s0.k = s1.k"), "one row of s1 at most"),
        (("WHERE s0.id = s1.id", "WHERE s0.id = s1.id AND s0.v > 0"), "the theory does not express"),
        (("WHERE s0.id = s1.id", "WHERE s0.id = s1.id AND s0.v = 7"), "do not imply that each row of s1"),
        (("APPROXIMATE", "HAVING COUNT(*) > 2 APPROXIMATE"), "does more with its groups"),
    ],
)
def test_a_query_that_is_not_counted_says_why_and_is_exact(change: tuple[str, str], reason: str | None) -> None:
    flows = Flows(100, 0, (5,), (False,), ((), ()))
    data = {"s0": [(10, 1, 0, 7), (11, 2, 0, 0)], "s1": [(12, 1, 0, 7), (13, 2, 0, 0)]}
    text = "SELECT s0.ts / 100 AS tb, COUNT(*) AS n FROM s0, s1 WHERE s0.id = s1.id GROUP BY s0.ts / 100 APPROXIMATE"
    if reason is None:
        text = text.replace("s0.ts / 100 AS tb, ", "")
    elif change[0].startswith("GROUP BY"):
        text = text.replace("s0.ts / 100 AS tb, ", "").replace(*change)
    else:
        text = text.replace(*change, 1)
    case = Case(declared(flows), text, data, None, "")
    query, catalog = bound(case)
    found = counting(query, catalog)
    assert found is not None
    assert (found.relation is None) == (reason is not None)
    if reason is not None:
        assert reason in str(found.reason)
        assert embedded(case, query, catalog, 1, 0) == expected(case, query, catalog)


def test_buckets_of_the_last_stream_are_exact_and_have_sums() -> None:
    flows = Flows(100, 0, (5,), (False,), ((), ()))
    random = Random(1)
    data = case_of(simulated(random, links=1, size=40), random).data
    text = (
        "SELECT s1.ts / 30 AS tb, COUNT(*) AS n, SUM(s1.v) AS total, MAX(s1.v) AS most FROM s0, s1 "
        "WHERE s0.id = s1.id GROUP BY s1.ts / 30 APPROXIMATE WITHIN 0"
    )
    rows = {name: data[name] for name in ("s0", "s1")}
    trusted = declared(flows).replace(";", " ON VIOLATION IGNORE;").replace("ts ON VIOLATION IGNORE;", "ts;")
    case = Case(trusted, text, rows, None, "")
    query, catalog = bound(case)
    found = counting(query, catalog)
    assert found is not None
    assert found.relation is not None
    assert found.is_exact
    log = embedded(case, query, catalog, 1, 0)
    at_the_end = relations(log)[max(relations(log))]
    assert sum(row[1] for row in at_the_end) == len(data["s1"])


@pytest.mark.parametrize("seed", seeds(5))
def test_counts_of_the_last_stream_are_exact_and_watched(seed: int) -> None:
    random = Random(seed)
    flows = simulated(random, links=1, size=40, most_delay=5)
    case = case_of(replace(flows, antis=(False,)), random)
    text = (
        "SELECT s1.ts / 30 AS tb, COUNT(*) AS n FROM s0, s1 WHERE s0.id = s1.id GROUP BY s1.ts / 30 "
        "APPROXIMATE WITHIN 0"
    )
    case = replace(case, query=text)
    query, catalog = bound(case)
    query = with_plan(query, None, one_in=1)
    counts = running(query, catalog).counts
    assert counts is not None
    assert counts.monitors
    assert embedded(case, query, catalog, 1, random) == expected(case, query, catalog)
    lacking = {**case.data, "s0": case.data["s0"][1:]}
    broken = embedded(replace(case, data=lacking), query, catalog, 1, 0)
    held = relations(broken)[max(relations(broken))]
    is_missed = any(row[1] == case.data["s0"][0][1] for row in case.data["s1"])
    assert any(row[-1] == ("boolean", False) for row in held) == is_missed
