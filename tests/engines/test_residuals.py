"""Predicates that no index evaluates are tested as soon as a probe path has bound what they read."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock.algebra.rewrites import normalise
from penstock.engines.embedded import EmbeddedEngine
from penstock.plan.explain import fragments_json
from penstock.plan.planner import plan
from penstock.sql import bind_text
from tests.adaptive.random_choices import random_choices
from tests.engines.comparing import bound, embedded, expected
from tests.functions.running import refusal, session_over, values
from tests.generators import Case

DDL = "\n".join(
    f"CREATE STREAM {name} (k BIGINT, m BIGINT, x BIGINT, s STRING, ts BIGINT) TIMESTAMP BY ts;" for name in "abcd"
)
SOME = settings(max_examples=settings().max_examples // 2)


def _stages(query: str) -> list[list[list[str]]]:
    """By input and stage of its path, which predicates are tested there."""
    script = bind_text(f"{DDL}\nCREATE QUERY q AS {query};").checked()
    (fragment,) = fragments_json(plan(normalise(script.queries[0]), 1, script.catalog))
    (paths,) = (each["paths"] for each in fragment["operators"] if "paths" in each)  # type: ignore[index,union-attr]
    return [[stage.get("tests", []) for stage in path["stages"]] for path in paths]  # type: ignore


def test_explain_shows_where_a_predicate_is_tested() -> None:
    query = "SELECT a.x FROM a [NOW], b [NOW], c [NOW] WHERE a.k = b.k AND b.m = c.m AND a.x < b.x AND a.s <> c.s"
    early, late = "a.x < b.x", "a.s <> c.s"
    assert _stages(query) == [[[early], [late]], [[early], [late]], [[], [early, late]]]


def test_an_equality_that_closes_a_cycle_is_part_of_a_probe_and_leaves_nothing_to_test() -> None:
    cycle = "SELECT a.x FROM a [NOW], b [NOW], c [NOW] WHERE a.k = b.k AND b.m = c.m AND c.k = a.m"
    assert _stages(cycle) == [[[], []]] * 3
    # A second column of the same class is compared as soon as its row is bound.
    twice = "SELECT a.x FROM a [NOW], b [NOW], c [NOW] WHERE a.k = b.k AND a.k = b.m AND b.k = c.k"
    assert _stages(twice) == [[["a.k = b.m"], []], [["a.k = b.m"], []], [[], ["a.k = b.m"]]]


def test_what_a_predicate_drops_probes_no_further() -> None:
    query = "SELECT a.x FROM a, b, c WHERE a.k = b.k AND b.m = c.m AND a.x < b.x ALLOW UNBOUNDED"
    script = bind_text(f"{DDL}\nCREATE QUERY q AS {query};").checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog)
    for name, x, first in (("b", range(40), 0), ("c", range(40), 0), ("a", [38] + [99] * 39, 40)):
        columns = {"k": [0] * 40, "m": [0] * 40, "x": list(x), "s": ["u"] * 40, "ts": list(range(first, first + 40))}
        engine.push(name, pa.record_batch(columns))
    # Rows of a come last, and just one pair of a and b passes: it alone probes c.
    assert engine.finish().num_rows == 40
    (line,) = (line for line in engine.metrics() if line.probes)
    assert line.probes[0] == (40, 1)


WINDOWS = ("[RANGE 3 MICROSECONDS]", "[ROWS 2]", "[PARTITION BY k ROWS 1]", "[UNBOUNDED]")
JOINS = {
    3: ("a.k = b.k AND b.m = c.m", "a.k = b.k AND b.k = c.k", "a.k = b.k AND b.m = c.m AND c.k = a.m", "a.k = b.k"),
    4: ("a.k = b.k AND b.m = c.m AND c.k = d.k", "a.k = b.k AND a.m = c.m AND a.x = d.x"),
}


TESTS = ("{0}.x < {1}.x", "{0}.s <> {1}.s", "{0}.x + {1}.m <> 2", "{0}.k = {1}.k OR {0}.x = {1}.m")


@st.composite
def joins(draw: st.DrawFn) -> Case:
    count = draw(st.sampled_from((3, 3, 4)))
    names = "abcd"[:count]
    tests = []
    for _ in range(draw(st.integers(1, 3))):
        one, other = draw(st.permutations(names))[:2]
        form = st.sampled_from(
            ("{0}.x < {1}.x", "{0}.s <> {1}.s", "{0}.x + {1}.m <> 2", "{0}.k = {1}.k OR {0}.x = {1}.m")
        )
        tests.append(f"({draw(form).format(one, other)})")
    read = ", ".join(f"{name} {draw(st.sampled_from(WINDOWS))}" for name in names)
    shown = ", ".join(f"{name}.{own} AS {name}{own}" for name in names for own in draw(st.sampled_from(("x", "xs"))))
    form = draw(st.sampled_from(("", "", "ISTREAM", "DSTREAM")))
    wanted = f"{form}({shown})" if form else shown
    where = " AND ".join([draw(st.sampled_from(JOINS[count])), *tests])
    few = st.one_of(st.none(), st.integers(0, 2))
    row = st.tuples(few, few, few, st.sampled_from([None, "u", "v"]))
    data = {}
    for name in names:
        rows = draw(st.lists(row, max_size=12))
        times = sorted(draw(st.lists(st.integers(0, 8), min_size=len(rows), max_size=len(rows))))
        data[name] = [(*own, ts) for own, ts in zip(rows, times, strict=True)]
    return Case(DDL, f"SELECT {wanted} FROM {read} WHERE {where} ALLOW UNBOUNDED", data, 12, "")


@SOME
@given(joins(), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_tests_along_any_path_give_the_reference(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    for cuts in (0, Random(seed)):
        assert embedded(case, query, catalog, cells, cuts) == want
    with random_choices():
        assert embedded(case, query, catalog, cells, 0) == want


@pytest.fixture
def session() -> penstock.Session:
    session = session_over(
        a={"k": [1, 2], "x": [1, 2]}, b={"k": [1, 2], "m": [7, 8], "x": [1, 2]}, c={"m": [8], "x": [5]}
    )

    def picky(x: int, y: int) -> bool:
        if x == 1:
            raise ValueError("no 1")
        return x == y

    session.function("picky", picky, arguments=["BIGINT", "BIGINT"], returns="BOOLEAN")
    session.function("lax", picky, arguments=["BIGINT", "BIGINT"], returns="BOOLEAN", on_error="null")
    return session


QUERY = "SELECT c.x FROM a, b, c WHERE a.k = b.k AND b.m = c.m AND {}(a.x, b.x) ALLOW UNBOUNDED"


def test_a_function_that_fails_on_what_finds_no_third_row_is_no_error(session: penstock.Session) -> None:
    assert values(session, QUERY.format("picky")) == [5]
    assert values(session, QUERY.format("lax")) == [5]


def test_a_function_that_fails_on_a_combination_is_an_error(session: penstock.Session) -> None:
    failing = QUERY.replace("b.m = c.m", "b.m <= c.m")
    assert refusal(session, failing.format("picky")).startswith("picky(1, 1) raised ValueError: no 1")
    assert values(session, failing.format("lax")) == [5]
