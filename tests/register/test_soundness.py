"""No query is called safe without declarations whose futures tell all subsets of its past apart.

Items far beyond all constants come in any subset; then rows that probe for each of them. If every subset leads to
another answer, memory must grow with the number of items, whatever the plan. The answers are the reference
interpreter's, so nothing of the register decides the test.
"""

from __future__ import annotations

from itertools import product

from hypothesis import assume, given, settings
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


def after(script: Script, stream: str, chosen: tuple[bool, ...]) -> tuple[object, ...]:
    """What comes out after some of the items: each probe at an instant of its own, first of the other stream."""
    other = "t" if stream == "s" else "s"
    items = [(*values, at) for at, (values, there) in enumerate(zip(ITEM_VALUES, chosen, strict=True)) if there]
    probes = [(value, value, ITEMS + number) for number, value in enumerate(PROBES)]
    data = {stream: items, other: probes}
    changes = run(script.queries[0], script.catalog, data, horizon=ITEMS + len(PROBES))
    return tuple((change.ts, change.op, change.row) for change in changes if change.ts >= ITEMS)
