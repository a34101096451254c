"""`penstock.check` from Python, and sessions that refuse what is not safe."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import penstock
from penstock.register import Theory
from penstock.register.report import action_texts

DECLARATIONS = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts;"
UNSAFE = f"{DECLARATIONS} SELECT DISTINCT a FROM s"


def test_a_text_a_path_and_a_file_are_checked_alike(tmp_path: Path) -> None:
    file = tmp_path / "q.sql"
    file.write_text(UNSAFE)
    verdicts = [penstock.check(what)[0] for what in (UNSAFE, file, str(file))]
    assert [verdict.message for verdict in verdicts] == [verdicts[0].message] * 3
    assert str(verdicts[1]).startswith(f"query: not safe\n{file}:1:72: one row is kept")


def test_errors_of_a_text_are_raised() -> None:
    with pytest.raises(penstock.SqlErrors, match="there is no column b"):
        penstock.check(f"{DECLARATIONS} SELECT b FROM s")


def test_what_is_no_query_is_refused() -> None:
    with pytest.raises(penstock.PenstockError, match="int cannot be checked"):
        penstock.check(5)


def test_a_session_refuses_what_is_not_safe() -> None:
    session = penstock.Session()
    session.sql(DECLARATIONS)
    query = session.query("SELECT DISTINCT a FROM s")
    assert not query.verdict.safe
    assert penstock.check(query)[0].message == query.verdict.message
    with pytest.raises(penstock.UnsafeQuery, match="one row is kept for every value"):
        next(query.run())


def test_a_declaration_that_comes_later_makes_it_safe() -> None:
    session = penstock.Session()
    session.sql(DECLARATIONS)
    query = session.query("SELECT DISTINCT a FROM s")
    session.sql("ALTER STREAM s ADD PUNCTUATED BY (a)")
    assert query.verdict.message == "safe, at most values of a not yet closed"
    assert query.verdict.by == {Theory.PUNCTUATION}


def test_what_is_allowed_may_run() -> None:
    (verdict,) = penstock.check(f"{DECLARATIONS} CREATE QUERY q AS SELECT DISTINCT a FROM s ALLOW UNBOUNDED")
    assert verdict.allowed
    assert not verdict.safe
    assert str(verdict).startswith("q: not safe, but allowed\n")


def test_groups_that_never_close_cannot_show_when_they_do() -> None:
    """There is no plan that would give them, so that `check` and `run` refuse the query alike."""
    session = penstock.Session()
    session.sql(DECLARATIONS)
    query = session.query("SELECT a, COUNT(*) AS n FROM s GROUP BY a EMIT ON CLOSE ALLOW UNBOUNDED")
    assert not query.verdict.allowed
    assert str(query.verdict).startswith("query: not safe\n")
    with pytest.raises(penstock.UnsafeQuery, match=r"waits for each group by s\.a to close"):
        next(query.run())


def test_keys_may_compute_with_columns_that_a_union_widens() -> None:
    """Its sides have other types, which a comparison or a call does not take."""
    session = penstock.Session()
    session.sql("""
        CREATE STREAM r (k BIGINT, w STRING, ts BIGINT) TIMESTAMP BY ts;
        CREATE STREAM s (k BIGINT, ts BIGINT) TIMESTAMP BY ts;
        CREATE VIEW v AS SELECT k, k AS c FROM s UNION SELECT k, CAST(w AS INT) AS c FROM r;
    """)
    query = session.query("SELECT IF(k = c, k, k) AS a FROM v GROUP BY IF(k = c, k, k)")
    assert not query.verdict.safe
    assert "Aggregate" in query.explain(cells=1)


def test_an_action_inside_a_view_is_the_changed_piece_alone() -> None:
    text = f"{DECLARATIONS} CREATE VIEW v AS SELECT a FROM s; CREATE QUERY q AS SELECT DISTINCT a FROM v"
    (verdict,) = penstock.check(text)
    assert verdict.actions[-1].steps[0].text == "s [RANGE 1 HOUR]"
    assert "CREATE QUERY q AS SELECT DISTINCT a FROM v\n" in str(verdict)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("FROM s", "FROM s [RANGE 1 HOUR];"),
        ("FROM s [UNBOUNDED]", "FROM s [RANGE 1 HOUR];"),
        ("FROM s [ROWS UNBOUNDED] AS x", "FROM s [RANGE 1 HOUR] AS x;"),
        ("FROM `s` x WHERE (a > 1)", "FROM `s` [RANGE 1 HOUR] x WHERE (a > 1);"),
    ],
)
def test_a_window_is_put_where_the_old_one_was(before: str, after: str) -> None:
    (verdict,) = penstock.check(f"{DECLARATIONS} CREATE QUERY q AS SELECT DISTINCT a {before};")
    texts = [statement for statements in action_texts(verdict) for statement in statements]
    assert texts[-1] == f"CREATE OR REPLACE QUERY q AS SELECT DISTINCT a {after}"


PUNCTUATED = f"{DECLARATIONS} ALTER STREAM s ADD PUNCTUATED BY (a);"


@pytest.mark.parametrize(
    ("sql", "leaning"),
    [
        ("SELECT DISTINCT a FROM s", "s: PUNCTUATED BY (a) without WHEN or FROM, so that no punctuation is seen"),
        ("SELECT COUNT(*) AS n FROM s x, s y WHERE x.a = y.a AND x.a = 1 AND x.ts < 5 AND y.ts < 5", None),
        ("SELECT SUM(x.ts) AS n FROM s x, s y WHERE x.a = y.a AND x.a = 1", None),
        ("SELECT a, COUNT(*) AS n FROM s [ROWS 5] GROUP BY a", None),
        ("SELECT a % 3 AS m, COUNT(*) AS n FROM s GROUP BY a % 3", None),
    ],
)  # fmt: skip
def test_a_bound_by_punctuations_that_no_run_sees_is_warned_of(sql: str, leaning: str | None) -> None:
    (verdict,) = penstock.check(f"{PUNCTUATED} CREATE QUERY q AS {sql}")
    assert verdict.safe
    assert verdict.warnings == ((f"q: its bound leans on {leaning}: its state will grow",) if leaning else ())


NULLABLE = """
CREATE STREAM a (k BIGINT, g BIGINT, x BIGINT, y BIGINT, ends BIGINT, ts TIMESTAMP,
  PUNCTUATED BY (k) WHEN ends = 1, PUNCTUATED BY (x, g) WHEN ends = 2) TIMESTAMP BY ts;
