"""Aggregates over joins that count along probe paths: what they give is what the reference gives by listing."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.algebra.relations import walk_relations
from penstock.algebra.rewrites import normalise
from penstock.closing.physical_join import PhysicalJoin
from penstock.plan.fragments import plan
from penstock.sql import bind_text
from tests.engines.comparing import bound, embedded, expected
from tests.engines.restarting import restarted
from tests.generators import Case

DDL = "\n".join(
    f"CREATE STREAM {name} (k BIGINT, m BIGINT, x BIGINT, d DOUBLE, s STRING, ts BIGINT) TIMESTAMP BY ts;"
    for name in "abc"
)
WINDOWS = (
    "[RANGE 3 MICROSECONDS]",
    "[RANGE 4 MICROSECONDS SLIDE 2 MICROSECONDS]",
    "[ROWS 2]",
    "[PARTITION BY k ROWS 1]",
    "[NOW]",
    "[UNBOUNDED]",
)
JOINS = {
    2: ("a.k = b.k", "a.k = b.k AND a.m = b.m", "a.k = b.m"),
    3: ("a.k = b.k AND b.k = c.k", "a.k = b.k AND b.m = c.m", "a.k = b.k AND b.m = c.m AND c.k = a.m", "a.k = b.k"),
}
AGGREGATES = ("COUNT(*)", "COUNT({})", "SUM({})", "AVG({})", "MIN({})", "MAX({})", "COUNT(DISTINCT {})")
COLUMNS = ("k", "m", "x", "d", "s")


def _column(names: str, columns: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.builds(lambda name, own: f"{name}.{own}", st.sampled_from(names), st.sampled_from(columns))


@st.composite
def aggregates(draw: st.DrawFn) -> Case:
    count = draw(st.sampled_from((2, 2, 3)))
    names = "abc"[:count]
    keys = draw(st.lists(_column(names, COLUMNS), max_size=2, unique=True))
    shown = [f"{key} AS g{number}" for number, key in enumerate(keys)]
    for number, aggregate in enumerate(draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3))):
        is_sum = aggregate.startswith(("SUM", "AVG"))
        argument = draw(_column(names, COLUMNS[:-1] if is_sum else COLUMNS))
        shown.append(f"{aggregate.format(argument)} AS v{number}")
    read = ", ".join(f"{name} {draw(st.sampled_from(WINDOWS))}" for name in names)
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    query = (
        f"SELECT {', '.join(shown)} FROM {read} WHERE {draw(st.sampled_from(JOINS[count]))}{grouped} ALLOW UNBOUNDED"
    )
    few = st.one_of(st.none(), st.integers(0, 2))
    row = st.tuples(few, few, few, st.sampled_from([None, 0.1, 1e300, -2.5]), st.sampled_from([None, "u", "v"]))
    data = {}
    for name in names:
        rows = draw(st.lists(row, max_size=7))
        times = sorted(draw(st.lists(st.integers(0, 8), min_size=len(rows), max_size=len(rows))))
        data[name] = [(*values, ts) for values, ts in zip(rows, times, strict=True)]
    return Case(DDL, query, data, draw(st.sampled_from([None, 12])), "")


@given(aggregates(), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_counting_gives_what_listing_gives(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    for cuts in (0, Random(seed)):
        assert embedded(case, query, catalog, cells, cuts) == want


@given(aggregates(), st.integers(0, 2**32))
def test_a_machine_that_counts_goes_on_from_its_pages(case: Case, seed: int) -> None:
    query, catalog = bound(case)
    assert restarted(case, query, catalog, 1, Random(seed)) == expected(case, query, catalog)


@pytest.mark.parametrize(
    ("query", "counted"),
    [
        ("SELECT COUNT(*) AS n FROM a [NOW], b [NOW] WHERE a.k = b.k", (0, 1)),
        ("SELECT a.m, MAX(c.x) AS n FROM a [NOW], b [NOW], c [NOW] WHERE a.k = b.k AND b.m = c.m GROUP BY a.m", (1,)),
        ("SELECT COUNT(*) AS n FROM a [NOW], b [NOW] WHERE a.k = b.k AND a.x < b.x", ()),
    ],
)
def test_what_an_aggregate_does_not_read_is_counted(query: str, counted: tuple[int, ...]) -> None:
    script = bind_text(f"{DDL}\nCREATE QUERY q AS {query};").checked()
    planned = plan(normalise(script.queries[0]), 1, script.catalog)
    nodes = [node for node in walk_relations(planned.last.root) if isinstance(node, PhysicalJoin)]
    assert [node.counted for node in nodes] == [counted]


@pytest.mark.parametrize("long", [1, 3])
@given(case=aggregates(), seed=st.integers(0, 2**32))
def test_what_is_remembered_of_a_key_follows_the_events(long: int, case: Case, seed: int) -> None:
    """Many rows with few keys, in steps of many instants, so that buckets are long."""
    query, catalog = bound(case)
    many = {name: [row for row in rows for _ in range(9 * long)] for name, rows in case.data.items()}
    dense = replace(case, data=many)
    assert embedded(dense, query, catalog, 1, 0) == expected(dense, query, catalog)
