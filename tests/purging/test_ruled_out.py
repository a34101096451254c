"""Rows that a punctuation had ruled out are left out and counted, whatever the query, and however rows are cut."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

from penstock.algebra.rewrites import normalise
from penstock.engines.embedded import EmbeddedEngine
from penstock.errors import PenstockError
from penstock.operators import machine
from penstock.plan.guards import rulings
from penstock.plan.passes import Wanted, physical_plan
from penstock.plan.planner import plan
from penstock.synopsis import punctuated as remembered
from penstock.synopsis.memory import Memory
from penstock.synopsis.punctuated import PunctuatedValues
from tests.engines.comparing import Log, bound, embedded, expected, logged
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.purging.cases import (
    SECOND,
    Declared,
    Purging,
    Row,
    data_case,
    punctuated,
    punctuated_for,
    punctuated_from,
    unique,
)
from tests.purging.stepping import steps
from tests.seeds import seeds

QUERIES = (
    "SELECT s0.b, s1.b FROM s0, s1 WHERE s0.a = s1.a",
    "SELECT s0.b, s1.b, s2.b FROM s0, s1, s2 WHERE s0.a = s1.a AND s1.a = s2.a",
    "SELECT s0.b, s1.b FROM s0, s1 WHERE s0.a = s1.a AND s0.b = s1.b",
    "SELECT s0.b FROM s0 WHERE EXISTS (SELECT * FROM s1 WHERE s1.a = s0.a)",
    "SELECT s0.b FROM s0 WHERE NOT EXISTS (SELECT * FROM s1 WHERE s1.a = s0.a)",
    "SELECT a, b FROM s0 EXCEPT SELECT a, b FROM s1",
    "SELECT a FROM s0 INTERSECT ALL SELECT a FROM s1",
    "SELECT a FROM s0 UNION SELECT a FROM s1",
    "SELECT DISTINCT a, b FROM s0",
    "SELECT a, COUNT(*) AS n, MAX(b) AS most FROM s0 GROUP BY a",
    "SELECT a, SUM(b) AS n FROM s0 GROUP BY a HAVING COUNT(*) > 1 EMIT ON CLOSE",
    "SELECT s0.a, COUNT(*) AS n FROM s0, s1 WHERE s0.a = s1.a GROUP BY s0.a EMIT ON CLOSE",
    "SELECT u.a, COUNT(*) AS n FROM (SELECT a FROM s0 UNION ALL SELECT a FROM s1) u GROUP BY u.a",
    "SELECT COUNT(DISTINCT a) AS n FROM s0",
)


def _declared(random: Random, names: list[str]) -> Iterator[Declared]:
    for name in names:
        yield random.choice(
            (
                punctuated(name, ("a",)),
                punctuated(name, ("a", "b")),
                punctuated_from(name, ("a",), "closed"),
                punctuated_for(name, ("a",), random.randint(2, 9)),
            )
        )
        if random.random() < 0.3:
            yield unique(name, ("a",))


def ruled_out(random: Random, past: list[Row], declared: list[Declared]) -> list[Row]:
    """Rows that punctuations rule out, and that say nothing themselves."""
    schemes = [one for one in declared if one.text.startswith("PUNCTUATED")]
    last = max(row.ts for row in past if row.stream != "closed")
    candidates = [
        Row(one.stream, row.ts + later * SECOND, row.a, row.b, False)
        for one in schemes
        for row in past
        for later in (1, 7, 20)
        if row.ts + later * SECOND <= last
    ]
    found = [row for row in candidates if not all(one.allows(past, row) for one in schemes)]
    return random.sample(found, min(8, len(found)))


def _as_data(rows: list[Row], names: list[str]) -> dict[str, list[tuple[Any, ...]]]:
    in_order = sorted(rows, key=lambda row: row.ts)
    return {name: [(r.a, r.b, int(r.closes), r.ts) for r in in_order if r.stream == name] for name in names}


def breaking_case(seed: int) -> tuple[Purging, Case, int]:
    """A case whose operators forget by all schemes, the same with rows that are ruled out, and how many are counted."""
    random = Random(seed)
    while True:
        select = random.choice(QUERIES)
        names = [name for name in ("s0", "s1", "s2") if f" {name}" in select]
        declared = list(_declared(random, names))
        found = data_case(random, names, declared, f"{select} ALLOW UNBOUNDED", 40)
        try:
            plan(normalise(found.query), 1, found.catalog)
        except PenstockError:
            continue  # these groups do not close
        used = rulings(physical_plan(normalise(found.query).relation, Wanted(found.catalog)), found.catalog)
        past = [Row(name, ts, a, b, bool(c)) for name, rows in found.case.data.items() for a, b, c, ts in rows]
        more = ruled_out(random, past, declared)
        if more and {scan.stream.name for scan, _ in used} == set(names):
            data = _as_data([*past, *more], [*names, "closed"])
            # EXISTS reads no row with NULL, so none of these breaks what it leans on.
            valued = {scan.stream.name for scan, _ in used if scan.where}
            counted = [row for row in more if row.a is not None or row.stream not in valued]
            return found, Case(found.case.ddl, found.case.query, data, None, ""), len(counted)


def counted(case: Case, found: Purging, cells: int, every: int) -> tuple[Log, int]:
    engine = EmbeddedEngine(found.query, found.catalog, {}, cells)
    log = Log()
    for out in steps(engine, found.catalog, case.data, every):
        log += logged(out, found.query)
    log += logged(engine.finish(), found.query)
    return log, engine.totals().violations


@pytest.mark.parametrize("block", range(3))
def test_the_answer_is_that_without_them(block: int) -> None:
    for seed in seeds(8, start=block * 100):
        found, broken, rows = breaking_case(seed)
        want = expected(found.case, found.query, found.catalog)
        for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
            got = embedded(broken, found.query, found.catalog, cells, cuts)
            assert got == want, (seed, broken.script, broken.data)
        for every in (2 * SECOND, 10**9):
            assert counted(broken, found, 1, every) == (want, rows), (seed, broken.script, broken.data)


@pytest.mark.parametrize("seed", seeds(6))
def test_they_are_known_after_a_restart(seed: int) -> None:
    found, broken, _ = breaking_case(1000 + seed)
    got = restarted(broken, found.query, found.catalog, 1 + seed % 2, Random(seed))
    assert got == expected(found.case, found.query, found.catalog)


@pytest.mark.parametrize("seed", seeds(5))
def test_spark_s_tasks_and_slices_do_not_matter(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SLICE", 4)
    found, broken, _ = breaking_case(2000 + seed)
    got = pretended(broken, found.query, found.catalog, 1 + seed % 3, Random(seed))
    assert got == expected(found.case, found.query, found.catalog)


GROUPS = """
CREATE STREAM s (a {}, closes INT, ts BIGINT, PUNCTUATED BY (a) WHEN closes = 1{}) TIMESTAMP BY ts;
"""


def test_groups_that_ended_long_ago_are_not_begun_anew() -> None:
    """Each value is closed at once, and comes again after all others: none is open then, and all are known."""
    rows = [(f"value {n}", 1, n) for n in range(500)] + [(f"value {n}", 0, 500 + n) for n in range(500)]
    case = Case(GROUPS.format("STRING", ""), "SELECT a, COUNT(*) AS n FROM s GROUP BY a", {"s": rows}, None, "")
    query, catalog = bound(case)
    for cells in (1, 2):
        found, violations = counted(case, Purging(case, query, catalog), cells, 50)
        assert found == Log((n, "+", f"value {n}", 1) for n in range(500))
        assert violations == 500


def test_what_stops_the_run_stops_it_in_a_group_too() -> None:
    case = Case(
        GROUPS.format("BIGINT", " ON VIOLATION ERROR"),
        "SELECT a, COUNT(*) AS n FROM s GROUP BY a",
        {"s": [(7, 0, 5), (7, 1, 10), (8, 0, 20), (7, 0, 30)]},
        None,
        "",
    )
    query, catalog = bound(case)
    with pytest.raises(PenstockError) as stopped:
        embedded(case, query, catalog, 1, 1)
    said = "a row with a = 7 at 30 breaks s: PUNCTUATED BY (a) WHEN closes = 1 ON VIOLATION ERROR"
    assert stopped.value.message == said


@pytest.mark.parametrize("lifespan", [None, 5])
def test_the_last_values_are_remembered_whatever_the_steps(
    lifespan: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By definition: the last ones that were not yet known, and with a lifespan those whose last punctuation holds."""
    monkeypatch.setattr(remembered, "ROOM", 8)
    monkeypatch.setattr(remembered, "FIRST_PLACES", 2)
    for seed in seeds(20):
        random = Random(seed)
        times = np.sort(np.array([random.randint(0, 60) for _ in range(80)]))
        told = np.array([random.random() < 0.5 for _ in times])
        values = np.array([[random.randint(0, 15)] for _ in times])
        want, known = [], dict[int, int]()
        for n, time in enumerate(times.tolist()):
            if not told[n]:
                before = dict[int, int]()
                for m in np.flatnonzero(told & (times < time)).tolist():
                    if int(values[m, 0]) not in before:
                        before = dict(list(before.items())[-7:])
                    if int(values[m, 0]) not in before or lifespan is not None:
                        before[int(values[m, 0])] = int(times[m])
                known = before
                since = known.get(int(values[n, 0]))
                want.append(since is not None and (lifespan is None or time - since <= lifespan))
        for every in (1, 7, 100):
            memory = Memory()
            entries = PunctuatedValues(memory.scope("p"), 1, lifespan)
            got: list[bool] = []
            for start in range(0, 61, every):
                part = (times >= start) & (times < start + every)
                rows, punctuations = part & ~told, part & told
                told_of = times[punctuations], values[punctuations]
                found = entries.rejected(times[rows], values[rows], *told_of)
                got += found.tolist()
            assert got == want, (seed, every)
