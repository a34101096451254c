"""Partitions of a window end when punctuations close their values: nothing of them is kept, and no answer changes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

import penstock
from penstock.algebra.relations import walk_relations
from penstock.algebra.rewrites import normalise
from penstock.closing.group_closers import GroupEnding
from penstock.plan.planner import plan
from tests.engines.comparing import embedded, expected
from tests.engines.restarting import restarted
from tests.purging.cases import Declared, Purging, data_case, punctuated, punctuated_from
from tests.seeds import seeds

WINDOWS = ("PARTITION BY a ROWS 2", "PARTITION BY a, b ROWS 1", "PARTITION BY a ROWS 3", "PARTITION BY b, a ROWS 2")
SELECTS = (
    "SELECT a, b FROM s0 [{}]",
    "SELECT ISTREAM(a, b) FROM s0 [{}] WHERE closes = 0",
    "SELECT b, COUNT(*) AS n, MAX(a) AS most FROM s0 [{}] WHERE b > 1 GROUP BY b",
    "SELECT COUNT(*) AS n FROM s0 [{}]",
    "SELECT DISTINCT a FROM s0 [{}]",
    "SELECT a, b FROM s0 [{}] UNION ALL SELECT a, b FROM s1 [PARTITION BY a ROWS 1]",
    "SELECT a FROM s0 [{}] EXCEPT SELECT a FROM s1",
    "SELECT s0.a, s1.b FROM s0 [{0}], (SELECT a, COUNT(*) AS b FROM s1 [{0}] GROUP BY a) s1 WHERE s0.a = s1.a",
)
JOINS = (
    "SELECT s0.a, s1.b FROM s0 [{}], s1 WHERE s0.a = s1.a",
    "SELECT s0.a, s1.b FROM s0 [{0}], s1 [{0}] WHERE s0.a = s1.a AND s0.b > 1",
    "SELECT s0.a, s0.b FROM s0 [{}] WHERE NOT EXISTS (SELECT * FROM s1 WHERE s1.a = s0.a)",
    "SELECT s0.a, s0.b FROM s0 [{}] WHERE EXISTS (SELECT * FROM s1 [{}] WHERE s1.a = s0.a AND s1.b > s0.b)",
    "SELECT s0.a, SUM(s1.b) AS b FROM s0 [{}], s1 [RANGE 4 SECONDS] WHERE s0.a = s1.a GROUP BY s0.a",
)


def _declared(random: Random) -> Iterator[Declared]:
    for name in ("s0", "s1"):
        yield punctuated(name, random.choice((("a",), ("a",), ("a", "b"))))
        if random.random() < 0.3:
            yield punctuated_from(name, ("a",), "closed")


def partition_case(seed: int, selects: tuple[str, ...] = SELECTS) -> Purging:
    """A case in which partitions end."""
    random = Random(seed)
    while True:
        window = random.choice(WINDOWS)
        select = f"{random.choice(selects).format(window, window)} ALLOW UNBOUNDED"
        found = data_case(random, ["s0", "s1"], list(_declared(random)), select, 60)
        nodes = walk_relations(plan(normalise(found.query), 1, found.catalog).last.root)
        if any(isinstance(node, GroupEnding) and node.keys != node.schema for node in nodes):
            return found


@pytest.mark.parametrize("seed", seeds(24))
@pytest.mark.parametrize("selects", [SELECTS, JOINS], ids=["other operators", "joins"])
def test_the_answer_is_the_reference_s(seed: int, selects: tuple[str, ...]) -> None:
    found = partition_case(seed, selects)
    want = expected(found.case, found.query, found.catalog)
    for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
        got = embedded(found.case, found.query, found.catalog, cells, cuts)
        assert got == want, (seed, cells, found.case.script, found.case.data)
    assert restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed)) == want


DDL = "CREATE STREAM s (k BIGINT, x BIGINT, ends BIGINT, ts BIGINT, {}) TIMESTAMP BY ts;"


@pytest.mark.parametrize(
    ("scheme", "select", "safe"),
    [
        ("PUNCTUATED BY (k) WHEN ends = 1", "SELECT x FROM s [PARTITION BY k ROWS 3]", True),
        ("PUNCTUATED BY (k) WHEN ends = 1", "SELECT x FROM s [PARTITION BY k, x ROWS 3]", True),
        ("PUNCTUATED BY (k, x) WHEN ends = 1", "SELECT x FROM s [PARTITION BY k ROWS 3]", False),
        ("PUNCTUATED BY (x) WHEN ends = 1", "SELECT x FROM s [PARTITION BY k ROWS 3]", False),
        (
            "PUNCTUATED BY (k) WHEN ends = 1",
            "SELECT s.x FROM s [PARTITION BY k ROWS 3], s [RANGE 2 SECONDS] o WHERE s.k = o.k",
            True,
        ),
        # Rows leave a window of rows whenever others come.
        (
            "PUNCTUATED BY (k) WHEN ends = 1",
            "SELECT s.x FROM s [PARTITION BY k ROWS 3], s [ROWS 2] o WHERE s.k = o.k",
            False,
        ),
    ],
)
def test_the_verdict_says_whether_partitions_end(scheme: str, select: str, safe: bool) -> None:
    assert penstock.check(f"{DDL.format(scheme)} {select}")[0].safe == safe
