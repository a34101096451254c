"""Answers do not depend on caches: random joins of three to six streams, whose caches come and go between all parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

from penstock.adaptive.caches.random_caches import nested_orders, random_caches
from penstock.engines.embedded import EmbeddedEngine
from tests.engines.comparing import Log, batches, bound, expected, logged, table
from tests.engines.restarting import Pages, restart
from tests.generators import Case
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


def run(case: Case, random: Random, cells: int = 1, restarts: float = 0.0) -> tuple[Log, int]:
    """What a run gives whose caches change between all parts, and how often a cache was hit."""
    query, catalog = bound(case)
    tables = {t.name: table(t, case.data.get(t.name, ())) for t in catalog.tables}
    engine = EmbeddedEngine(query, catalog, tables, cells, case.horizon)
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
        hits += sum(counts.hits for cache, counts in join.cache_counts().items() if cache in join.cache_choice.used)
        if len(join.inputs) > 2 and (random.random() < 0.2 or not join.cache_candidates()):
            join.use(join.in_order(nested_orders(len(join.inputs), random)))
        if random.random() < 0.3 or not join.cache_choice.used:
            join.use_caches(random_caches(join.cache_candidates(), random))
    return hits


@contextmanager
def few_lines() -> Iterator[None]:
    """Caches are so small that keys share lines, and long lines soon overwrite each other in the ring."""
    sizes = {"MOST_LINES": 4, "FEWEST_LINES": 2, "RING_PER_LINE": 8}
    with patch.multiple("penstock.operators.joins.join_caches", **sizes):
        yield


def test_random_joins_with_caches_give_the_reference() -> None:
    hits = 0
    for seed in seeds(60):
        case = joins(random := Random(seed))
        query, catalog = bound(case)
        found, own = run(case, random, random.choice((1, 1, 3)), random.choice((0.0, 0.1)))
        assert found == expected(case, query, catalog), (seed, case)
        hits += own
    assert hits > 100


def test_random_joins_with_caches_of_few_lines_give_the_reference() -> None:
    with few_lines():
        for seed in seeds(40, start=1000):
            case = joins(random := Random(seed))
            query, catalog = bound(case)
            assert run(case, random)[0] == expected(case, query, catalog), (seed, case)
