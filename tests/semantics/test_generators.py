"""The generator of cases: what it prints can be read back, and what is switched off does not come."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from penstock.algebra.relations import Rows, Window, streams, walk_relations
from tests.generators import Case, Features, WindowKind, cases
from tests.semantics.examples import bound, time_of

PLAIN = Features(
    windows=(WindowKind.ROWS,),
    columns=("k", "n"),
    max_streams=2,
    max_rows=3,
    max_sources=2,
    max_level=0,
    tables=False,
    outer_joins=False,
    functions=False,
    casts=False,
    subqueries=False,
    scalar_subqueries=False,
    derived_tables=False,
    views=False,
    with_clause=False,
    aggregates=False,
    distinct=False,
    set_operations=False,
    to_stream=False,
    disorder=False,
)


@given(cases(Features(as_duckdb=False)))
def test_a_printed_case_is_read_back(case: Case) -> None:
    again = Case.read(str(case))
    assert repr(again) == repr(case)
    assert again.script == case.script


@given(cases(PLAIN))
def test_what_is_switched_off_does_not_come(case: Case) -> None:
    words = r"\b(VIEW|WITH|TABLE|DISTINCT(?! FROM)|GROUP BY|HAVING|COUNT|EXISTS|UNION|EXCEPT|INTERSECT|[IDR]STREAM)\b"
    assert not re.search(words, case.script)
    assert not re.search(r"\(SELECT", case.script)
    query, catalog = bound(case.script)
    assert len(catalog.streams) <= 2
    assert len(streams(query.relation)) <= 2
    for node in walk_relations(query.relation):
        assert not isinstance(node, Window) or isinstance(node.spec, Rows)
    for stream in catalog.streams:
        rows = case.data[stream.name]
        assert len(rows) <= 3
        times = [time_of(stream, row) for row in rows]
        assert times == sorted(times)


@pytest.mark.parametrize("kind", list(WindowKind))
def test_each_kind_of_window_has_a_text_of_its_own(kind: WindowKind) -> None:
    found = []

    @given(cases(Features(windows=(kind,), max_level=0, tables=False, views=False, with_clause=False)))
    def look(case: Case) -> None:
        found.append(case.query)

    look()
    word = {WindowKind.UNBOUNDED: "FROM", WindowKind.SLIDE: "SLIDE"}.get(kind, f"[{kind.value}")
    assert all(word in query for query in found)
