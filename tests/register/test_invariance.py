"""A verdict depends on what a query means: not on names, the order of FROM and WHERE, or how it is written."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.register import Verdict, check_query
from penstock.sql import bind_text
from tests.register.golden import Case, cases

CASES = list(cases())


def essence(verdict: Verdict) -> Counter[tuple[str, str, int | None]]:
    """What does not depend on names."""
    return Counter((s.operator.value, s.bound.kind.value, s.bound.size) for s in verdict.states)


def judged(declarations: str, sql: str) -> Verdict:
    script = bind_text(f"{declarations}\nCREATE QUERY q AS {sql};").checked()
    return check_query(script.queries[0], script.catalog)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_names_do_not_matter(case: Case) -> None:
    names = sorted(set(re.findall(r"CREATE (?:STREAM|TABLE|VIEW) (\w+)", case.declarations)), key=len, reverse=True)
    declarations, sql = case.declarations, case.sql
    for number, name in enumerate(names):
        pattern = re.compile(rf"\b{name}\b(?!\s*\()|\b{name}\b(?=\s*\((?!\s*SELECT))", re.IGNORECASE)
        if not re.search(rf"[(,]\s*{name}\s+(?:BIGINT|STRING)", declarations):  # a column of that name stays
            declarations, sql = pattern.sub(f"z{number}_x", declarations), pattern.sub(f"z{number}_x", sql)
    assert essence(judged(declarations, sql)) == essence(case.verdict)


DECLARATIONS = """
CREATE STREAM s (a BIGINT, b BIGINT, ts TIMESTAMP, PUNCTUATED BY (a)) TIMESTAMP BY ts DELAY 1 MINUTE;
CREATE STREAM t (c BIGINT, d BIGINT, ts TIMESTAMP, UNIQUE (c), PUNCTUATED BY (d)) TIMESTAMP BY ts;
CREATE STREAM u (e BIGINT, f BIGINT, ts TIMESTAMP, FOREIGN KEY (e) REFERENCES t (c) WITHIN 10 ROWS) TIMESTAMP BY ts;
"""
#: Predicates, each with other ways to write it.
PREDICATES = (
    ("a = c", "c = a", "NOT a <> c", "a - c = 0"),
    ("d = f", "f = d", "NOT (d < f OR d > f)"),
    ("e = c", "c = e"),
    ("b < 5", "5 > b", "NOT b >= 5", "b <= 4"),
    ("a BETWEEN 1 AND 3", "a >= 1 AND a <= 3", "NOT (a < 1 OR a > 3)", "a > 0 AND 4 > a"),
    ("s.ts <= t.ts + INTERVAL 1 HOUR", "s.ts - t.ts <= INTERVAL 60 MINUTES", "NOT t.ts < s.ts - INTERVAL 1 HOUR"),
    ("t.ts <= s.ts", "s.ts >= t.ts", "NOT s.ts < t.ts"),
)
WINDOWS = ("", "[UNBOUNDED]", "[RANGE 1 HOUR]", "[ROWS 10]")


@given(st.data())
def test_the_order_of_from_and_where_and_the_wording_do_not_matter(data: st.DataObject) -> None:
    windows = {name: data.draw(st.sampled_from(WINDOWS)) for name in "stu"}
    chosen = data.draw(st.lists(st.sampled_from(PREDICATES), min_size=1, unique=True))
    head, tail = data.draw(
        st.sampled_from(
            [
                ("SELECT a, d", ""),
                ("SELECT DISTINCT a", ""),
                ("SELECT a, COUNT(*) AS n", " GROUP BY a"),
                ("SELECT SUM(b) AS b", ""),
            ]
        )
    )

    def query(sources: list[str], predicates: list[str]) -> str:
        read = ", ".join(f"{name} {windows[name]}" for name in sources)
        return f"{head} FROM {read} WHERE {' AND '.join(f'({p})' for p in predicates)}{tail}"

    plain = query(list("stu"), [ways[0] for ways in chosen])
    moved = query(
        data.draw(st.permutations("stu")),
        [data.draw(st.sampled_from(ways)) for ways in data.draw(st.permutations(chosen))],
    )
    assert essence(judged(DECLARATIONS, plain)) == essence(judged(DECLARATIONS, moved)), (plain, moved)


@pytest.mark.parametrize("predicate", [ways[0] for ways in PREDICATES if "e" not in ways[0] and "f" not in ways[0]])
def test_a_view_is_judged_as_what_it_stands_for(predicate: str) -> None:
    view = f"CREATE VIEW v AS SELECT a, d FROM s, t WHERE a = c AND {predicate};"
    written_out = judged(DECLARATIONS, f"SELECT a, COUNT(*) AS n FROM s, t WHERE a = c AND {predicate} GROUP BY a")
    assert essence(judged(DECLARATIONS + view, "SELECT a, COUNT(*) AS n FROM v GROUP BY a")) == essence(written_out)
