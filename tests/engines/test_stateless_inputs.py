"""A join with tables keeps nothing of its other input, and gives the reference's answer."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock.algebra.pipelined_filters import PipelinedFilters
from penstock.algebra.relations import walk_relations
from penstock.algebra.rewrites import normalise
from penstock.closing.physical_join import PhysicalJoin
from penstock.engines.embedded import EmbeddedEngine
from penstock.plan.planner import plan
from tests.engines.comparing import batches, bound, embedded, expected, table
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended
from tests.generators import Case

DDL = """
CREATE STREAM s (a BIGINT, b INT, name STRING, ts BIGINT) TIMESTAMP BY ts;
CREATE TABLE k (f BIGINT, g STRING);
CREATE TABLE m (g STRING, h INT);
"""

QUERIES = {
    "a join": "SELECT s.b, k.g FROM s, k WHERE s.a = k.f",
    "two tables": "SELECT s.a, m.h FROM s, k, m WHERE s.a = k.f AND m.g = k.g AND s.b < m.h",
    "no equality": "SELECT s.a, k.f FROM s, k WHERE s.a < k.f AND k.g <> 'v1'",
    "groups": "SELECT k.g, SUM(s.b) AS n FROM s, k WHERE s.a = k.f GROUP BY k.g",
    "matches": "SELECT s.a, s.b FROM s WHERE EXISTS (SELECT 1 FROM k WHERE k.f = s.a AND k.g = s.name)",
    "none": "SELECT s.a, s.b FROM s WHERE NOT EXISTS (SELECT 1 FROM k WHERE k.f = s.a)",
    "not in": "SELECT s.a FROM s WHERE s.name NOT IN (SELECT g FROM m WHERE h > 1)",
    "rows of a table that have matches": "SELECT k.f, k.g FROM k WHERE EXISTS (SELECT 1 FROM s WHERE s.a = k.f)",
    "rows of a table without": "SELECT k.f FROM k WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.a = k.f AND s.b > 1)",
    "groups that change": "SELECT x.n, k.g FROM (SELECT a, COUNT(*) AS n FROM s GROUP BY a) x, k WHERE x.n = k.f",
    "matches of groups that change": "SELECT k.g FROM k WHERE k.f IN (SELECT COUNT(*) AS n FROM s [ROWS 3] GROUP BY a)",
    "distinct values of a table": "SELECT s.b, d.g FROM (SELECT DISTINCT g FROM k) d, s WHERE s.name = d.g",
    "groups of a table": "SELECT s.a, d.n FROM (SELECT g, COUNT(*) AS n FROM k GROUP BY g) d, s WHERE s.name = d.g",
    "a union of tables": "SELECT s.a FROM (SELECT g FROM k UNION SELECT g FROM m) d, s WHERE s.name = d.g",
    "an aggregate of a table": "SELECT s.a FROM s WHERE s.a > (SELECT MIN(f) FROM k)",
    "not in groups of a table": "SELECT s.a FROM s WHERE s.a NOT IN (SELECT COUNT(*) AS n FROM k GROUP BY g)",
    "rows that went": "SELECT DSTREAM(k.g) FROM (SELECT MAX(a) AS a FROM s) x, k WHERE x.a = k.f",
}


def case_of(query: str, seed: int, rows: int = 25) -> Case:
    random = Random(seed)

    def value(*choices: Any) -> Any:
        return None if random.random() < 0.1 else random.choice(choices)

    data = {
        "s": [(value(0, 1, 2, 3), value(0, 1, 2, 3), value("v0", "v1", "v2"), ts // 2) for ts in range(rows)],
        "k": [(value(1, 2, 3, 3), value("v0", "v1")) for _ in range(5)],
        "m": [(value("v0", "v1"), value(1, 2, 3)) for _ in range(4)],
    }
    return Case(DDL, f"{query} ALLOW UNBOUNDED", data, None, "")


@pytest.mark.parametrize("name", QUERIES)
def test_the_answer_is_the_reference_s(name: str) -> None:
    for seed in range(2):
        case = case_of(QUERIES[name], seed)
        query, catalog = bound(case)
        fragments = plan(normalise(query), 1, catalog).fragments
        nodes = [node for fragment in fragments for node in walk_relations(fragment.root)]
        stateless = [node for node in nodes if isinstance(node, PhysicalJoin) and node.stateless is not None]
        assert stateless or any(isinstance(node, PipelinedFilters) for node in nodes)
        want = expected(case, query, catalog)
        for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed))):
            assert embedded(case, query, catalog, cells, cuts) == want, (seed, cells)
        assert pretended(case, query, catalog, 2, Random(seed)) == want, seed


@pytest.mark.parametrize("name", [name for name in QUERIES if "change" not in name])
def test_no_row_of_the_stream_is_kept(name: str) -> None:
    kept = []
    for rows in (40, 400):
        case = case_of(QUERIES[name], 1, rows)
        query, catalog = bound(case)
        engine = EmbeddedEngine(query, catalog, {t.name: table(t, case.data[t.name]) for t in catalog.tables})
        for stream, part in batches(case, engine, catalog, 20):
            engine.push(stream, part)
            engine.advance()
        kept.append(engine.state()[0])
    assert kept[1] <= kept[0] + 4  # but for groups and rows whose time is not over


def test_tables_are_there_after_a_restart() -> None:
    for name in ("two tables", "none", "rows of a table without"):
        case = case_of(QUERIES[name], 3)
        query, catalog = bound(case)
        assert restarted(case, query, catalog, 2, Random(3)) == expected(case, query, catalog), name
