"""Occurrences of a stream that others stand for are not read, and the answer stays the reference's."""

from __future__ import annotations

from random import Random

import pytest

from penstock.algebra.physical import Scan
from penstock.algebra.relations import walk_relations
from penstock.algebra.rewrites import normalise
from penstock.closing.physical_join import PhysicalJoin
from penstock.plan.planner import plan
from penstock.register.verdict import check_query
from tests.constant.self_joins import DDL, folding_cases
from tests.engines.comparing import bound, embedded, expected
from tests.engines.restarting import restarted
from tests.generators import Case

#: Self-joins that fold, with the number of occurrences that are left.
FOLD = {
    "a filter": ("SELECT DISTINCT x.ok FROM s x, s y WHERE x.i = y.i AND x.j > 10 AND y.j > 10", 1),
    "times that are near": (
        "SELECT DISTINCT x.ok FROM s x, s y WHERE x.at <= y.at + INTERVAL 1 SECOND AND y.at < x.at + INTERVAL 9 DAYS",
        1,
    ),
    "a difference that cannot overflow": (
        "SELECT DISTINCT x.ok FROM s x, s y WHERE x.i - y.i < 5 AND x.i > 0 AND y.i > 0",
        1,
    ),
    "in pairs": (
        "SELECT DISTINCT x.i FROM s x, t y, s v, t w WHERE x.i = y.i AND v.i = w.i AND y.i BETWEEN 1 AND 4",
        2,
    ),
    "a chain": ("SELECT DISTINCT x.ok FROM s x, s y, s z WHERE x.i = y.i AND y.i = z.i", 1),
    "all columns": (
        "SELECT DISTINCT x.ok, y.ok AS too FROM s x, s y WHERE x.ok = y.ok AND x.i < 3 AND y.i < 3",
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLD)
def test_what_says_nothing_new_is_not_read(name: str) -> None:
    text, left = FOLD[name]
    query, catalog = bound(Case(DDL, text, {}, None, ""))
    nodes = list(walk_relations(plan(normalise(query), 1, catalog).last.root))
    assert sum(isinstance(node, Scan) for node in nodes) == left
    assert any(isinstance(node, PhysicalJoin) for node in nodes) == (left > 1)
    verdict = check_query(query, catalog)
    assert verdict.safe
    assert not verdict.warnings


@pytest.mark.parametrize("block", range(2))
def test_the_answer_is_the_reference_s(block: int) -> None:
    for seed, found in folding_cases(block * 1000, 25):
        want = expected(found.case, found.query, found.catalog)
        for cells, cuts in ((1, 0), (3, Random(seed))):
            got = embedded(found.case, found.query, found.catalog, cells, cuts)
            assert got == want, (seed, cells, found.case.script)


def test_what_is_kept_goes_on_from_its_pages() -> None:
    for seed, found in folding_cases(20_000, 10):
        got = restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed))
        assert got == expected(found.case, found.query, found.catalog), (seed, found.case.script)


def test_a_row_without_a_value_stands_for_none_that_has_one() -> None:
    """x says nothing of d, and so may have none: y and z do not fold onto it."""
    condition = "x.i = 5 AND x.j = 9 AND x.i < t.i AND x.j > t.j AND y.i < t.i AND y.j > t.j AND y.d = z.d"
    query, catalog = bound(Case(DDL, f"SELECT DISTINCT 1 AS one FROM s x, s y, s z, t WHERE {condition}", {}, None, ""))
    assert not check_query(query, catalog).safe
