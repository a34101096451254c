"""A user function stands wherever a scalar does, and is called only on rows that ask for its value."""

from __future__ import annotations

from typing import Any

import pytest

import penstock
from tests.functions.running import rows, session_over, values


@pytest.fixture
def session() -> penstock.Session:
    session = session_over(
        s={"a": [1, 2, 0, None, 4], "t": ["x", "yy", "zzz", None, "yy"]}, r={"b": [2, 4, 8], "u": ["a", "b", "yy"]}
    )
    session.function("half", lambda a: a // 2, arguments=["BIGINT"], returns="BIGINT", null="skip")
    session.function("near", lambda a, b: abs(a - b) <= 1, arguments=["BIGINT"] * 2, returns="BOOLEAN", null="skip")
    session.function("inverse", lambda a: 1 / a, arguments=["BIGINT"], returns="DOUBLE")
    session.function("is_long", lambda t: len(t) > 1, arguments=["STRING"], returns="BOOLEAN", null="skip")
    return session


IN_PLACES = {
    "select list": ("SELECT half(a) + 1 AS h FROM s", [(1,), (1,), (2,), (3,), (None,)]),
    "where": ("SELECT a FROM s WHERE is_long(t)", [(0,), (2,), (4,)]),
    "on": ("SELECT a, b FROM s JOIN r ON near(a, b)", [(1, 2), (2, 2), (4, 4)]),
    "on an equality": ("SELECT a, b FROM s JOIN r ON half(b) = a", [(1, 2), (2, 4), (4, 8)]),
    "on two": ("SELECT a, b FROM s JOIN r ON half(a) = half(b) AND near(a, b)", [(2, 2), (4, 4)]),
    "group by": (
        "SELECT is_long(t) AS l, COUNT(*) AS n FROM s GROUP BY is_long(t)",
        [(None, 1), (False, 1), (True, 3)],
    ),
    "having": ("SELECT t, COUNT(*) AS n FROM s [ROWS 9] GROUP BY t HAVING is_long(t)", [("yy", 2), ("zzz", 1)]),
    "having an aggregate": ("SELECT MAX(half(a)) AS m FROM s HAVING near(MAX(a), 4)", [(2,)]),
    "in an aggregate": ("SELECT SUM(half(a)) AS m FROM s", [(3,)]),
    "distinct": ("SELECT DISTINCT half(a) AS h FROM s", [(0,), (1,), (2,), (None,)]),
    "exists": ("SELECT a FROM s WHERE EXISTS (SELECT * FROM r WHERE near(r.b, s.a))", [(1,), (2,), (4,)]),
    "not exists": ("SELECT a FROM s WHERE NOT EXISTS (SELECT * FROM r WHERE near(r.b, s.a))", [(0,), (None,)]),
    "in": ("SELECT a FROM s WHERE half(a) IN (SELECT half(b) FROM r)", [(2,), (4,)]),
    "a view": ("SELECT v.h FROM (SELECT half(a) AS h FROM s) v WHERE v.h > 0", [(1,), (2,)]),
    "nested": ("SELECT half(half(a)) AS h FROM s WHERE a = half(8)", [(1,)]),
    "a constant": ("SELECT half(8) AS h FROM s WHERE a = 4", [(4,)]),
}


@pytest.mark.parametrize("cells", [1, 3])
@pytest.mark.parametrize("place", IN_PLACES)
@pytest.mark.filterwarnings("ignore::penstock.UnusedProof")
def test_a_function_stands_wherever_a_scalar_does(session: penstock.Session, place: str, cells: int) -> None:
    text, expected = IN_PLACES[place]
    (query,) = session.sql(f"CREATE QUERY q AS {text} ALLOW UNBOUNDED")
    last: dict[Any, int] = {}
    for row in query.to_arrow(cells=cells).to_pylist():
        _, op, *own = row.values()
        last[tuple(own)] = last.get(tuple(own), 0) + (1 if op == "+" else -1)
    assert sorted((row for row, n in last.items() for _ in range(n)), key=str) == sorted(expected, key=str)


PROTECTED = {
    "CASE": "SELECT CASE WHEN a <> 0 THEN inverse(a) END AS v FROM s",
    "CASE, ELSE": "SELECT CASE WHEN a = 0 OR a IS NULL THEN NULL ELSE inverse(a) END AS v FROM s",
    "CASE, second condition": "SELECT CASE WHEN a = 0 THEN NULL WHEN a IS NOT NULL THEN inverse(a) END AS v FROM s",
    "nested CASE": "SELECT CASE WHEN a IS NOT NULL THEN CASE WHEN a <> 0 THEN inverse(a) END END AS v FROM s",
    "IF": "SELECT IF(a > 0, inverse(a), NULL) AS v FROM s",
    "inside an expression": "SELECT 1 * CASE WHEN a > 0 THEN inverse(a) + 0 END AS v FROM s",
}


@pytest.mark.parametrize("text", PROTECTED.values(), ids=PROTECTED)
def test_a_function_is_not_called_on_rows_that_a_case_keeps_from_it(session: penstock.Session, text: str) -> None:
    assert values(session, text) == [1.0, 0.5, None, None, 0.25]


def test_coalesce_calls_a_function_only_where_what_stands_before_is_null(session: penstock.Session) -> None:
    session.function("fallback", lambda a: {None: -1}[a], arguments=["BIGINT"], returns="BIGINT")
    assert values(session, "SELECT COALESCE(a, fallback(a)) AS v FROM s") == [1, 2, 0, -1, 4]


def test_a_condition_of_a_case_is_asked_only_where_those_before_it_are_not_true(session: penstock.Session) -> None:
    text = (
        "SELECT CASE WHEN a IS NULL OR a = 0 THEN 'no' WHEN inverse(a) > 0.3 THEN 'large' ELSE 'small' END AS v FROM s"
    )
    assert values(session, text) == ["large", "large", "no", "no", "small"]


def test_a_function_is_called_once_for_each_combination_of_arguments_that_repeats(session: penstock.Session) -> None:
    session = session_over(s={"a": [1, 2] * 500})
    seen = []
    session.function("noted", lambda a: seen.append(a) or a, arguments=["BIGINT"], returns="BIGINT")
    assert values(session, "SELECT noted(a) AS v FROM s") == [1, 2] * 500
    assert set(seen) == {1, 2}
    assert len(seen) <= 4


def test_a_function_without_arguments_is_called_once_per_batch_if_at_all(session: penstock.Session) -> None:
    seen = []
    session.function("answer", lambda: seen.append(1) or 42, arguments=[], returns="INT")
    assert values(session, "SELECT answer() AS v FROM s") == [42] * 5
    assert len(seen) < 5
    seen.clear()
    assert values(session, "SELECT a FROM s WHERE a > 100 AND answer() = 42") == []
    assert seen == []


def test_a_filter_of_a_window_of_rows_keeps_functions_from_rows_that_fail_it(session: penstock.Session) -> None:
    assert rows(session, "SELECT inverse(a) AS v FROM s [ROWS 2] WHERE a > 0")[:1] == [("+", 0.25)]


def test_occurrences_of_one_stream_call_functions_on_their_own_rows_only(session: penstock.Session) -> None:
    text = """SELECT x.v, y.a FROM (SELECT a, inverse(a) AS v FROM s [RANGE 1 HOUR] WHERE a > 0) x,
              s [RANGE 1 HOUR] y WHERE x.v = y.a"""
    assert rows(session, text) == [("+", 1.0, 1)]
