"""Random queries over the whole language: what the reference says is what DuckDB says, and does not depend on the plan.

A failing case is printed as a text that can be pasted back. What failed once is kept in the files of `kept/`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from penstock.algebra.relations import Query, StreamKind, ToStream, streams
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog, StreamDef
from tests.generators import Case, Features, cases
from tests.reference.interpreter import Change, late_rows, run, snapshots
from tests.reference.values import Row, identity, same_bag
from tests.semantics import oracle
from tests.semantics.examples import bound, same, time_of

MANY = settings(max_examples=3 * settings().max_examples)
#: All that the language has, also where DuckDB would compute something else.
EVERYTHING = Features(as_duckdb=False)


@MANY
@given(cases())
def test_at_every_instant_duckdb_holds_the_same_rows_and_so_the_output_follows(case: Case) -> None:
    check_with_duckdb(case)


@pytest.mark.parametrize("path", sorted(Path(__file__).with_name("kept").iterdir()), ids=lambda path: path.stem)
def test_what_failed_once_does_not_fail_again(path: Path) -> None:
    check_with_duckdb(Case.read(path.read_text()))


def check_with_duckdb(case: Case) -> None:
    query, catalog = bound(case.script)
    ours = snapshots(query, catalog, case.data, case.horizon)
    read = {stream.name for stream in streams(query.relation)}
    theirs = oracle.history(case, catalog, read, horizon=max(ours))
    for t, rows in ours.items():
        assert same_bag(rows, theirs.relation[t]), f"at {t} we have {rows}, and DuckDB has {theirs.relation[t]}"
    assert counted(run(query, catalog, case.data, case.horizon)) == expected_output(query, theirs)


@given(cases(EVERYTHING))
def test_between_the_instants_nothing_changes(case: Case) -> None:
    query, catalog = bound(case.script)
    slowly = run(query, catalog, case.data, case.horizon, every_instant=True)
    assert same(run(query, catalog, case.data, case.horizon), slowly)


@given(cases(EVERYTHING))
def test_the_normal_form_means_the_same(case: Case) -> None:
    query, catalog = bound(case.script)
    assert normalise(query).schema == query.schema
    normal = run(normalise(query), catalog, case.data, case.horizon)
    assert same(run(query, catalog, case.data, case.horizon), normal)


@given(cases(replace(EVERYTHING, late_rows=False)))
def test_arrival_order_matters_only_among_equal_timestamps(case: Case) -> None:
    """Rows that come out of order, but in time, mean what they mean in order; and streams may come one by one."""
    query, catalog = bound(case.script)
    in_order = {name: by_time(catalog, name, rows) for name, rows in reversed(list(case.data.items()))}
    assert same(run(query, catalog, case.data, case.horizon), run(query, catalog, in_order, case.horizon))


@given(cases())
def test_no_row_is_late_that_comes_within_the_delay(case: Case) -> None:
    """Late rows are just those that a row before them has left behind by more than the delay."""
    _, catalog = bound(case.script)
    for stream in catalog.streams:
        times = [time_of(stream, row) for row in case.data[stream.name]]
        late = [i for i, ts in enumerate(times) if any(ts + stream.delay < before for before in times[:i])]
        assert late_rows(stream, case.data[stream.name]) == len(late)


def by_time(catalog: Catalog, name: str, rows: Sequence[Row]) -> Sequence[Row]:
    stream = catalog.get(name)
    return sorted(rows, key=lambda row: time_of(stream, row)) if isinstance(stream, StreamDef) else rows


def counted(changes: Sequence[Change]) -> Counter[object]:
    return Counter((change.ts, change.op, identity(change.row)) for change in changes)


def expected_output(query: Query, history: oracle.History) -> Counter[object]:
    """What a query emits whose relation has this history, by the definition, with counters."""
    kind = query.root.kind if isinstance(query.root, ToStream) else None
    output: Counter[object] = Counter()
    before: Counter[object] = Counter()
    for t, rows in history.relation.items():
        now = Counter(map(identity, rows))
        inserted, deleted = now - before, before - now
        if kind in (None, StreamKind.ISTREAM):
            output.update({(t, "+", row): count for row, count in inserted.items()})
        if kind is None:
            output.update({(t, "-", row): count for row, count in deleted.items()})
        if kind is StreamKind.DSTREAM:
            output.update({(t, "+", row): count for row, count in deleted.items()})
        if kind is StreamKind.RSTREAM and (t in history.arrivals or inserted or deleted):
            output.update({(t, "+", row): count for row, count in now.items()})
        before = now
    return output
