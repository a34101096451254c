"""Advice has each smallest set: against all subsets of what may be asked for."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from penstock import check
from penstock.algebra.rewrites import normalise
from penstock.register import Action, Verdict, check_query
from penstock.register.advice import MOST_ACTIONS, Search, Trials, _candidates
from penstock.register.steps import AdviceStep, Declare
from penstock.sql import bind_text
from tests.register.test_trials import query_text

TWO = (
    "CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;"
    "CREATE STREAM t (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;"
)


def safe(verdict: Verdict, steps: tuple[AdviceStep, ...]) -> bool:
    return check_query(*Action(steps).apply(verdict.query, verdict.catalog)).safe


def smallest(verdict: Verdict, pool: list[AdviceStep], most: int) -> set[frozenset[AdviceStep]]:
    found: set[frozenset[AdviceStep]] = set()
    for size in range(most + 1):
        for some in combinations(pool, size):
            if not any(less <= set(some) for less in found) and safe(verdict, some):
                found.add(frozenset(some))
    return found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT a, b FROM s",
        "SELECT a, COUNT(*) AS n FROM s GROUP BY a",
        "SELECT s.a FROM s, t WHERE s.a = t.a AND s.b = t.b",
        "SELECT s.b FROM s WHERE EXISTS (SELECT * FROM t WHERE s.a = t.a)",
        "SELECT a FROM s EXCEPT SELECT a FROM t",
    ],
)
def test_each_smallest_set_of_declarations_is_found(sql: str) -> None:
    (verdict,) = check(TWO + sql)
    normal = normalise(verdict.query)
    pool = dict.fromkeys(_candidates(normal.relation, verdict.catalog, verdict.unbounded, few=True))
    declarations = [step for step in pool if isinstance(step, Declare)]
    search = Search(Trials(normal, verdict.catalog, verdict.unbounded), declarations)
    search.declarations(most=1000)
    assert search.complete
    assert search.found == smallest(verdict, declarations, 4)


def test_random_queries_have_each_smallest_set_of_a_random_pool() -> None:
    random = Random("each smallest set")
    tried = 0
    while tried < 12:
        script = bind_text(query_text(random))
        if script.errors:
            continue
        verdict = check_query(script.queries[0], script.catalog)
        normal = normalise(verdict.query)
        every = dict.fromkeys(_candidates(normal.relation, verdict.catalog, verdict.unbounded, few=True))
        declarations = [step for step in every if isinstance(step, Declare)]
        pool = random.sample(declarations, min(6, len(declarations)))
        if verdict.safe or not pool:
            continue
        search = Search(Trials(normal, verdict.catalog, verdict.unbounded), pool)
        search.declarations(most=1000)
        assert search.complete
        assert search.found == smallest(verdict, pool, len(pool)), (script.queries[0], pool)
        tried += 1


@pytest.mark.parametrize("streams", [2, 3, 5, 8])
@pytest.mark.parametrize("shape", ["chain", "star", "ring"])
def test_every_action_is_smallest_and_cheapest_first(shape: str, streams: int) -> None:
    pairs = {
        "chain": [(i, i + 1) for i in range(streams - 1)],
        "star": [(0, i) for i in range(1, streams)],
        "ring": [(i, (i + 1) % streams) for i in range(streams)],
    }[shape]
    declared = "".join(f"CREATE STREAM s{i} (x BIGINT, y BIGINT, ts BIGINT) TIMESTAMP BY ts;" for i in range(streams))
    sources = ", ".join(f"s{i}" for i in range(streams))
    (verdict,) = check(
        f"{declared} SELECT s0.x FROM {sources} WHERE " + " AND ".join(f"s{a}.y = s{b}.x" for a, b in pairs)
    )
    costs = [action.cost for action in verdict.actions]
    assert costs == sorted(costs)
    assert 1 <= len(costs) <= MOST_ACTIONS
    for action in verdict.actions:
        assert safe(verdict, action.steps)
        for step in action.steps:
            assert not safe(verdict, tuple(each for each in action.steps if each != step)), step


def test_what_is_left_out_is_counted_or_said() -> None:
    (verdict,) = check(TWO + "SELECT s.a FROM s, t WHERE s.a = t.a")
    assert len(verdict.actions) == MOST_ACTIONS
    assert str(verdict).splitlines()[-1] == f"  {verdict.advice.rest}"
    (verdict,) = check(TWO + "SELECT a, COUNT(*) AS n FROM s GROUP BY a")
    assert verdict.advice.rest is None
