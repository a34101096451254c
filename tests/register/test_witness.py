"""Every witness makes any plan remember: without one of its items, what comes out afterwards is another."""

from __future__ import annotations

import pytest

from penstock import check
from penstock.algebra.relations import Table, streams, walk_relations
from penstock.register import Verdict
from penstock.register.witness import WitnessRow
from tests.reference.interpreter import Change, run
from tests.register.golden import Case, cases

UNSAFE = [case for case in cases() if case.expected.get("verdict") == "not safe"]
SIZE = 4

#: Cases without rows: the state is computed from what is computed, or the theory does not see a predicate.
IN_WORDS_ONLY = {
    "bounded_memory: q8 distinct",
    "bounded_memory: a dense range is not finite",
    "windows: a value that changes is joined with everything",
    "windows: a minimum of averages",
    "windows: not in",
}


@pytest.mark.parametrize("case", UNSAFE, ids=lambda case: case.id)
def test_each_item_of_a_witness_matters_afterwards(case: Case) -> None:
    verdict = case.verdict
    assert verdict.witness is not None
    assert verdict.hint
    rows = verdict.witness.rows(SIZE)
    assert (rows == ()) == (case.id in IN_WORDS_ONLY)
    if rows:
        each_item_matters(verdict, rows)


@pytest.mark.parametrize("select", ["SELECT a FROM s {} SELECT d FROM t", "SELECT a, b FROM s {} SELECT a, d FROM t"])
@pytest.mark.parametrize("operator", ["UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"])
@pytest.mark.parametrize("where", ["", " WHERE d > 5"])
def test_set_operators_remember_one_side(operator: str, select: str, where: str) -> None:
    streams_ = "CREATE STREAM s (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
    streams_ += "CREATE STREAM t (a BIGINT, d BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 MINUTE;"
    (verdict,) = check(f"{streams_} {select.format(operator)}{where}")
    assert not verdict.safe
    assert verdict.witness is not None
    each_item_matters(verdict, verdict.witness.rows(SIZE))


def each_item_matters(verdict: Verdict, rows: tuple[WitnessRow, ...]) -> None:
    assert {row.item for row in rows} == {*range(SIZE), None}
    whole = afterwards(verdict, rows)
    for item in range(SIZE):
        assert afterwards(verdict, [row for row in rows if row.item != item]) != whole, item


def afterwards(verdict: Verdict, rows: tuple[WitnessRow, ...] | list[WitnessRow]) -> list[Change]:
    """What comes out from the first row on that belongs to no item."""
    start = min(row.ts for row in rows if row.item is None)
    names = {stream.name for stream in streams(verdict.query.relation)}
    data = {name: [row.values for row in rows if row.stream == name] for name in names}
    data |= {node.name: [] for node in walk_relations(verdict.query.relation) if isinstance(node, Table)}
    return [change for change in run(verdict.query, verdict.catalog, data) if change.ts >= start]
