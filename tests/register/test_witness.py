"""Every witness makes any plan remember: without one of its items, what comes out afterwards is another."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings

from penstock import check
from penstock.algebra.relations import Table, streams, walk_relations
from penstock.register import Verdict, check_query
from penstock.register.witness_rows import WitnessRow
from penstock.sql import bind_text
from tests.generators.cases import Case as GeneratedCase
from tests.generators.cases import cases as generated_cases
from tests.reference.interpreter import Change, run
from tests.register.golden import Case, cases
from tests.register.test_trials import query_text

#: Where a theory bounds what a run keeps, another plan would do, and there is no witness: it has no hint.
UNSAFE = [case for case in cases() if case.expected.get("verdict") == "not safe" and case.expected.get("hint")]
SIZE = 4


@pytest.mark.parametrize("case", UNSAFE, ids=lambda case: case.id)
def test_each_item_of_a_witness_matters_afterwards(case: Case) -> None:
    verdict = case.verdict
    assert verdict.witness is not None
    assert verdict.hint
    each_item_matters(verdict)


@pytest.mark.parametrize("select", ["SELECT a FROM s {} SELECT d FROM t", "SELECT a, b FROM s {} SELECT a, d FROM t"])
@pytest.mark.parametrize("operator", ["UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"])
@pytest.mark.parametrize("where", ["", " WHERE d > 5"])
def test_set_operators_remember_one_side(operator: str, select: str, where: str) -> None:
    streams_ = "CREATE STREAM s (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
    streams_ += "CREATE STREAM t (a BIGINT, d BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 MINUTE;"
    (verdict,) = check(f"{streams_} {select.format(operator)}{where}")
    assert not verdict.safe
    each_item_matters(verdict)


def each_item_matters(verdict: Verdict, size: int = SIZE) -> None:
    """What follows tells whether an item came; where one continuation cannot ask about all, there is one for each."""
    assert verdict.witness is not None
    for item in range(size):
        rows = verdict.witness.rows(size, asked=item)
        assert {row.item for row in rows} == {*range(size), None}
        without = [row for row in rows if row.item != item]
        assert afterwards(verdict, without) != afterwards(verdict, rows), item


def afterwards(verdict: Verdict, rows: tuple[WitnessRow, ...] | list[WitnessRow]) -> list[Change]:
    """What comes out from the first row on that belongs to no item."""
    start = min(row.ts for row in rows if row.item is None)
    names = {stream.name for stream in streams(verdict.query.relation)}
    data = {name: [row.values for row in rows if row.stream == name] for name in names}
    data |= {node.name: [] for node in walk_relations(verdict.query.relation) if isinstance(node, Table)}
    return [change for change in run(verdict.query, verdict.catalog, data) if change.ts >= start]


def test_unsafe_queries_have_rows_that_prove_it() -> None:
    """Of random joins, groups and subqueries most have rows, and rows that are given always prove that state grows."""
    random = Random("witnesses")
    unsafe = silent = 0
    while unsafe < 70:
        script = bind_text(query_text(random))
        verdict = None if script.errors else check_query(script.queries[0], script.catalog)
        if verdict is None or verdict.safe:
            continue
        unsafe += 1
        assert verdict.witness is not None
        if verdict.witness.rows(SIZE):
            each_item_matters(verdict)
        else:
            silent += 1
    assert silent <= unsafe // 6


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(generated_cases())
def test_rows_of_any_query_prove_it(case: GeneratedCase) -> None:
    """Of queries of every kind fewer have rows, since most hide what they keep; those that have are proofs as well."""
    script = bind_text(case.script).checked()
    verdict = check_query(script.queries[0], script.catalog)
    if not verdict.safe and verdict.witness is not None and verdict.witness.rows(SIZE):
        each_item_matters(verdict)
