"""WITHIN: counters give way to the exact join from the bucket after one whose interval was too wide on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from penstock.elimination.counting import counting
from penstock.elimination.running import verdict_of, with_plan
from penstock.engines.embedded import EmbeddedEngine
from penstock.plan.decisions import PlanDecision, decision_of_json, decisions_text
from tests.elimination.counting.querying import case_of, declared
from tests.elimination.counting.simulating import Flows, simulated
from tests.engines.comparing import batches, bound, embedded, expected
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.seeds import seeds

from .test_queries import relations

FLOWS = Flows(10, 0, (5,), (False,), ((), ()))
QUERY = (
    "SELECT s0.ts / 10 AS tb, COUNT(*) AS n FROM s0, s1 WHERE s0.id = s1.id AND s1.ts >= s0.ts AND s1.ts <= s0.ts + 5 "
    "GROUP BY s0.ts / 10 APPROXIMATE WITHIN {}"
)
#: Either the row of s0 at 8 or that at 11 may have its partner at 12.
DATA = {
    "s0": [(1, 9, 0, 0), (8, 1, 0, 0), (11, 3, 0, 0), (41, 4, 0, 0), (52, 5, 0, 0), (58, 6, 0, 0)],
    "s1": [(2, 9, 0, 0), (12, 1, 0, 0), (43, 4, 0, 0), (53, 5, 0, 0), (61, 6, 0, 0)],
}


def last_shown(case: Case, cells: int = 1, cuts: Random | int = 0) -> dict[int, tuple[Any, ...]]:
    query, catalog = bound(case)
    log = embedded(case, query, catalog, cells, cuts)
    held = relations(log)
    return {row[0]: row[1:] for row in held[max(held)]} if held else {}


def test_a_narrow_interval_keeps_the_counters() -> None:
    case = Case(declared(FLOWS), QUERY.format(1000), DATA, None, "")
    apart = Case(declared(FLOWS), QUERY.format(0).replace(" WITHIN 0", ""), DATA, None, "")
    assert last_shown(case) == last_shown(apart)


@pytest.mark.parametrize("ending", ["", " EMIT ON CLOSE"])
def test_the_bucket_after_a_wide_one_is_exact(ending: str) -> None:
    case = Case(declared(FLOWS), QUERY.format(0) + ending, DATA, 100, "")
    query, catalog = bound(case)
    found = counting(query, catalog)
    assert found is not None
    assert found.exact is not None, found.reason
    log = embedded(case, query, catalog, 1, 0)
    held = relations(log)
    rows = held[max(held)] if ending == "" else Counter(change[2:] for change in log)
    shown = {row[0]: row[1:4] for row in rows}
    assert len(shown) == rows.total(), "each bucket shows once, as it is when it closes"
    assert shown[0] == (1, 1, 2)
    assert shown[4] == (1, 1, 1)
    assert shown[5] == (2, 2, 2), "the pair that crosses the end of the bucket is counted, not guessed"


def decisions(case: Case, cells: int) -> set[str]:
    query, catalog = bound(case)
    engine = EmbeddedEngine(query, catalog, {}, cells, None)
    for name, rows in batches(case, engine, catalog, 0):
        engine.push(name, rows)
    engine.finish()
    return {each.choice for line in engine.metrics() for each in line.decisions}


@pytest.mark.parametrize("cells", [1, 2])
def test_metrics_say_that_it_fell_back(cells: int) -> None:
    wide = Case(declared(FLOWS), QUERY.format(0), DATA, 100, "")
    assert decisions(wide, cells) == {"the exact join for buckets from 30 on"}
    assert decisions(replace(wide, query=QUERY.format(1000)), cells) == set()


def test_what_is_said_of_the_way_back_is_read_back_and_shown() -> None:
    said = PlanDecision("fragment 3 cell 0 FallenBack1", 0, 30, "wide", "the exact join for buckets from 30 on")
    assert decision_of_json(said.as_json()) == said
    assert decisions_text([said]).splitlines()[:2] == [
        "fragment 3 cell 0 FallenBack1",
        "  an interval was wider than WITHIN allows: the exact join for buckets from 30 on",
    ]


def test_percents_are_of_the_count() -> None:
    wide, narrow = (Case(declared(FLOWS), QUERY.format(f"{n} PERCENT"), DATA, 100, "") for n in (50, 500))
    assert decisions(wide, 1)
    assert not decisions(narrow, 1)


@pytest.mark.parametrize("seed", seeds(8))
def test_every_bucket_holds_the_exact_count_and_later_ones_are_exact(seed: int) -> None:
    random = Random(seed)
    flows = simulated(random, links=random.randint(1, 2), keys=2, size=25, most_delay=6)
    case = case_of(flows, random, delay=random.choice((0, 5)), always_windowed=True)
    case = replace(case, query=f"{case.query} WITHIN {random.choice(('0', '1', '2', '12.5 PERCENT'))}")
    query, catalog = bound(case)
    found = counting(query, catalog)
    assert found is not None
    assert found.exact is not None, found.reason
    one = embedded(case, query, catalog, 1, 0)
    assert embedded(case, query, catalog, 1, random) == one
    assert embedded(case, query, catalog, random.randint(2, 4), random) == one
    assert pretended(case, query, catalog, random.randint(1, 3), random) == one
    truth, ours = relations(expected(case, query, catalog)), relations(one)
    last = max([*truth, *ours], default=0)
    exact = {row[:-4]: row[-4] for row in _at(truth, last)}
    mine = {row[:-4]: row[-4:] for row in _at(ours, last)}
    assert exact.keys() <= mine.keys()
    for key, (_, low, high, certain) in mine.items():
        assert certain == ("boolean", True)
        assert low <= exact.get(key, 0) <= high


def _at(found: dict[int, Counter[tuple[Any, ...]]], ts: int) -> Counter[tuple[Any, ...]]:
    return found[max(t for t in found if t <= ts)] if found else Counter()


@pytest.mark.parametrize("seed", seeds(5))
def test_on_close_gives_what_the_change_log_ends_with(seed: int) -> None:
    random = Random(seed)
    flows = simulated(random, links=random.randint(1, 2), keys=2, size=25, most_delay=6)
    logged = case_of(flows, random, always_windowed=True)
    end = max((row[0] for rows in logged.data.values() for row in rows), default=0) + 5 * flows.width + 100
    logged = replace(logged, query=f"{logged.query} WITHIN 1", horizon=end)
    emitted = replace(logged, query=f"{logged.query} EMIT ON CLOSE")
    query, catalog = bound(logged)
    held = relations(embedded(logged, query, catalog, 1, 0))
    log = embedded(emitted, *bound(emitted), random.randint(1, 3), random)
    assert Counter(change[2:] for change in log) == Counter(_at(held, end))


def test_conditions_that_match_earlier_rows_are_kept_by_the_exact_join() -> None:
    text = QUERY.format(1).replace(" AND s1.ts >= s0.ts", "")
    found = counting(*bound(Case(declared(FLOWS), text, DATA, None, "")))
    assert found is not None
    assert found.relation is None
    assert found.reason == ("WITHIN is kept by the exact join: its conditions match rows of s1 before those of s0")


def test_the_verdict_has_the_counters_and_the_join() -> None:
    query, catalog = bound(Case(declared(FLOWS), QUERY.format(1), DATA, None, ""))
    operators = {state.operator.value for state in verdict_of(query, catalog).states}
    assert operators >= {"group by", "join"}
    assert verdict_of(query, catalog).safe
    assert with_plan(query, "approximate").approximate is not None