CREATE STREAM b (k BIGINT NOT NULL, x BIGINT, ends BIGINT, ts TIMESTAMP,
  PUNCTUATED BY (k) WHEN ends = 1) TIMESTAMP BY ts;
"""


@pytest.mark.parametrize(
    ("sql", "nulls"),
    [
        ("SELECT DISTINCT k, y FROM a", ["a.k is"]),
        ("SELECT k, y, COUNT(*) AS n FROM a GROUP BY k, y EMIT ON CLOSE", ["a.k is"]),
        ("SELECT DISTINCT x, g, y FROM a", ["a.x is", "a.g is"]),
        ("SELECT k, COUNT(DISTINCT y) AS n FROM a GROUP BY k", ["a.k is"]),
        ("SELECT k, y FROM a [PARTITION BY k, y ROWS 2]", ["a.k is"]),
        ("SELECT k, x FROM b UNION SELECT k, y FROM a", ["k is"]),
        ("SELECT v.y FROM (SELECT DISTINCT k, x, y, g FROM a) v, b WHERE v.k = b.k", []),
        ("SELECT DISTINCT k FROM a", []),
        ("SELECT k, COUNT(*) AS n FROM a GROUP BY k EMIT ON CLOSE", []),
        ("SELECT k, y FROM a [PARTITION BY k ROWS 2]", []),
        ("SELECT DISTINCT k, x FROM b", []),
        ("SELECT DISTINCT k, x FROM a WHERE k IS NOT NULL", []),
        ("SELECT DISTINCT k, x FROM a WHERE k > 3", []),
        ("SELECT DISTINCT k, y IN (1, 2) AS f FROM a", []),
        ("SELECT DISTINCT a.k, a.x FROM a, b WHERE a.k = b.k", []),
        ("SELECT a.x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)", []),
        ("SELECT k, x, ts, COUNT(*) AS n FROM a GROUP BY k, x, ts", []),
    ],
)
def test_entries_that_only_punctuations_with_null_end_are_warned_of(sql: str, nulls: list[str]) -> None:
    (verdict,) = penstock.check(f"{NULLABLE} CREATE QUERY q AS {sql}")
    assert verdict.safe
    kept = "goes only after a punctuation with NULL"
    assert [text.partition(": if none")[0] for text in verdict.warnings] == [
        f"q: what it keeps where {each} NULL {kept}" for each in nulls
    ]


def test_a_query_whose_run_does_not_do_what_is_proved_is_not_safe() -> None:
    """Punctuations come, but groups of times do not know of which values their rows are."""
    closed = "CREATE STREAM u (a BIGINT, ts BIGINT, PUNCTUATED BY (a) WHEN ts > 5) TIMESTAMP BY ts;"
    closed += "ALTER STREAM s ADD PUNCTUATED BY (a) WHEN ts > 5;"
    exists = "EXISTS (SELECT * FROM u WHERE u.a = s.a)"
    sql = f"SELECT s.ts / 9 AS slot, COUNT(*) AS n FROM s WHERE {exists} GROUP BY s.ts / 9"
    (verdict,) = penstock.check(f"{DECLARATIONS} {closed} CREATE QUERY q AS {sql}")
    assert not verdict.safe
    could = "though by s: TIMESTAMP BY ts and u: PUNCTUATED BY (a) WHEN ts > 5 they end"
    assert verdict.message == f"not safe: in this version one group is kept for every value of s.ts / 9, {could}"
    assert verdict.hint is None  # there is no input that defeats every plan


def test_a_join_with_groups_is_safe_where_all_that_is_below_closes() -> None:
    closed = "ALTER STREAM s ADD PUNCTUATED BY (a) WHEN ts > 5;"
    sql = "SELECT t.a, n FROM (SELECT a, COUNT(*) AS n FROM s GROUP BY a) AS g, s AS t WHERE g.a = t.a"
    (verdict,) = penstock.check(f"{DECLARATIONS} {closed} CREATE QUERY q AS {sql}")
    assert verdict.safe
    assert not verdict.warnings
    (verdict,) = penstock.check(f"{DECLARATIONS} ALTER STREAM s ADD PUNCTUATED BY (a); CREATE QUERY q AS {sql}")
    assert verdict.safe
    assert len(verdict.warnings) == 1


def test_a_session_warns_where_the_proof_is_not_used() -> None:
    session = penstock.Session()
    session.stream("s", pa.table({"a": [1, 1], "ts": [1, 2]}), timestamp="ts", constraints=["PUNCTUATED BY (a)"])
    with pytest.warns(penstock.UnusedProof, match="query: its bound leans on s: PUNCTUATED BY"):
        assert session.query("SELECT DISTINCT a FROM s").to_arrow().num_rows == 1


def test_a_range_of_times_is_proposed_where_a_join_waits() -> None:
    text = f"{DECLARATIONS} CREATE STREAM t (a BIGINT, ts BIGINT) TIMESTAMP BY ts;"
    (verdict,) = penstock.check(f"{text} CREATE QUERY q AS SELECT s.a FROM s JOIN t ON s.a = t.a")
    texts = [statement for statements in action_texts(verdict) for statement in statements]
    between = "t.ts BETWEEN s.ts - 3600000000 AND s.ts + 3600000000"
    assert f"CREATE OR REPLACE QUERY q AS SELECT s.a FROM s JOIN t ON {between} AND s.a = t.a;" in texts


def test_times_of_rows_that_are_distinct_below_a_join_are_no_keys_above_it() -> None:
    text = f"{DECLARATIONS} CREATE STREAM t (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;"
    joined = "s [RANGE 3 SECONDS] AS r, (SELECT DISTINCT a, b FROM t) AS d"
    sql = f"SELECT d.a, COUNT(*) AS n FROM {joined} WHERE r.a = d.a AND r.a IN (SELECT u.a FROM s u) GROUP BY d.a"
    follow = "ALTER STREAM s ADD FOREIGN KEY (a) REFERENCES t (a) WITHIN 1 HOUR, PUNCTUATED BY (a);"
    back = "ALTER STREAM t ADD UNIQUE (a), FOREIGN KEY (a) REFERENCES s (a) WITHIN 1 HOUR;"
    for declared in (text, f"{text} {follow} {back}"):
        (verdict,) = penstock.check(f"{declared} CREATE QUERY q AS {sql}")
        assert verdict.message
