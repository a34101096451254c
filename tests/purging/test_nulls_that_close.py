"""NULL is a value of groups: a punctuation of it closes it, and guards keep it out. Where none can, nothing is safe."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import check
from penstock.closing.evidence import REMEMBERED
from penstock.engines.embedded import EmbeddedEngine
from penstock.errors import PenstockError
from penstock.synopsis import punctuated as remembered
from tests.engines.comparing import bound, embedded, expected
from tests.generators import Case
from tests.purging.stepping import steps

DDL = """
CREATE STREAM z (k BIGINT{of_z}, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM a (id BIGINT{of_a}, k BIGINT{of_a}, x BIGINT, ends INT, ts BIGINT, {declared}) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, k BIGINT{of_a}, x BIGINT, ends INT, ts BIGINT, {declared}) TIMESTAMP BY ts;
"""
WHEN = "PUNCTUATED BY (k) WHEN ends = 1"
QUERIES = [
    "SELECT DISTINCT k, x FROM a",
    "SELECT k, x, COUNT(*) AS n FROM a GROUP BY k, x",
    "SELECT k, COUNT(DISTINCT x) AS n FROM a GROUP BY k",
    "SELECT k, x FROM a UNION SELECT k, x FROM b",
    "SELECT k, x FROM a EXCEPT SELECT k, x FROM b",
    "SELECT k, x FROM a INTERSECT ALL SELECT k, x FROM b",
    "SELECT x, COUNT(DISTINCT k) AS n FROM a WHERE x BETWEEN 0 AND 9 GROUP BY x",
]


def ddl(declared: str = WHEN, of_a: str = "", of_z: str = "") -> str:
    return DDL.format(declared=declared, of_a=of_a, of_z=of_z)


def rows(epochs: int) -> dict[str, list[tuple[Any, ...]]]:
    """In each epoch a key is open. NULL is open in the first ten, and comes now and then after its punctuation."""
    own = []
    for e in range(epochs):
        keys = [e, e, None] if e < 10 or e % 3 == 0 else [e, e]
        own += [(3 * e + n, k, e % 7 if n == 0 else 3 * e + n, 0, 100 * e + 10 * n) for n, k in enumerate(keys)]
        own.append((0, e, None, 1, 100 * e + 50))
        if e == 10:
            own.append((0, None, None, 1, 100 * e + 60))
    return {"a": own, "b": own, "z": []}


@pytest.mark.parametrize("select", QUERIES)
@pytest.mark.parametrize("cells", [1, 3])
def test_a_punctuation_of_null_closes_null(select: str, cells: int) -> None:
    (verdict,) = check(f"{ddl()} CREATE QUERY q AS {select};")
    assert verdict.safe
    kept = []
    for epochs in (60, 240):
        data = rows(epochs)
        query, catalog = bound(Case(ddl(), select, data, None, ""))
        engine = EmbeddedEngine(query, catalog, {}, cells)
        most = [engine.state()[0] for _ in steps(engine, catalog, data, 400)]
        kept.append(max(most[len(most) // 2 :]))
        engine.finish()
        late = sum(1 for e in range(11, epochs) if e % 3 == 0) * (1 + (" b" in select))
        assert engine.totals().violations == (0 if "WHERE" in select else late)  # the filter keeps them out before
    assert kept[1] <= kept[0] + 2


@pytest.mark.parametrize("select", QUERIES)
def test_the_answer_is_the_reference_s_of_the_rows_that_are_not_ruled_out(select: str) -> None:
    data = rows(25)
    query, catalog = bound(Case(ddl(), select, data, None, ""))
    allowed = [row for row in data["a"] if row[1] is not None or row[4] <= 1060]
    want = expected(Case(ddl(), select, {"a": allowed, "b": allowed, "z": []}, None, ""), query, catalog)
    for cells, cuts in ((1, 0), (1, 300), (3, 300)):
        assert embedded(Case(ddl(), select, data, None, ""), query, catalog, cells, cuts) == want


@pytest.mark.parametrize("select", [select for select in QUERIES if " b" not in select])
def test_groups_end_by_punctuations_that_can_never_be_null(select: str) -> None:
    declared = ddl("PUNCTUATED BY (k) FROM z (k)", " NOT NULL", " NOT NULL")
    keyed = [row for row in rows(25)["a"] if row[1] is not None]
    data = {"a": keyed, "b": [], "z": [(e, 100 * e + 60) for e in range(25)]}
    case = Case(declared, select, data, None, "")
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    for cells, cuts in ((1, 0), (1, 300), (3, 300)):
        assert embedded(case, query, catalog, cells, cuts) == want


def test_a_run_that_stops_at_a_violation_names_the_null() -> None:
    declared = f"{WHEN} ON VIOLATION ERROR"
    data = rows(25)
    query, catalog = bound(Case(ddl(declared), QUERIES[0], data, None, ""))
    engine = EmbeddedEngine(query, catalog)
    with pytest.raises(PenstockError, match="a row with k IS NULL at"):
        list(steps(engine, catalog, data, 100))


@pytest.mark.parametrize(
    ("declared", "of_a", "of_z", "select", "is_safe"),
    [
        ("PUNCTUATED BY (k) FROM z (k)", "", "", QUERIES[0], True),
        ("PUNCTUATED BY (k) FROM z (k)", "", " NOT NULL", QUERIES[0], False),
        ("PUNCTUATED BY (k) FROM z (k)", " NOT NULL", " NOT NULL", QUERIES[0], True),
        ("PUNCTUATED BY (k) FROM z (k)", "", " NOT NULL", QUERIES[2], False),
        ("PUNCTUATED BY (k) FROM z (k)", "", " NOT NULL", "SELECT k, COUNT(*) AS n FROM a GROUP BY k", True),
        ("PUNCTUATED BY (k) FROM z (k)", "", " NOT NULL", f"{QUERIES[0]} WHERE k IS NOT NULL", True),
        ("PUNCTUATED BY (k) FROM z (k)", "", " NOT NULL", QUERIES[3], False),
        ("PUNCTUATED BY (k) FROM z (k)", "", "", "SELECT k, x FROM a EXCEPT SELECT ts, x FROM b", True),
        ("PUNCTUATED BY (k) WHEN k > 0 AND ends = 1", "", "", QUERIES[0], False),
        ("UNIQUE (id)", "", "", "SELECT DISTINCT x, id FROM a", True),
    ],
)
def test_the_verdict_says_where_no_punctuation_can_close_null(
    declared: str, of_a: str, of_z: str, select: str, is_safe: bool
) -> None:
    (verdict,) = check(f"{ddl(declared, of_a, of_z)} CREATE QUERY q AS {select};")
    assert verdict.safe == is_safe
    if not is_safe:
        assert "NULL" in verdict.message
        steps = [[step.text for step in action.steps] for action in verdict.actions]
        assert any(all("NOT NULL" in text for text in action) for action in steps)


def test_null_in_another_column_than_the_key_does_not_keep_a_group() -> None:
    """By UNIQUE (id) a row with one id comes once, whatever else it has."""
    declared, select = "UNIQUE (id)", "SELECT DISTINCT x, id FROM a"
    data = {"a": [(n, n, None if n % 2 else n, 0, n) for n in range(2000)], "b": [], "z": []}
    query, catalog = bound(Case(ddl(declared), select, data, None, ""))
    engine = EmbeddedEngine(query, catalog)
    assert max(engine.state()[0] for _ in steps(engine, catalog, data, 100)) <= 5


def test_rows_without_a_value_that_they_have_to_have_are_bad() -> None:
    data = {"a": [(n, None if n == 3 else n, n, 0, n) for n in range(6)], "b": [], "z": []}
    case = Case(ddl(of_a=" NOT NULL"), "SELECT x FROM a", data, None, "")
    query, catalog = bound(case)
    assert len(expected(case, query, catalog)) == 5
    for cells in (1, 3):
        assert embedded(case, query, catalog, cells, 2) == expected(case, query, catalog)


def test_a_table_with_null_where_it_is_not_null_stops_the_query() -> None:
    ddl_ = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts; CREATE TABLE t (a BIGINT NOT NULL, c STRING);"
    data = {"s": [(1, 1)], "t": [(1, "x"), (None, "y")]}
    case = Case(ddl_, "SELECT c FROM s, t WHERE s.a = t.a", data, None, "")
    query, catalog = bound(case)
    with pytest.raises(PenstockError, match="t has NULL in a, which is NOT NULL: row 2"):
        embedded(case, query, catalog, 1, 0)


def test_texts_of_closed_values_are_forgotten_when_guards_forget_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard remembers the last values that were closed, and owns their texts."""
    assert remembered.ROOM == REMEMBERED
    monkeypatch.setattr(remembered, "ROOM", 16)
    ddl_ = "CREATE STREAM s (k STRING, ends INT, ts BIGINT, PUNCTUATED BY (k) WHEN ends = 1) TIMESTAMP BY ts;"
    select = "SELECT k, COUNT(*) AS n FROM s GROUP BY k"
    (verdict,) = check(f"{ddl_} CREATE QUERY q AS {select};")
    assert "guard, constant: the last 65,536 values in each cell that s: PUNCTUATED BY (k)" in verdict.explanation()
    most = []
    for keys in (10_000, 30_000):
        data = {"s": [(f"key-{n // 2}", n % 2, n) for n in range(2 * keys)]}
        query, catalog = bound(Case(ddl_, select, data, None, ""))
        engine = EmbeddedEngine(query, catalog)
        most.append(max(len(engine._dictionary) for _ in steps(engine, catalog, data, 500)))
    assert most[1] <= most[0] + 300
