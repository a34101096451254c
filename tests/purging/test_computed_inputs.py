"""Joins with computed inputs drop rows when all streams below are closed for them, and the answer does not change."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from penstock.algebra.relations import walk_relations
from penstock.algebra.rewrites import normalise
from penstock.closing.physical_join import PhysicalJoin
from penstock.operators import machine
from penstock.plan.planner import plan
from tests.engines.comparing import bound, embedded, expected
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.purging.cases import Declared, Purging, data_case, ordered, punctuated, punctuated_from, reference, unique
from tests.seeds import seeds

WINDOWS = ("", "", "", " [RANGE 4 SECONDS]", " [ROWS 3]", " [PARTITION BY a ROWS 2]")
BAND = " AND s1.ts BETWEEN s0.ts - INTERVAL 2 SECONDS AND s0.ts + INTERVAL 3 SECONDS"
SLOT = "UNIX_SECONDS({}.ts) / 5"


def _exists(random: Random, outer: str, inner: str, extra: str = "") -> str:
    column = random.choice(("a", "a", "a", "b"))
    negated = random.choice(("", "NOT "))
    window = random.choice(("", "", "", " [RANGE 4 SECONDS]"))
    own = f"{inner}.{column} = {outer}.{column}"
    band = f" AND {inner}.ts BETWEEN {outer}.ts - INTERVAL 2 SECONDS AND {outer}.ts + INTERVAL 3 SECONDS"
    return f"{negated}EXISTS (SELECT * FROM {inner}{window} WHERE {own}{random.choice(('', '', band))}{extra})"


def _grouped(random: Random, name: str, alias: str) -> str:
    by = random.choice((f"{name}.a", f"{name}.a", f"{SLOT.format(name)}"))
    counted = random.choice(("COUNT(*)", f"MAX({name}.b)", f"COUNT(DISTINCT {name}.b)"))
    body = f"SELECT {by} AS k, {counted} AS n FROM {name}{random.choice(WINDOWS)}"
    where = f" WHERE {_exists(random, name, 's2')}" if name != "s2" and random.random() < 0.3 else ""
    return f"({body}{where} GROUP BY {by}) {alias}"


def _select(random: Random) -> str:
    window = random.choice(WINDOWS)
    both = f"{_exists(random, 's0', 's1')} AND {_exists(random, 's0', 's2')}"
    nested = _exists(random, "s0", "s1", f" AND {_exists(random, 's1', 's2')}")
    band = random.choice(("", BAND))
    joined = f"FROM s0, s1 WHERE s0.a = s1.a{band} AND {_exists(random, random.choice(('s0', 's1')), 's2')}"
    key = random.choice(("s0.a", "s0.a, s0.b", SLOT.format("s0")))
    slot = f"(SELECT {SLOT} AS k, COUNT(*) AS n FROM {{0}} GROUP BY {SLOT}) {{0}}".replace("{}", "{0}")
    slots = [slot.format(name) for name in ("s1", "s2")]
    shapes = (
        f"SELECT s0.a, s0.b FROM s0{window} WHERE {both}",
        f"SELECT s0.a, s0.b FROM s0{window} WHERE {nested}",
        f"SELECT {key}, COUNT(*) AS n FROM s0 WHERE {both} GROUP BY {key}",
        f"SELECT {key}, COUNT(*) AS n FROM s0 WHERE {nested} GROUP BY {key}",
        f"SELECT s0.a, s1.b {joined}",
        f"SELECT {key}, COUNT(*) AS n {joined} GROUP BY {key}",
        f"SELECT s0.b, g.n FROM s0{window}, {_grouped(random, 's1', 'g')} WHERE g.k = s0.a",
        f"SELECT g.n, h.n AS m FROM {_grouped(random, 's0', 'g')}, {_grouped(random, 's1', 'h')} WHERE g.k = h.k",
        f"SELECT s1.k, s1.n - s2.n AS more FROM {', '.join(slots)} WHERE s1.k = s2.k",
        f"SELECT s0.b, d.a FROM s0, (SELECT DISTINCT a FROM s1{window}) d WHERE d.a = s0.a",
        "SELECT s0.b, u.b AS c FROM s0, (SELECT a, b FROM s1 UNION SELECT a, b FROM s2) u WHERE u.a = s0.a",
        f"SELECT s0.b FROM s0 WHERE EXISTS (SELECT * FROM {_grouped(random, 's1', 'g')} WHERE g.k = s0.a AND g.n > 1)",
        f"SELECT s0.b FROM s0, s1, {_grouped(random, 's2', 'g')} WHERE g.k = s0.a AND s1.a = s0.a",
    )
    return random.choice(shapes)


def _declared(random: Random) -> Iterator[Declared]:
    for name in ("s0", "s1", "s2"):
        if random.random() < 0.8:
            yield punctuated(name, random.choice((("a",), ("a",), ("b",), ("a", "b"))))
        if random.random() < 0.3:
            yield punctuated_from(name, ("a",), "closed")
        if random.random() < 0.2:
            yield unique(name, ("a",))
        other = random.choice([each for each in ("s0", "s1", "s2") if each != name])
        if random.random() < 0.3:
            yield reference(name, "a", other, "a", random.randint(0, 4), random.random() < 0.5)
        if random.random() < 0.2:
            yield ordered(name, "a", random.randint(0, 4), random.random() < 0.4)


def drops_rows(found: Purging) -> bool:
    root = plan(normalise(found.query), 1, found.catalog).last.root
    return any(isinstance(node, PhysicalJoin) and node.endings for node in walk_relations(root))


def computed_case(seed: int, rows: int = 50) -> Purging:
    """A case whose join drops rows of a computed input."""
    random = Random(seed)
    while True:
        select = f"{_select(random)} ALLOW UNBOUNDED"
        found = data_case(random, ["s0", "s1", "s2"], list(_declared(random)), select, rows)
        if drops_rows(found):
            return found


@pytest.mark.parametrize("block", range(4))
def test_the_answer_is_the_reference_s(block: int) -> None:
    for seed in seeds(8, start=block * 200):
        found = computed_case(seed)
        want = expected(found.case, found.query, found.catalog)
        for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
            got = embedded(found.case, found.query, found.catalog, cells, cuts)
            assert got == want, (seed, cells, found.case.script, found.case.data)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10, 60))
def test_many_answers_are_the_reference_s(block: int) -> None:
    test_the_answer_is_the_reference_s(block)


@pytest.mark.parametrize("seed", seeds(8))
def test_it_goes_on_from_its_pages(seed: int) -> None:
    found = computed_case(1000 + seed)
    got = restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed))
    assert got == expected(found.case, found.query, found.catalog)


@pytest.mark.parametrize("seed", seeds(5))
def test_spark_s_tasks_and_slices_do_not_matter(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SLICE", 4)
    found = computed_case(2000 + seed)
    got = pretended(found.case, found.query, found.catalog, 1 + seed % 3, Random(seed))
    assert got == expected(found.case, found.query, found.catalog)


READ_TWICE = """
CREATE STREAM r (ts BIGINT, k BIGINT) TIMESTAMP BY ts DELAY 3 MICROSECONDS;
--- rows of r
[0, null]
[0, 1]
[1, 2]
[1, 7]
[2, null]
[7, 1]
[8, 0]
--- horizon
null
--- query
SELECT r.ts, r.k FROM r [RANGE 4 MICROSECONDS] LEFT ANTI JOIN (SELECT CASE ts WHEN 1 THEN k END AS c, k FROM r) AS x
ON r.ts = x.c AND (x.c >= r.k OR r.k <= x.k)
--- oracle

"""


@pytest.mark.parametrize("cells", [1, 3])
def test_an_anti_join_may_read_its_right_side_twice(cells: int) -> None:
    case = Case.read(READ_TWICE)
    query, catalog = bound(case)
    assert embedded(case, query, catalog, cells, 2) == expected(case, query, catalog)
