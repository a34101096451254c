"""Semi-joins, anti-joins, set operations and DISTINCT forget what is closed, and the answer does not change."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from penstock import check
from penstock.algebra.relations import Relation, walk_relations
from penstock.algebra.rewrites import normalise
from penstock.closing.group_closers import GroupEnding
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.operators import machine
from penstock.plan.planner import plan
from tests.engines.comparing import bound, embedded, expected
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.purging.cases import (
    Declared,
    Purging,
    clustered,
    data_case,
    ordered,
    punctuated,
    punctuated_from,
    reference,
    unique,
)
from tests.purging.stepping import most_kept
from tests.seeds import seeds

SUBQUERY = (
    "SELECT s0.a, s0.b FROM s0 WHERE {} (SELECT * FROM s1 WHERE s1.a = s0.a{})",
    "SELECT s0.b, COUNT(*) AS n FROM s0 WHERE {} (SELECT * FROM s1 WHERE s1.a = s0.a{}) GROUP BY s0.b",
    "SELECT ISTREAM(s0.b) FROM s0 WHERE s0.closes = 0 AND {} (SELECT * FROM s1 WHERE s1.a = s0.a{})",
)
CONDITIONS = (
    "",
    "",
    " AND s1.b = s0.b",
    " AND s1.b <= s0.b",
    " AND s1.ts <= s0.ts + INTERVAL 2 SECONDS AND s1.ts >= s0.ts",
)
SETS = (
    "SELECT a{1} FROM s0 {0} SELECT a{1} FROM s1",
    "SELECT x.a, COUNT(*) AS n FROM (SELECT a{1} FROM s0 {0} SELECT a{1} FROM s1) x GROUP BY x.a",
    "SELECT RSTREAM * FROM (SELECT a{1} FROM s0 {0} SELECT a{1} FROM s1) x",
)
OPERATORS = ("EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL", "UNION")


def _select(random: Random) -> str:
    if random.random() < 0.6:
        exists = random.choice(("EXISTS", "NOT EXISTS"))
        return random.choice(SUBQUERY).format(exists, random.choice(CONDITIONS))
    if random.random() < 0.8:
        return random.choice(SETS).format(random.choice(OPERATORS), random.choice(("", ", b")))
    return random.choice(("SELECT DISTINCT a, b FROM s0", "SELECT DISTINCT s0.a FROM s0, s1 WHERE s0.a = s1.a"))


def _declared(random: Random) -> Iterator[Declared]:
    for name, other in (("s0", "s1"), ("s1", "s0")):
        if random.random() < 0.7:
            yield punctuated(name, ("a",))
        if random.random() < 0.3:
            yield punctuated_from(name, ("a",), "closed")
        if random.random() < 0.25:
            yield unique(name, ("a",))
        if random.random() < 0.25:
            yield clustered(name, ("a",), random.randint(0, 4), random.random() < 0.4)
        if random.random() < 0.25:
            yield ordered(name, "a", random.randint(0, 4), random.random() < 0.4)
        if random.random() < 0.25:
            yield reference(name, "a", other, "a", random.randint(0, 4), random.random() < 0.5)


def forgets(found: Purging) -> bool:
    root = plan(normalise(found.query), 1, found.catalog).last.root
    return any(isinstance(node, GroupEnding) or _is_purging_semi_join(node) for node in walk_relations(root))


def _is_purging_semi_join(node: Relation) -> bool:
    return isinstance(node, PhysicalJoin) and node.kind is not JoinKind.JOIN and node.retention is not None


def forgetting_case(seed: int) -> Purging:
    random = Random(seed)
    while True:
        found = data_case(random, ["s0", "s1"], list(_declared(random)), f"{_select(random)} ALLOW UNBOUNDED", 50)
        if forgets(found):
            return found


@pytest.mark.parametrize("block", range(3))
def test_the_answer_is_the_reference_s(block: int) -> None:
    for seed in seeds(10, start=block * 200):
        found = forgetting_case(seed)
        want = expected(found.case, found.query, found.catalog)
        for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
            got = embedded(found.case, found.query, found.catalog, cells, cuts)
            assert got == want, (seed, found.case.script, found.case.data)


@pytest.mark.parametrize("seed", seeds(6))
def test_it_goes_on_from_its_pages(seed: int) -> None:
    found = forgetting_case(1000 + seed)
    got = restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed))
    assert got == expected(found.case, found.query, found.catalog)


@pytest.mark.parametrize("seed", seeds(5))
def test_spark_s_tasks_and_slices_do_not_matter(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SLICE", 4)
    found = forgetting_case(2000 + seed)
    got = pretended(found.case, found.query, found.catalog, 1 + seed % 3, Random(seed))
    assert got == expected(found.case, found.query, found.catalog)


DDL = """
CREATE STREAM s (a BIGINT NOT NULL, closes INT, ts BIGINT, PUNCTUATED BY (a) WHEN closes = 1) TIMESTAMP BY ts;
CREATE STREAM t (a BIGINT NOT NULL, closes INT, ts BIGINT, PUNCTUATED BY (a) WHEN closes = 1) TIMESTAMP BY ts;
"""


@pytest.mark.parametrize(
    "select",
    [
        "SELECT s.a, s.ts AS at FROM s WHERE EXISTS (SELECT * FROM t WHERE t.a = s.a)",
        "SELECT s.a, s.ts AS at FROM s WHERE NOT EXISTS (SELECT * FROM t WHERE t.a = s.a)",
        "SELECT a FROM s EXCEPT SELECT a FROM t",
        "SELECT a FROM s INTERSECT SELECT a FROM t",
        "SELECT a FROM s UNION SELECT a FROM t",
        "SELECT DISTINCT a FROM s",
        "SELECT a, COUNT(DISTINCT closes) AS n FROM s GROUP BY a",
    ],
)
def test_what_is_kept_is_what_is_open(select: str) -> None:
    """A value comes for ten instants on both sides, on one of them only in every third case, and is closed then."""
    s = [(n // 10, int(n % 10 == 9), n) for n in range(1000)]
    t = [(n // 10, int(n % 10 == 9), n) for n in range(1000) if n % 10 == 9 or n // 10 % 3]
    case = Case(DDL, select, {"s": s, "t": t}, None, "")
    query, catalog = bound(case)
    (verdict,) = check(case.script)
    assert verdict.safe
    assert not verdict.warnings
    most, log = most_kept(case, 20)
    assert most <= 50
    assert log == embedded(case, query, catalog, 2, 0)


AUCTION = """
CREATE STREAM item (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, kind STRING, ts BIGINT,
    FOREIGN KEY (auction) REFERENCES item (id) WITHIN 4 MICROSECONDS,
    PUNCTUATED BY (auction) {}) TIMESTAMP BY ts;
