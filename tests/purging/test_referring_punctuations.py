"""A punctuation that refers to a row need not be kept for it once that has come, even if it went before."""

from __future__ import annotations

import pytest

from penstock.retention import evidence_purge, punctuation_purge
from tests.engines.comparing import bound, expected
from tests.generators import Case
from tests.purging.stepping import most_kept
from tests.purging.varying import joined, run

ITEMS = 40
#: An item comes, three bids, the last of which closes it; and the next one.
STEP = 10
DATA = {
    "item": [(n, STEP * n) for n in range(ITEMS)],
    "bid": [(n, int(at == 3), STEP * n + at) for n in range(ITEMS) for at in (1, 2, 3)],
}
BIDS = "(SELECT 1 FROM bid b WHERE b.auction = i.id AND b.closes = 0)"
QUERIES = {
    "EXISTS": f"SELECT i.id FROM item i WHERE EXISTS {BIDS}",
    "NOT EXISTS": f"SELECT i.id FROM item i WHERE NOT EXISTS {BIDS}",
    "join": "SELECT ISTREAM(i.id AS id, b.auction AS a) FROM item i, bid b WHERE b.auction = i.id AND b.closes = 0",
}


@pytest.mark.parametrize("within", ["0 SECONDS", "20 MICROSECONDS", "0 ROWS", "2 ROWS"])
@pytest.mark.parametrize("name", QUERIES)
def test_punctuations_are_not_kept_for_rows_that_went(name: str, within: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(punctuation_purge, "FEW", 4)
    ddl = f"""
    CREATE STREAM item (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
    CREATE STREAM bid (auction BIGINT, closes INT, ts BIGINT,
      FOREIGN KEY (auction) REFERENCES item (id) WITHIN {within} ON VIOLATION IGNORE,
      PUNCTUATED BY (auction) WHEN closes = 1) TIMESTAMP BY ts;
    """
    case = Case(ddl, QUERIES[name], DATA, None, "")
    query, catalog = bound(case)
    most, log = most_kept(case, 2 * STEP)
    assert log == expected(case, query, catalog)
    assert most <= 20


GOING = """
CREATE STREAM done (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM s (a BIGINT, ts BIGINT, FOREIGN KEY (a) REFERENCES t (a) WITHIN 2 ROWS ON VIOLATION IGNORE)
TIMESTAMP BY ts;
CREATE STREAM t (a BIGINT, ts BIGINT, FOREIGN KEY (a) REFERENCES s (a) WITHIN 3 ROWS ON VIOLATION IGNORE {})
TIMESTAMP BY ts;
"""


@pytest.mark.parametrize(
    "query",
    [
        "SELECT s.a, t.ts FROM s, t WHERE s.a = t.a",
        "SELECT s.a, COUNT(*) AS n FROM s, t WHERE s.a = t.a GROUP BY s.a ALLOW UNBOUNDED",
    ],
)
def test_punctuations_are_not_kept_where_rows_go_without_them(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of s has gone by its k when the punctuation of t comes, and nobody knows that it was the last one."""
    monkeypatch.setattr(punctuation_purge, "FEW", 4)
    data = {
        "s": [(n, STEP * n + at) for n in range(200) for at in (0, 5)],
        "t": [(n, STEP * n + at) for n in range(200) for at in (1, 2)],
        "done": [(n, STEP * n + 55) for n in range(200)],
    }
    done = run(GOING.format(", PUNCTUATED BY (a) FROM done (a)"), query, data, STEP)
    without = run(GOING.format(""), query, {**data, "done": []}, STEP)
    assert done.log == without.log
    assert len(done.log) >= 400
    if "COUNT" not in query:
        assert max(done.state_rows[100:200]) <= max(done.state_rows[:100])
    else:
        # Of groups up to half may have ended.
        assert max(done.state_rows[100:200]) <= 2 * max(done.state_rows[:100]) < max(without.state_rows)


@pytest.mark.parametrize("declared", ["ORDERED BY a WITHIN 3 ROWS", "CLUSTERED BY a WITHIN 20 MICROSECONDS"])
def test_punctuations_are_not_kept_for_values_that_are_passed(declared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of s go by the punctuations of t, which come later than their values have been passed."""
    monkeypatch.setattr(punctuation_purge, "FEW", 4)
    monkeypatch.setattr(evidence_purge, "FEW", 4)
    statements = f"""
    CREATE STREAM done (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM s (a BIGINT, ts BIGINT, {declared} ON VIOLATION IGNORE) TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, ts BIGINT, PUNCTUATED BY (a) FROM done (a)) TIMESTAMP BY ts;
    """
    data = {
        "s": [(n, STEP * n + at) for n in range(200) for at in (0, 5)],
        "t": [(n, STEP * n + at) for n in range(200) for at in (1, 12)],
        "done": [(n, STEP * n + 13) for n in range(200)],
    }
    data["t"].sort(key=lambda row: row[1])
    done = run(statements, "SELECT s.a FROM s, t WHERE s.a = t.a ALLOW UNBOUNDED", data, STEP)
    assert done.log == joined(data)
    assert max(done.state_rows[100:200]) <= max(done.state_rows[:100])


def test_groups_keep_no_punctuations_that_a_join_is_done_with_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group closes a while after its punctuation; later the join finds that it needs that no more."""
    monkeypatch.setattr(punctuation_purge, "FEW", 4)
    statements = """
    CREATE STREAM done (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM s (a BIGINT, ts BIGINT, UNIQUE (a), ORDERED BY a WITHIN 0 ROWS ON VIOLATION IGNORE,
      PUNCTUATED BY (a) FROM done (a), FOREIGN KEY (a) REFERENCES t (a) WITHIN 17 MICROSECONDS ON VIOLATION IGNORE)
    TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
    """
    data = {
        "s": [(n, STEP * n) for n in range(200)],
        "t": [(n, STEP * n + 5) for n in range(200)],
        "done": [(n, STEP * n + 7) for n in range(200)],
    }
    done = run(statements, "SELECT s.a, COUNT(*) AS n FROM s, t WHERE s.a = t.a GROUP BY s.a", data, STEP)
    assert sorted(done.log) == [(STEP * n + 5, "+", n, 1) for n in range(200)]
    assert max(done.state_rows[100:200]) <= max(done.state_rows[:100])


@pytest.mark.parametrize("also", ["flow", "ip"])
def test_punctuations_are_not_kept_where_another_scheme_lets_rows_go(
    also: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing says that s brings no more rows with a flow that t has closed; but they go by (ip, flow)."""
    monkeypatch.setattr(punctuation_purge, "FEW", 4)
    ddl = f"""
    CREATE STREAM closed (ip BIGINT, flow BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM s (ip BIGINT, flow BIGINT, ts BIGINT, PUNCTUATED BY (ip, flow) FROM closed (ip, flow))
    TIMESTAMP BY ts;
    CREATE STREAM t (ip BIGINT, flow BIGINT, ts BIGINT, PUNCTUATED BY ({also}) FROM closed ({also}),
      PUNCTUATED BY (ip, flow) FROM closed (ip, flow)) TIMESTAMP BY ts;
    """
    data = {
        "s": [(n, n, STEP * n) for n in range(ITEMS)],
        "t": [(n, n, STEP * n + at) for n in range(ITEMS) for at in (1, 2)],
        "closed": [(n, n, STEP * n + 5) for n in range(ITEMS)],
    }
    case = Case(ddl, "SELECT s.ip FROM s, t WHERE s.ip = t.ip AND s.flow = t.flow", data, None, "")
    query, catalog = bound(case)
    most, log = most_kept(case, 2 * STEP)
    assert log == expected(case, query, catalog)
    assert most <= 20
