"""Rows in the middle of a star, state by state: how each hears of what lets it go."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.retention import purge
from tests.purging.stored import Steps

DDL = """
CREATE STREAM s (
  id BIGINT, a BIGINT, b BIGINT, ts BIGINT, UNIQUE (id),
  FOREIGN KEY (a) REFERENCES t (a) WITHIN 3 ROWS, FOREIGN KEY (b) REFERENCES u (b) WITHIN 3 ROWS
) TIMESTAMP BY ts;
CREATE STREAM t (id BIGINT, a BIGINT, v BIGINT, ts BIGINT, UNIQUE (id), UNIQUE (a)) TIMESTAMP BY ts;
CREATE STREAM u (id BIGINT, b BIGINT, ts BIGINT, UNIQUE (id), UNIQUE (b)) TIMESTAMP BY ts;
"""
JOIN = (
    "FROM s [RANGE 60 MICROSECONDS], t [RANGE 20 MICROSECONDS], u [RANGE 20 MICROSECONDS] WHERE s.a = t.a AND s.b = u.b"
)
FOUND = f"CREATE QUERY q AS SELECT ISTREAM(s.id AS s, t.id AS t, u.id AS u) {JOIN} AND t.v > 0;"
COUNTED = f"CREATE QUERY q AS SELECT COUNT(*) AS n {JOIN} AND t.v > 0;"


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many rows were looked at by following bindings."""
    examine, counts = purge.kernel.examine, []

    def counted(*arguments: object) -> object:
        counts.append(len(arguments[1]))  # type: ignore[arg-type]
        return examine(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(purge.kernel, "examine", counted)
    return lambda: sum(counts)


def names(steps: Steps, stream: str) -> list[int]:
    return [row[0] for row in steps.stored(stream)]


def test_a_row_goes_with_its_result(followed: Callable[[], int]) -> None:
    steps = Steps(DDL + FOUND)
    steps.feed("s", (1, 10, 20), (2, 10, 21))
    steps.feed("t", (1, 10, 1))
    assert names(steps, "s") == [1, 2]
    steps.feed("u", (1, 20))
    assert steps.results() == [(1, 1, 1)]
    assert names(steps, "s") == [2]
    # One that comes last goes at once; what it joins stays, since more of s may come.
    steps.feed("s", (3, 10, 20))
    assert names(steps, "s") == [2]
    assert (names(steps, "t"), names(steps, "u")) == ([1], [1])
    assert followed() == 0


def test_a_row_goes_when_its_key_is_filtered_out(followed: Callable[[], int]) -> None:
    steps = Steps(DDL + FOUND)
    steps.feed("s", (1, 10, 20), (2, 11, 20))
    steps.feed("t", (1, 10, 0))
    assert names(steps, "s") == [2]
    assert followed() == 0


def test_a_row_goes_when_what_it_has_found_leaves() -> None:
    steps = Steps(DDL + FOUND)
    steps.come("t", (1, 10, 1), 1)
    steps.come("s", (1, 10, 20), 2)
    steps.come("u", (1, 29), 21)
    assert names(steps, "s") == [1]
    steps.come("u", (2, 28), 22)
    assert (names(steps, "s"), names(steps, "t")) == ([], [])


def test_a_row_goes_after_so_many_rows() -> None:
    """Three of t have come without its key, and of u, too; and then no more than these may be looked for."""
    steps = Steps(DDL + FOUND)
    steps.feed("s", (1, 10, 20))
    steps.feed("t", (1, 11, 1), (2, 12, 1))
    steps.feed("u", (1, 21), (2, 22))
    assert names(steps, "s") == [1]
    steps.feed("t", (3, 13, 1))
    assert names(steps, "s") == []


def test_rows_of_results_stay_where_these_are_taken_back(followed: Callable[[], int]) -> None:
    steps = Steps(DDL + COUNTED)
    steps.feed("s", (1, 10, 20), (2, 10, 21), (3, 19, 20))
    steps.feed("t", (1, 10, 1))
    steps.feed("u", (1, 20))
    steps.feed("t", (2, 12, 1), (3, 13, 1))
    # The third waits for a row of t no more, the second still for one of u. Of rows only keys are kept.
    assert steps.stored("s") == [(10, 20), (10, 21)]
    steps.feed("u", (2, 22), (3, 23))
    assert steps.stored("s") == [(10, 20)]
    assert steps.results() == [(1,)]
    assert followed() == 0
    steps.come("u", (4, 24), 25)  # the row of t has left
    assert steps.stored("s") == []
    assert steps.results() == [(0,)]
