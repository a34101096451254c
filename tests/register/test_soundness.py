"""No query is called safe without declarations whose futures tell all subsets of its past apart.

Items far beyond all constants come in any subset; then rows that probe for each of them. If every subset leads to
another answer, memory must grow with the number of items, whatever the plan. The answers are the reference
interpreter's, so nothing of the register decides the test.
"""

from __future__ import annotations

from itertools import product

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from penstock.register import check_query
from penstock.sql import Script, bind_text
from tests.reference.interpreter import run

DECLARATIONS = """
CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM t (c BIGINT, d BIGINT, ts BIGINT) TIMESTAMP BY ts;
"""
ITEMS = 4
ITEM_VALUES = ((100, 100), (200, -200), (-300, 300), (-400, -400))
PROBES = (-401, -400, -300, -200, -1, 2, 100, 199, 200, 300, 301)

COMPARISONS = st.sampled_from(["<", "<=", "=", ">", ">=", "<>"])
PREDICATES = st.builds(
    " ".join,
    st.one_of(
        st.tuples(st.sampled_from(["a", "b"]), COMPARISONS, st.sampled_from(["c", "d"])),
        st.tuples(st.sampled_from(["a", "b", "c", "d"]), COMPARISONS, st.sampled_from(["0", "1", "3"])),
    ),
)
SHAPES = st.sampled_from(
    [
        "SELECT a FROM s, t WHERE {}",
        "SELECT a, d FROM s, t WHERE {}",
        "SELECT DISTINCT a FROM s, t WHERE {}",
        "SELECT COUNT(*) AS n FROM s, t WHERE {}",
        "SELECT SUM(b) AS n FROM s, t WHERE {}",
        "SELECT MAX(b) AS n FROM s, t WHERE {}",
        "SELECT SUM(b * d) AS n FROM s, t WHERE {}",
        "SELECT COUNT(DISTINCT b) AS n FROM s, t WHERE {}",
        "SELECT a, COUNT(*) AS n FROM s, t WHERE {} GROUP BY a",
        "SELECT a % 3 AS m, MIN(d) AS n FROM s, t WHERE {} GROUP BY a % 3",
        "SELECT a FROM s WHERE EXISTS (SELECT * FROM t WHERE {})",
        "SELECT COUNT(*) AS n FROM s WHERE NOT EXISTS (SELECT * FROM t WHERE {})",
        "SELECT a FROM s WHERE NOT EXISTS (SELECT * FROM t WHERE {})",
        "SELECT a, COUNT(*) AS n FROM s [ROWS 1], t WHERE {} GROUP BY a",
        "SELECT a, c, MAX(d) AS n FROM s [ROWS 1], t [ROWS 1] WHERE {} GROUP BY a, c",
        "SELECT DISTINCT a FROM s [NOW], t WHERE {}",
        "SELECT a, COUNT(DISTINCT d) AS n FROM s, t WHERE {} GROUP BY a",
        "SELECT x.a FROM (SELECT a, MAX(b) AS b FROM s GROUP BY a) x, t WHERE {}",
        "SELECT a FROM s WHERE a NOT IN (SELECT c FROM t WHERE {})",
        "SELECT a FROM s, t WHERE {} UNION SELECT c FROM t",
    ]
)


@settings(max_examples=40)
@given(SHAPES, st.lists(PREDICATES, min_size=1, max_size=5, unique=True))
def test_a_safe_query_does_not_tell_all_subsets_apart(shape: str, predicates: list[str]) -> None:
    script = bind_text(DECLARATIONS + shape.format(" AND ".join(predicates))).checked()
    assume(check_query(script.queries[0], script.catalog).safe)
    for stream in ("s", "t"):
        answers = {after(script, stream, chosen) for chosen in product((False, True), repeat=ITEMS)}
        assert len(answers) < 2**ITEMS, (shape.format(" AND ".join(predicates)), stream)


#: Predicates with a column of finitely many values: by a list (`b` and `d`) or as those of a table (`f`).
FEW = st.builds(
    " ".join,
    st.tuples(
        st.sampled_from(["a + b", "a * b", "a + f", "a * f", "a", "b", "f", "CASE WHEN b = 1 THEN a ELSE f END"]),
        COMPARISONS,
        st.sampled_from(["c", "d", "c + d", "c + f", "c * d", "f", "1"]),
    ),
)
FEW_PROBES = (-900, -300, -299, -297, 99, 101, 103, 201, 203, 600)
FEW_SHAPES = st.sampled_from(
    [
        "SELECT COUNT(*) AS n FROM s, t, k WHERE b IN (1, 3) AND d IN (1, 3) AND {}",
        "SELECT SUM(b) AS n FROM s, t, k WHERE b IN (1, 3) AND d IN (1, 3) AND {}",
        "SELECT DISTINCT b FROM s, t, k WHERE b IN (1, 3) AND d IN (1, 3) AND {}",
        "SELECT f, COUNT(*) AS n FROM s, t, k WHERE b = f AND d IN (1, 3) AND ({} OR b = d) GROUP BY f",
        "SELECT COUNT(*) AS n FROM s, k WHERE b IN (1, 3) AND EXISTS (SELECT * FROM t WHERE d IN (1, 3) AND {})",
    ]
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much])
@given(FEW_SHAPES, st.lists(FEW, min_size=1, max_size=3, unique=True))
def test_columns_of_few_values_do_not_hide_what_they_are_reckoned_with(shape: str, predicates: list[str]) -> None:
    table = "CREATE TABLE k (f BIGINT);"
    script = bind_text(DECLARATIONS + table + shape.format(" AND ".join(predicates))).checked()
    assume(check_query(script.queries[0], script.catalog).safe)
    for stream in ("s", "t"):
        answers = {after(script, stream, chosen, few=True) for chosen in product((False, True), repeat=3)}
        assert len(answers) < 2**3, (shape.format(" AND ".join(predicates)), stream)


def after(script: Script, stream: str, chosen: tuple[bool, ...], few: bool = False) -> tuple[object, ...]:
    """What comes out after some of the items: each probe at an instant of its own, first of the other stream."""
    other = "t" if stream == "s" else "s"
    items = [(*values, at) for at, (values, there) in enumerate(zip(ITEM_VALUES, chosen, strict=False)) if there]
    probes = [(value, value, ITEMS + number) for number, value in enumerate(PROBES)]
    if few:
        items = [(a, 1 + 2 * (a % 200 != 0), at) for a, _, at in items]
        probes = [(value, 1, ITEMS + number) for number, value in enumerate(FEW_PROBES)]
    data = {stream: items, other: probes, "k": [(1,), (3,)]}
    changes = run(script.queries[0], script.catalog, data, horizon=ITEMS + len(PROBES))
    return tuple((change.ts, change.op, change.row) for change in changes if change.ts >= ITEMS)
