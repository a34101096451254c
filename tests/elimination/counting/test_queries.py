"""Queries that count instead of joining hold what the reference's joins give, in any cells and cuts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from penstock.elimination.counting import counting
from penstock.elimination.running import with_plan
from tests.elimination.counting.querying import case_of
from tests.elimination.counting.simulating import simulated
from tests.engines.comparing import Log, bound, embedded, expected
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
    flows = simulated(random, links=random.randint(1, 3), keys=2, size=25, most_delay=6)
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
