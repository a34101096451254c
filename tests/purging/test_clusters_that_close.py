"""CLUSTERED BY closes a stream for values that came: for rows beside computed inputs of the same stream."""

from __future__ import annotations

from random import Random

import pytest

import penstock
from penstock.algebra.relations import walk_relations
from penstock.algebra.rewrites import normalise
from penstock.closing.group_closers import AfterPunctuation
from penstock.closing.physical_join import PhysicalJoin
from penstock.plan.planner import plan
from tests.engines.comparing import embedded, expected
from tests.engines.restarting import restarted
from tests.growth.process import Declaration, Nulls
from tests.growth.promises import bound, growth_of, is_promised, verdict_of
from tests.purging.cases import Purging, clustered, data_case, ordered
from tests.seeds import seeds

GROUPS = "(SELECT a, MAX(b) AS most FROM s0 WHERE a IS NOT NULL GROUP BY a) g"
SELECTS = (
    f"SELECT s0.a, s0.b FROM s0, {GROUPS} WHERE s0.a = g.a AND s0.b = g.most",
    f"SELECT s0.a, g.most FROM s0, {GROUPS} WHERE s0.a = g.a AND s0.closes = 0",
    "SELECT s0.a, s0.b FROM s0 WHERE NOT EXISTS (SELECT * FROM s0 l WHERE l.a = s0.a AND l.b > s0.b)",
    "SELECT s0.a FROM s0 WHERE EXISTS (SELECT * FROM s0 l WHERE l.a = s0.a AND l.b = 1) "
    "AND NOT EXISTS (SELECT * FROM s0 l WHERE l.a = s0.a AND l.b = 2)",
    f"SELECT g.most, h.n FROM {GROUPS}, (SELECT a, COUNT(*) AS n FROM s0 WHERE b > 1 AND a IS NOT NULL GROUP BY a) h "
    "WHERE g.a = h.a",
    f"SELECT g.a FROM {GROUPS}, s1 WHERE g.a = s1.a",
)


def _ends_by_cluster(node: object) -> bool:
    return isinstance(node, PhysicalJoin) and any(
        isinstance(closer, AfterPunctuation) and closer.cluster is not None
        for closers in node.endings
        if closers is not None
        for closer in closers
    )


def cluster_case(seed: int) -> Purging:
    """A case whose join drops rows by the end of clusters."""
    random = Random(seed)
    while True:
        declared = [clustered("s0", ("a",), random.randint(0, 6), random.random() < 0.5)]
        declared += [ordered("s1", "a", random.randint(0, 4), random.random() < 0.5)]
        found = data_case(random, ["s0", "s1"], declared, f"{random.choice(SELECTS)} ALLOW UNBOUNDED", 60)
        if any(map(_ends_by_cluster, walk_relations(plan(normalise(found.query), 1, found.catalog).last.root))):
            return found


@pytest.mark.parametrize("seed", seeds(20))
def test_the_answer_is_the_reference_s(seed: int) -> None:
    found = cluster_case(seed)
    want = expected(found.case, found.query, found.catalog)
    for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
        got = embedded(found.case, found.query, found.catalog, cells, cuts)
        assert got == want, (seed, cells, found.case.script, found.case.data)
    assert restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed)) == want


BEST = "(SELECT k, MAX(x) AS most FROM a WHERE k IS NOT NULL GROUP BY k) g"
FLAT = (
    f"SELECT a.y FROM a, {BEST} WHERE a.k = g.k AND a.x = g.most",
    "SELECT a.x FROM a WHERE NOT EXISTS (SELECT 1 AS one FROM a l WHERE l.k = a.k AND l.x > a.x)",
)


@pytest.mark.parametrize("within", ["60 ROWS", "8000 MICROSECONDS"])
@pytest.mark.parametrize("select", FLAT)
def test_rows_of_clusters_that_ended_are_dropped(within: str, select: str) -> None:
    script = bound([Declaration("a", f"CLUSTERED BY (k) WITHIN {within}")], select)
    assert is_promised(verdict_of(script))
    assert not any(growth_of(script, Nulls.NONE, cells) for cells in (1, 3))


DDL = """
CREATE STREAM s (k BIGINT NOT NULL, ends BIGINT, ts BIGINT, CLUSTERED BY (k) WITHIN 9 ROWS) TIMESTAMP BY ts;
CREATE STREAM o (k BIGINT NOT NULL, ends BIGINT, ts BIGINT, {}) TIMESTAMP BY ts;
"""


@pytest.mark.parametrize("other", ["CLUSTERED BY (k) WITHIN 9 ROWS", "PUNCTUATED BY (k) WHEN ends = 1"])
def test_a_cluster_says_nothing_of_values_that_only_another_stream_has(other: str) -> None:
    counted = "(SELECT k, COUNT(*) AS n FROM s GROUP BY k) g"
    (verdict,) = penstock.check(DDL.format(other) + f"SELECT g.n FROM {counted}, o WHERE o.k = g.k")
    assert not verdict.safe
