"""Answers do not depend on caches: random joins of three to six streams, whose caches come and go between all parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

import numpy as np
import pytest

from penstock.adaptive.caches.random_caches import nested_orders, random_caches
from penstock.engines.embedded import EmbeddedEngine
from penstock.operators.joins.join_caches import JoinCaches
from penstock.plan.caches import CacheChoice
from penstock.plan.forgetting import EAGER, Forgetting
from tests.adaptive.three_way import ThreeWay
from tests.engines.comparing import Log, batches, bound, expected, logged, table
from tests.engines.restarting import Pages, restart
from tests.generators import Case
from tests.purging.cases import purging_case
from tests.purging.spilling import spilling_case
from tests.seeds import seeds

COLUMNS = ("x", "y", "z")
WINDOWS = (
    "[RANGE 3 MICROSECONDS]",
    "[RANGE 6 MICROSECONDS]",
    "[RANGE 4 MICROSECONDS SLIDE 2 MICROSECONDS]",
    "[ROWS 1]",
    "[ROWS 3]",
    "[PARTITION BY x ROWS 1]",
    "[NOW]",
    "[UNBOUNDED]",
)
OUTPUTS = ("{}", "{}", "ISTREAM({})", "DSTREAM({})")
#: Predicates that no index evaluates.
RESIDUALS = ("", "", " AND {}.x <= {}.y", " AND {}.x + {}.z < 3")


def joins(random: Random) -> Case:
    """A join of streams of a few rows: a random tree of equalities, or with cycles, or with products."""
    names = "abcdef"[: random.choice((3, 3, 3, 4, 4, 5, 6))]
    ddl = "\n".join(
        f"CREATE STREAM {name} (x BIGINT, y BIGINT, z BIGINT, ts BIGINT) TIMESTAMP BY ts;" for name in names
    )
    equalities = [
        f"{names[random.randrange(n)]}.{random.choice(COLUMNS)} = {names[n]}.{random.choice(COLUMNS)}"
        for n in range(1, len(names))
        if random.random() < 0.9
    ]
    for _ in range(random.choice((0, 0, 1, 2))):
        left, right = random.sample(names, 2)
        equalities.append(f"{left}.{random.choice(COLUMNS)} = {right}.{random.choice(COLUMNS)}")
    where = " AND ".join(equalities or ["1 = 1"]) + random.choice(RESIDUALS).format(*random.choices(names, k=2))
    shown = ", ".join(f"{name}.{column} AS {name}{column}" for name in names for column in COLUMNS[:2])
    read = ", ".join(f"{name} {random.choice(WINDOWS)}" for name in names)
    query = f"SELECT {random.choice(OUTPUTS).format(shown)} FROM {read} WHERE {where} ALLOW UNBOUNDED"
    most = {3: 24, 4: 12, 5: 7, 6: 5}[len(names)]
    values = random.choice((2, 2, 3))

    def value() -> int | None:
        return None if random.random() < 0.03 else random.randrange(values)

    data = {}
    for name in names:
        times = sorted(random.randrange(14) for _ in range(random.randint(most // 2, most)))
        data[name] = [(value(), value(), value(), ts) for ts in times]
    return Case(ddl, query, data, random.choice((None, 20)), "")


def run(
    case: Case, random: Random, cells: int = 1, restarts: float = 0.0, forgetting: Forgetting = EAGER
) -> tuple[Log, int]:
    """What a run gives whose caches change between all parts, and how often a cache was hit."""
    query, catalog = bound(case)
    tables = {t.name: table(t, case.data.get(t.name, ())) for t in catalog.tables}
    engine = EmbeddedEngine(query, catalog, tables, cells, case.horizon, forgetting=forgetting)
    log, hits, pages = Log(), 0, Pages()
    for name, rows in batches(case, engine, catalog, random):
        hits += change_caches(engine, random)
        engine.push(name, rows)
        log += logged(engine.advance(), query)
        if random.random() < restarts:
            restart(engine, pages)
    return log + logged(engine.finish(), query), hits


def change_caches(engine: EmbeddedEngine, random: Random) -> int:
    """Gives joins other orders now and then, and other caches more often; says how often those were hit."""
    hits = 0
    for join in (join for machines in engine._machines for machine in machines for join in machine.joins):
        hits += sum(counts.hits for cache, counts in join.caching.counts().items() if cache in join.caching.choice.used)
        if len(join.inputs) > 2 and (random.random() < 0.2 or not join.caching.candidates()):
            join.use(join.in_order(nested_orders(len(join.inputs), random)))
        if random.random() < 0.3 or not join.caching.choice.used:
            join.caching.use(random_caches(join.caching.candidates(), random))
    return hits


@contextmanager
def few_lines() -> Iterator[None]:
    """Caches are so small that keys share lines, and long lines soon overwrite each other in the ring."""
    sizes = {"MOST_LINES": 4, "FEWEST_LINES": 2, "RING_PER_LINE": 8}
    with patch.multiple("penstock.operators.joins.join_caches", **sizes):
        yield


def test_random_joins_with_caches_give_the_reference() -> None:
    hits = 0
    for seed in seeds(40):
        case = joins(random := Random(seed))
        query, catalog = bound(case)
        found, own = run(case, random, random.choice((1, 1, 3)), random.choice((0.0, 0.1)))
        assert found == expected(case, query, catalog), (seed, case)
        hits += own
    assert hits


def test_random_joins_with_caches_of_few_lines_give_the_reference() -> None:
    with few_lines():
        for seed in seeds(20, start=1000):
            case = joins(random := Random(seed))
            query, catalog = bound(case)
            assert run(case, random)[0] == expected(case, query, catalog), (seed, case)


def test_caches_are_exact_where_rows_are_purged() -> None:
    hits = 0
    for seed in seeds(10, start=2011):
        found = purging_case(seed, rows=50)
        got, own = run(found.case, Random(seed), 1 + seed % 2, 0.1)
        assert got == expected(found.case, found.query, found.catalog), (seed, found.case.script)
        hits += own
    assert hits


def test_caches_are_exact_where_rows_are_spilled_and_brought_back() -> None:
    hits = 0
    for seed in seeds(12, start=3000):
        found = spilling_case(seed, 50)
        got, own = run(found.case, Random(seed), forgetting=Forgetting(spill=True))
        assert got == expected(found.case, found.query, found.catalog), (seed, found.case.script)
        hits += own
    assert hits


def wrong_answers(start: int, count: int = 20) -> int:
    """How many of some random joins give other answers than the reference."""
    wrong = 0
    for seed in range(start, start + count):
        case = joins(random := Random(seed))
        query, catalog = bound(case)
        wrong += run(case, random)[0] != expected(case, query, catalog)
    return wrong


def test_a_missed_invalidation_is_caught() -> None:
    laid_out = JoinCaches._lay_out

    def without_drops(caches: JoinCaches) -> None:
        laid_out(caches)
        caches.arrays.drops[:] = -1

    with patch.object(JoinCaches, "_lay_out", without_drops):
        assert wrong_answers(0)


def test_a_cache_goes_with_the_paths_that_keep_its_invariant() -> None:
    join = ThreeWay().join
    (cache,) = join.caching.choice.used
    join.use(join.in_order([(1, 2), (0, 2), (1, 0)]))
    assert join.caching.choice.used == ()
    assert cache not in join.caching.candidates()
    with pytest.raises(AssertionError, match="prefix invariant"):
        join.caching.use(CacheChoice((cache,)))


def after_slots_are_used_again() -> list[tuple[int, ...]]:
    """What a lookup gives whose line lists a slot that a row without a match is in by now."""
    join = ThreeWay("ROWS 2", [("r3", (2,)), ("r2", (1, 2)), ("r2", (1, 9))])
    assert join.insert("r1", 1) == [(1, 1, 2, 2)]
    join.insert("r2", 5, 2)
    join.insert("r2", 1, 9)
    return join.insert("r1", 1)


def test_a_line_that_lists_a_slot_which_is_used_again_does_not_give_its_row() -> None:
    assert after_slots_are_used_again() == []


def test_a_stale_line_is_caught() -> None:
    def without_births(caches: JoinCaches, events: object, brings: object) -> None:
        begun(caches, events, brings)  # type: ignore[arg-type]
        for born in caches._born:
            born[:] = 0

    begun = JoinCaches.begin
    with patch.object(JoinCaches, "begin", without_births):
        assert after_slots_are_used_again() != []


def after_rows_are_brought_back() -> list[tuple[int, ...]]:
    """What a lookup gives whose line was filled while a row was forgotten that is there again."""
    join = ThreeWay()
    join.join.forget(1, np.array([0]))
    assert join.insert("r1", 1) == []
    join.join.bring_back(1, np.array([0]))
    return join.insert("r1", 1)


def test_caches_are_emptied_when_rows_are_brought_back() -> None:
    assert after_rows_are_brought_back() == [(1, 1, 2, 2)]


def test_a_cache_that_is_not_emptied_is_caught() -> None:
    with patch.object(JoinCaches, "clear", lambda caches: None):
        assert after_rows_are_brought_back() == []
