"""SUM, AVG, MIN and MAX of a stream that a join includes as a whole: exact, and watched as counts are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from penstock.elimination.counting import counting
from penstock.elimination.running import running, verdict_of, with_plan
from tests.elimination.counting.querying import case_of
from tests.elimination.counting.simulating import Flows, simulated
from tests.engines.comparing import Log, bound, embedded, expected
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.seeds import seeds

from .test_broken import broken
from .test_queries import at, relations

AGGREGATES = "COUNT(*) AS n, SUM({0}.v) AS total, AVG({0}.id) AS mean, MIN({0}.id) AS least, COUNT({0}.v) AS vs"


def grouped(flows: Flows, random: Random, window: bool = False, ending: str = "") -> str:
    """Groups of the last stream of a chain of joins, in keys of its own or of the first stream."""
    last = len(flows.streams) - 1
    size = f"[RANGE {flows.width} MICROSECONDS SLIDE {flows.width} MICROSECONDS]"
    tables = ", ".join(f"s{n} {size if window and n == last else ''}" for n in range(last + 1))
    where = " AND ".join(f"s{n}.id = s{n + 1}.id" for n in range(last))
    further = random.choice(("", f"s{last}.k", f"s{last - 1}.k" if last == 1 else f"s{last}.k"))
    keys = [key for key in (further, "" if window else f"s{last}.ts / {flows.width}") if key]
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    select = ", ".join([*keys, AGGREGATES.format(f"s{last}")])
    return f"SELECT {select} FROM {tables} WHERE {where}{group} APPROXIMATE{ending}"


def joined(random: Random, size: int = 25) -> Flows:
    """Flows without anti-joins."""
    while True:
        flows = simulated(random, links=random.choice((1, 1, 2)), keys=2, size=size, most_delay=6)
        if not any(flows.antis):
            return flows


def watched(case: Case, one_in: int = 1) -> tuple[Any, Any]:
    query, catalog = bound(case)
    return with_plan(query, None, one_in=one_in), catalog


def case_for(random: Random, flows: Flows, window: bool, ending: str = "", delay: int = 0) -> Case:
    end = max((row[0] for rows in flows.streams for row in rows), default=0) + 20 * flows.width
    case = case_of(flows, random, delay=delay)
    return replace(case, query=grouped(flows, random, window, ending), horizon=end)


@pytest.mark.parametrize("seed", seeds(25))
def test_groups_are_those_of_the_join(seed: int) -> None:
    random = Random(seed)
    case = case_for(random, joined(random), window=seed % 3 == 0, delay=random.choice((0, 0, 7)))
    query, catalog = watched(case, random.choice((1, 64)))
    found = counting(query, catalog)
    assert found is not None
    assert found.relation is not None, (found.reason, case.query)
    assert found.groups is not None
    exact = expected(case, query, catalog)
    assert embedded(case, query, catalog, 1, 0) == exact
    assert embedded(case, query, catalog, random.randint(2, 4), random) == exact
    assert embedded(case, with_plan(query, "exact"), catalog, 1, 0) == exact
    if seed % 5 == 0:
        assert pretended(case, query, catalog, random.randint(1, 3), random) == exact


def net(log: Log) -> Counter[tuple[Any, ...]]:
    held: Counter[tuple[Any, ...]] = Counter()
    for change, times in log.items():
        held[change[2:]] += times if change[1] == "+" else -times
    return +held


@pytest.mark.parametrize("seed", seeds(10))
def test_on_close_gives_what_the_change_log_ends_with(seed: int) -> None:
    random = Random(seed)
    logged = case_for(random, joined(random), window=False)
    emitted = replace(logged, query=logged.query + " EMIT ON CLOSE")
    log = embedded(emitted, *watched(emitted), 1, 0)
    assert Counter(change[2:] for change in log) == net(embedded(logged, *watched(logged), 1, 0))
    assert embedded(emitted, *watched(emitted), random.randint(2, 4), random) == log


@pytest.mark.parametrize("seed", seeds(40))
def test_a_group_is_uncertain_or_that_of_the_join(seed: int) -> None:
    random = Random(seed)
    flows = joined(random, size=30)
    flows = replace(flows, width=flows.width + 5)
    window = seed % 3 == 0
    case = case_for(random, broken(flows, random), window)
    case = replace(case, horizon=max((row[0] for rows in case.data.values() for row in rows), default=0))
    query, catalog = watched(case)
    ours, theirs = relations(embedded(case, query, catalog, 1, 0)), relations(expected(case, query, catalog))
    last = max([*ours, *theirs], default=0)
    for ts in sorted({*ours, *theirs}) if window else (last,):
        mine = at(ours, ts) if ours else Counter()
        truth = at(theirs, ts) if theirs else Counter()
        uncertain = {row[:-8] for row in mine if row[-1] == ("boolean", False)}
        for row in mine - truth + (truth - mine):
            assert row[:-8] in uncertain, (ts, row, case)


def test_a_broken_assertion_marks_a_group_of_strings() -> None:
    ddl = """
    CREATE STREAM s (ts BIGINT, id BIGINT, name STRING) TIMESTAMP BY ts;
    CREATE STREAM d (ts BIGINT, id BIGINT, name STRING) TIMESTAMP BY ts;
    CREATE ASSERTION s_key FOR s x, s y WHERE x.id = y.id THEN x.ts = y.ts AND x.name = y.name;
    CREATE ASSERTION soon FOR d y THEN EXISTS s x WHERE x.id = y.id AND x.ts <= y.ts;
    """
    shown = "d.ts / 10, MAX(d.name) AS most, COUNT(*) AS n"
    text = f"SELECT {shown} FROM s, d WHERE s.id = d.id GROUP BY d.ts / 10 APPROXIMATE"
    data = {"s": [(1, 1, "a"), (12, 2, "b")], "d": [(2, 1, "x"), (13, 2, "y"), (14, 3, "z")]}
    case = Case(ddl, text, data, None, "")
    query, catalog = watched(case)
    assert running(query, catalog).counts is not None
    assert verdict_of(query, catalog).safe
    held = net(embedded(case, query, catalog, 2, 0))
    assert set(held) == {
        (0, "x", 1, 1, 1, ("boolean", True)),
        (1, "z", 2, 2, 2, ("boolean", False)),
    }
