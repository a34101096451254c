"""What a verdict proves is matched to the operators of a plan once, and all who show a run show that value."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from penstock.algebra.relations import Distinct, walk_relations
from penstock.elimination import verdict_of
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.metrics import DICTIONARY
from penstock.engines.planning import plan_of
from penstock.monitor.bounds import QueryBounds, live_bounds
from penstock.monitor.live import Live
from penstock.monitor.page.asked import Asked
from penstock.monitor.page.plan_document import plan_document
from penstock.monitor.prometheus import exposition
from penstock.monitor.sysstream import properties
from penstock.register import Verdict
from penstock.sql import bind_text
from tests.engines.comparing import batch

GOLDEN = Path(__file__).parent.parent / "golden"

#: A self-join, two aggregates and a semi-join: occurrences and kinds of operators alone do not tell these apart.
STATEMENTS = """
CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM r (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE QUERY q AS
SELECT u.a, COUNT(*) AS n
FROM (SELECT x.a AS a, MAX(y.b) AS b FROM s [ROWS 7] x, s [ROWS 9] y WHERE x.a = y.a GROUP BY x.a) u
WHERE u.b > 0 AND u.a IN (SELECT z.a FROM r [ROWS 5] z) GROUP BY u.a;
"""


def judged(cells: int) -> tuple[EmbeddedEngine, Verdict, QueryBounds]:
    script = bind_text(STATEMENTS).checked()
    (query,) = script.queries
    engine = EmbeddedEngine(query, script.catalog, cells=cells)
    verdict = verdict_of(query, script.catalog)
    return engine, verdict, live_bounds(verdict, engine.plan)


@pytest.mark.parametrize("name", ["bounded_memory", "k_constraints", "punctuations", "windows"])
def test_all_state_of_golden_queries_is_held_by_one_operator(name: str) -> None:
    golden = yaml.safe_load((GOLDEN / f"{name}.yaml").read_text())
    examined = 0
    for case in golden["cases"]:
        own = case.get("declarations", "")
        script = bind_text(f"{golden['declarations']}\n{own}\nCREATE QUERY q AS {case['sql'].rstrip(';')};").checked()
        (query,) = script.queries
        verdict = verdict_of(query, script.catalog)
        if not verdict.safe:
            continue
        bounds = live_bounds(verdict, plan_of(query, script.catalog, cells=3))
        held = [each.state for bound in bounds.values() for each in bound.held]
        for state in verdict.states:
            if state.bound.size != 0:
                assert sum(each is state for each in held) == 1, (case["name"], state)
                examined += 1
    assert examined


@pytest.mark.parametrize("cells", [1, 3])
def test_all_who_show_a_run_show_the_same_bounds(cells: int) -> None:
    engine, verdict, bounds = judged(cells)
    for stream, columns in (("s", 2), ("r", 1)):
        rows = [(*(n % 3 + 1 for _ in range(columns)), n) for n in range(60)]
        engine.push(stream, batch(engine.streams[stream].definition, rows))
    engine.advance()
    lines = engine.metrics()
    kept = {(line.fragment, line.operator) for line in lines if line.state_rows and line.operator != DICTIONARY}
    assert {place for place in kept if str(place[1]).startswith(("scan", "aggregate"))} <= set(bounds)

    live = Live({"q": bounds})
    live.take(lines)
    shown = {each["entity"]: each["bound_rows"] for each in live.picture()[0]["state"] if each["bound"]}
    page = plan_document("q", "embedded", [Asked(engine.query, engine.plan, verdict)])["nodes"]
    assert isinstance(page, list)
    on_page = {str(node["id"]): node["bounds"] for node in page if isinstance(node, dict) and node.get("bounds")}
    published = {row.entity: row.value for row in properties(lines, 0, {"q": bounds}) if row.property == "bound"}
    scraped = exposition(lines, {"q": bounds})
    for (fragment, operator), bound in bounds.items():
        entity = f"{fragment}.{operator}"
        sizes = [each["size"] for each in on_page[f"q/{fragment}/{operator}"]]
        assert bound.size == (None if None in sizes else sum(sizes))
        if entity in shown:
            assert shown[entity] == bound.size
            assert published[entity] == bound.cell_size
            sample = f'penstock_state_bound_rows{{query="q",operator="{operator}",fragment="{fragment}"'
            assert (sample in scraped) == (bound.cell_size is not None)


@pytest.mark.parametrize("cells", [1, 3])
def test_two_windows_of_one_stream_have_their_own_bounds(cells: int) -> None:
    _, _, bounds = judged(cells)
    words = {bound.words for bound in bounds.values()}
    assert {"7 rows of x", "9 rows of y", "5 rows of z"} <= words
    assert all(
        bound.size is None or bound.cell_size <= bound.size <= cells * bound.cell_size for bound in bounds.values()
    )  # type: ignore[operator]


def test_operators_without_columns_hold_state_too() -> None:
    script = bind_text("""
        CREATE STREAM r (k BIGINT, w STRING, ts BIGINT) TIMESTAMP BY ts;
        CREATE QUERY q AS SELECT DISTINCT x.ts FROM r [RANGE 1 MICROSECONDS SLIDE 4 MICROSECONDS] AS x
        LEFT SEMI JOIN (SELECT ts / CAST(w AS BIGINT) AS c FROM r [RANGE 0 MICROSECONDS SLIDE 2 MICROSECONDS] AS y) AS z
        ON x.ts <=> z.c AND 1 = 2 WHERE EXISTS (SELECT DISTINCT 1 FROM r [ROWS 3] AS v);
    """).checked()
    (query,) = script.queries
    plan = plan_of(query, script.catalog, cells=2)
    assert live_bounds(verdict_of(query, script.catalog), plan)
    nodes = [node for fragment in plan.fragments for node in walk_relations(fragment.root)]
    assert any(isinstance(node, Distinct) and not node.schema for node in nodes)
