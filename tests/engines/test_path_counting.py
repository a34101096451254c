"""Aggregates over joins that count along probe paths: what they give is what the reference gives by listing."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from math import prod
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.algebra.partial_aggregates import COUNT_WORDS, DOUBLE_WORDS, INTEGER_WORDS, MOST_DIGITS
from penstock.algebra.relations import walk_relations
from penstock.algebra.rewrites import normalise
from penstock.closing.physical_join import PhysicalJoin
from penstock.engines.embedded import EmbeddedEngine
from penstock.kernels import aggregation
from penstock.plan.planner import plan
from penstock.sql import bind_text
from penstock.synopsis.codes import NARROW_PRECISION
from tests.engines.comparing import bound, embedded, expected
from tests.engines.restarting import restarted
from tests.generators import Case

COLUMNS = {
    "k": "BIGINT",
    "m": "BIGINT",
    "x": "INT",
    "d": "DOUBLE",
    "p": "DECIMAL(9, 2)",
    "w": "DECIMAL(30, 2)",
    "s": "STRING",
}
_DECLARED = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())


def _ddl(more: str = "") -> str:
    return "\n".join(f"CREATE STREAM {name} ({_DECLARED}, ts BIGINT{more}) TIMESTAMP BY ts;" for name in "abc")


DDL = _ddl()
#: A row with m = 2 is the last one with its k: then joins on k forget rows.
PURGING = _ddl(", PUNCTUATED BY (k) WHEN m = 2")
WINDOWS = (
    "[RANGE 3 MICROSECONDS]",
    "[RANGE 4 MICROSECONDS SLIDE 2 MICROSECONDS]",
    "[ROWS 2]",
    "[PARTITION BY k ROWS 1]",
    "[NOW]",
    "[UNBOUNDED]",
)
JOINS = {
    2: ("a.k = b.k", "a.k = b.k AND a.m = b.m", "a.k = b.m", "a.k = b.k AND a.x <= b.x"),
    3: (
        "a.k = b.k AND b.k = c.k",
        "a.k = b.k AND b.m = c.m",
        "a.k = b.k AND b.m = c.m AND c.k = a.m",
        "a.k = b.k AND b.k = c.k AND a.m = b.m",
        "a.k = b.k",
        "a.k = b.k AND b.k = c.k AND a.x < b.x",
        "a.k = b.k AND b.m = c.m AND a.x < b.x",
    ),
}
SUMS = ("SUM({})", "AVG({})", "SUM(DISTINCT {})", "AVG(DISTINCT {})")
OTHERS = ("COUNT({})", "MIN({})", "MAX({})", "COUNT(DISTINCT {})")


@st.composite
def _aggregate(draw: st.DrawFn, names: str) -> str:
    function = draw(st.sampled_from(("COUNT(*)", *SUMS, *OTHERS, *OTHERS)))
    column = draw(st.sampled_from([*COLUMNS][: -1 if function in SUMS else None]))
    argument = f"{draw(st.sampled_from(names))}.{column}"
    if column in "kmx" and draw(st.booleans()):
        argument = draw(st.sampled_from((f"{argument} + 1", f"CASE WHEN {argument} > 0 THEN {argument} END")))
    return function.format(argument)


@st.composite
def aggregates(draw: st.DrawFn) -> Case:
    count = draw(st.sampled_from((2, 2, 3)))
    names = "abc"[:count]
    # Often groups are of a column by which rows are joined.
    columns = st.sampled_from([*"kkkm", *COLUMNS])
    key = st.builds(lambda name, own: f"{name}.{own}", st.sampled_from(names), columns)
    keys = draw(st.lists(key, max_size=2, unique=True))
    shown = [f"{key} AS g{number}" for number, key in enumerate(keys)]
    wanted = draw(st.lists(_aggregate(names), min_size=1, max_size=3))
    shown += [f"{each} AS v{number}" for number, each in enumerate(wanted)]
    ddl = draw(st.sampled_from((DDL, DDL, PURGING)))
    windows = st.sampled_from(WINDOWS if ddl is DDL else ("[UNBOUNDED]", "[UNBOUNDED]", WINDOWS[0]))
    read = ", ".join(f"{name} {draw(windows)}" for name in names)
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    query = (
        f"SELECT {', '.join(shown)} FROM {read} WHERE {draw(st.sampled_from(JOINS[count]))}{grouped} ALLOW UNBOUNDED"
    )
    few = st.one_of(st.none(), st.integers(0, 2))
    doubles = st.sampled_from([None, 0.1, 1e300, -1e300, 1e-300, -2.5])
    decimals = st.sampled_from([None, Decimal("0.01"), Decimal("-9999999.99"), Decimal("3.50")])
    row = st.tuples(few, few, few, doubles, decimals, decimals, st.sampled_from([None, "u", "v"]))
    data = {}
    for name in names:
        rows = draw(st.lists(row, max_size=7))
        times = sorted(draw(st.lists(st.integers(0, 8), min_size=len(rows), max_size=len(rows))))
        closed: set[int | None] = set()
        data[name] = []
        for values, ts in zip(rows, times, strict=True):
            if ddl is DDL or values[0] not in closed:
                data[name].append((*values, ts))
            closed |= {values[0]} if values[1] == 2 else set()
    return Case(ddl, query, data, draw(st.sampled_from([None, 12])), "")


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
        ("SELECT COUNT(*) AS n FROM a [NOW], b [NOW], c [NOW] WHERE a.k = b.k AND b.k = c.k AND a.x < b.x", (2,)),
        ("SELECT b.k, MAX(a.x), SUM(b.d), AVG(b.p + 1) FROM a [NOW], b [NOW] WHERE a.k = b.k GROUP BY b.k", (0, 1)),
        ("SELECT a.s, COUNT(DISTINCT b.x) AS n FROM a [NOW], b [NOW] WHERE a.k = b.k GROUP BY a.s", ()),
        ("SELECT SUM(a.w) AS n, SUM(b.x + b.k) AS m FROM a [NOW], b [NOW] WHERE a.k = b.k", (1,)),
    ],
)
def test_what_an_aggregate_does_not_read_is_counted(query: str, counted: tuple[int, ...]) -> None:
    script = bind_text(f"{DDL}\nCREATE QUERY q AS {query};").checked()
    planned = plan(normalise(script.queries[0]), 1, script.catalog)
    nodes = [node for node in walk_relations(planned.last.root) if isinstance(node, PhysicalJoin)]
    assert [node.counted for node in nodes] == [counted]


#: The reference tries all of them, at many instants.
MOST_COMBINATIONS = 1 << 20


@pytest.mark.parametrize("long", [1, 3])
@given(case=aggregates(), seed=st.integers(0, 2**32))
def test_what_is_remembered_of_a_key_follows_the_events(long: int, case: Case, seed: int) -> None:
    """Many rows with few keys, in steps of many instants, so that buckets are long."""
    query, catalog = bound(case)
    counts = [len(rows) for rows in case.data.values()]
    copies = next(
        n for n in range(9 * long, 0, -1) if n == 1 or prod(n * count for count in counts) < MOST_COMBINATIONS
    )
    many = {name: [row for row in rows for _ in range(copies)] for name, rows in case.data.items()}
    dense = replace(case, data=many)
    assert embedded(dense, query, catalog, 1, 0) == expected(dense, query, catalog)


HOT = 300
WINDOW = "[RANGE 1 SECOND]"


@pytest.mark.parametrize("cells", [1, 3])
@pytest.mark.parametrize("ddl", [DDL, PURGING])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) AS n FROM a {0}, b {0} WHERE a.k = b.k",
        "SELECT a.k, COUNT(*) AS n FROM a {0}, b {0} WHERE a.k = b.k GROUP BY a.k",
        "SELECT MAX(a.x) AS n, MIN(b.s) AS m FROM a {0}, b {0} WHERE a.k = b.k",
        "SELECT SUM(a.x + 1) AS n, AVG(b.d) AS m, SUM(a.p) AS p FROM a {0}, b {0} WHERE a.k = b.k",
        "SELECT b.k, COUNT(DISTINCT a.x) AS n, SUM(c.d) AS m FROM a {0}, b {0}, c {0} "
        "WHERE a.k = b.k AND b.k = c.k GROUP BY b.k",
    ],
)
def test_a_hot_key_has_as_many_results_as_rows(query: str, ddl: str, cells: int) -> None:
    """And not as many as combinations: the join gives a few for each row that comes or goes."""
    window = WINDOW if ddl is DDL else "[UNBOUNDED]"
    script = bind_text(f"{ddl}\nCREATE QUERY q AS {query.format(window)} ALLOW UNBOUNDED;").checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog, cells=cells)
    rows = {name: [0] * HOT for name in ("k", "m")} | {"x": [n % 7 for n in range(HOT)]}
    types = {"x": pa.int32(), "d": pa.float64(), "p": pa.decimal128(9, 2), "w": pa.decimal128(30, 2), "s": pa.string()}
    rows |= {"d": rows["x"], "p": rows["x"], "w": rows["x"], "s": ["u"] * HOT, "ts": list(range(HOT))}
    for stream in engine.streams:
        columns = {name: pa.array(values, types.get(name, pa.int64())) for name, values in rows.items()}
        engine.push(stream, pa.record_batch(columns))
    engine.finish()
    given = sum(line.rows_out for line in engine.metrics() if line.operator.startswith("join"))
    assert given <= 8 * HOT


def test_words_of_partial_aggregates_are_those_of_accumulators() -> None:
    families = (aggregation.COUNT, aggregation.INTEGER, aggregation.DOUBLE)
    assert tuple(aggregation.STATE_WIDTHS[each] for each in families) == (COUNT_WORDS, INTEGER_WORDS, DOUBLE_WORDS)
    assert MOST_DIGITS == NARROW_PRECISION