CREATE STREAM closed (id BIGINT, ts BIGINT) TIMESTAMP BY ts;
"""
CLOSES = "WHEN kind = 'close'"


SIDES = (
    "SELECT id FROM item {} SELECT auction FROM bid WHERE kind = 'bid'",
    "SELECT auction FROM bid {} SELECT id FROM item",
)
COUNTED = "SELECT x.a, COUNT(*) AS n FROM (SELECT id AS a FROM item {} SELECT auction FROM bid) x GROUP BY x.a"


@pytest.mark.parametrize(
    "select",
    [
        *(side.format(op) for side in SIDES for op in OPERATORS),
        *map(COUNTED.format, ("UNION", "UNION ALL", "INTERSECT")),
    ],
)
def test_a_side_is_closed_by_punctuations_of_the_other_that_refer_to_it(select: str) -> None:
    """Items come before their first bid, or up to four microseconds after the row that closes them."""
    items = [(i, 10 * i + (12 if i % 5 == 0 else 0)) for i in range(100)]
    bids = [(i, "close" if at == 9 else "bid", 10 * i + at) for i in range(100) for at in (2, 9) if at == 9 or i % 3]
    case = Case(AUCTION.format(CLOSES), select, {"item": items, "bid": bids, "closed": []}, None, "")
    query, catalog = bound(case)
    (verdict,) = check(case.script)
    assert verdict.safe
    assert not verdict.warnings
    most, log = most_kept(case, 20)
    assert most <= 20
    assert log == expected(case, query, catalog)


@pytest.mark.parametrize(
    "comes", ["", "FROM closed (id)", "WHEN kind = 'close' LIFESPAN 1 HOUR"], ids=["unsaid", "apart", "for a while"]
)
def test_punctuations_that_are_no_rows_of_the_stream_refer_to_nothing(comes: str) -> None:
    (verdict,) = check(f"{AUCTION.format(comes)} SELECT id FROM item EXCEPT SELECT auction FROM bid;")
    assert not verdict.safe


@pytest.mark.parametrize("left", ["", " AND s.a IS NOT NULL"])
@pytest.mark.parametrize("right", ["", " AND t.a IS NOT NULL"])
def test_not_in_without_nulls_is_not_exists(left: str, right: str) -> None:
    """A NULL on the right takes all rows of the left back, whenever it comes: then nothing can be forgotten."""
    select = f"SELECT s.a FROM s WHERE s.closes = 0{left} AND s.a NOT IN (SELECT t.a FROM t WHERE t.closes = 0{right})"
    s = [(n // 10, int(n % 10 == 9), n) for n in range(120)]
    t = [(n // 10, int(n % 10 == 9), n + 1) for n in range(120) if n % 10 == 9 or n // 10 % 3]
    data = {"s": s, "t": [*t, (None, 0, 121)]}
    case = Case(DDL, f"{select} ALLOW UNBOUNDED", data, None, "")
    query, catalog = bound(case)
    (verdict,) = check(f"{DDL} {select};")
    assert verdict.safe == bool(left and right)
    assert verdict.safe or "or write NOT EXISTS" in verdict.message
    most, log = most_kept(case, 20)
    assert most < 40 or not verdict.safe
    assert log == expected(case, query, catalog)
