"""Whole queries with aggregates of sliding windows say what the reference says; their plans keep panes, not rows."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from penstock.algebra.relations import walk_relations
from penstock.algebra.rewrites import normalise
from penstock.plan.panes import MOST_SLIDES, Panes
from penstock.plan.planner import plan
from penstock.sql import bind_text
from tests.engines.comparing import bound, embedded, expected
from tests.engines.spark.pretending import pretended
from tests.engines.test_forgetting import restarted, sweeps_after
from tests.generators import Case, Features, WindowKind, cases

#: Joins, set operations and subqueries would put more between a window and an aggregate than rows can go through.
SLIDES = Features(
    windows=(WindowKind.SLIDE,), max_streams=1, max_sources=1, max_level=1, tables=False, subqueries=False,
    set_operations=False, scalar_subqueries=False, max_rows=12,
)  # fmt: skip


@settings(max_examples=settings().max_examples // 3, suppress_health_check=list(HealthCheck))
@given(cases(SLIDES), st.sampled_from([1, 2, 5]), st.integers(0, 2**32))
def test_panes_do_not_show(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    planned = plan(normalise(query), cells)
    assume(any(isinstance(node, Panes) for f in planned.fragments for node in walk_relations(f.root)))
    want = expected(case, query, catalog)
    for cuts in (0, 1, Random(seed)):
        assert embedded(case, query, catalog, cells, cuts) == want
    with sweeps_after(0):
        assert restarted(case, cells, seed) == want
        assert pretended(case, query, catalog, cells, Random(seed)) == want


@pytest.mark.parametrize(("reach", "stores_rows"), [(MOST_SLIDES, False), (MOST_SLIDES + 1, True)])
def test_a_window_of_very_many_slides_stores_rows(reach: int, stores_rows: bool) -> None:
    window = f"[RANGE {reach} SECONDS SLIDE 1 SECOND]"
    text = f"CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts; SELECT COUNT(*) FROM s {window}"
    (fragment,) = plan(normalise(bind_text(text).checked().queries[0])).fragments
    assert stores_rows == (not any(isinstance(node, Panes) for node in walk_relations(fragment.root)))
