"""What each kind of window holds, worked out by hand: the change log of `SELECT a FROM s [window]`."""

from __future__ import annotations

import pytest

from tests.semantics.examples import changes

S = "CREATE STREAM s (a BIGINT, b STRING, ts BIGINT) TIMESTAMP BY ts DELAY 100 MICROSECONDS;"


def test_without_bracket_rows_stay_for_ever() -> None:
    rows = [(1, "x", 2), (2, "x", 5)]
    assert changes(f"{S} SELECT a FROM s", s=rows, horizon=9) == [(2, "+", 1), (5, "+", 2)]


@pytest.mark.parametrize("window", ["[UNBOUNDED]", "[ROWS UNBOUNDED]", "[RANGE UNBOUNDED]"])
def test_unbounded_has_three_more_spellings(window: str) -> None:
    rows = [(1, "x", 2), (2, "x", 5)]
    assert changes(f"{S} SELECT a FROM s {window}", s=rows) == [(2, "+", 1), (5, "+", 2)]


def test_range_has_both_ends_in() -> None:
    rows = [(1, "x", 2), (2, "x", 4)]
    expected = [(2, "+", 1), (4, "+", 2), (6, "-", 1), (8, "-", 2)]
    assert changes(f"{S} SELECT a FROM s [RANGE 3 MICROSECONDS]", s=rows, horizon=20) == expected


def test_range_at_the_horizon_still_holds_the_row() -> None:
    assert changes(f"{S} SELECT a FROM s [RANGE 3 MICROSECONDS]", s=[(1, "x", 2)], horizon=5) == [(2, "+", 1)]


def test_now_holds_a_row_for_one_instant() -> None:
    rows = [(1, "x", 2), (2, "x", 3)]
    expected = [(2, "+", 1), (3, "-", 1), (3, "+", 2), (4, "-", 2)]
    assert changes(f"{S} SELECT a FROM s [NOW]", s=rows, horizon=9) == expected
    assert changes(f"{S} SELECT a FROM s [RANGE 0 MICROSECONDS]", s=rows, horizon=9) == expected


def test_slide_moves_only_at_multiples() -> None:
    # At 3: [0, 3] has 1 and 2. At 6: [3, 6] has 2 and 3. At 9: [6, 9] has 3. At 12: [9, 12] has none.
    rows = [(1, "x", 1), (2, "x", 3), (3, "x", 6)]
    expected = [(3, "+", 1), (3, "+", 2), (6, "-", 1), (6, "+", 3), (9, "-", 2), (12, "-", 3)]
    text = f"{S} SELECT a FROM s [RANGE 3 MICROSECONDS SLIDE 3 MICROSECONDS]"
    assert changes(text, s=rows, horizon=20) == expected


def test_slide_wider_than_the_range_passes_over_rows() -> None:
    # At 5: [4, 5]. At 10: [9, 10].
    rows = [(1, "x", 3), (2, "x", 4), (3, "x", 9)]
    expected = [(5, "+", 2), (10, "-", 2), (10, "+", 3), (15, "-", 3)]
    text = f"{S} SELECT a FROM s [RANGE 1 MICROSECOND SLIDE 5 MICROSECONDS]"
    assert changes(text, s=rows, horizon=20) == expected


def test_slide_at_zero_holds_the_rows_of_zero() -> None:
    text = f"{S} SELECT a FROM s [RANGE 0 MICROSECONDS SLIDE 4 MICROSECONDS]"
    assert changes(text, s=[(1, "x", 0), (2, "x", 1)], horizon=9) == [(0, "+", 1), (4, "-", 1)]


def test_rows_hold_the_latest() -> None:
    rows = [(1, "x", 1), (2, "x", 2), (3, "x", 5)]
    expected = [(1, "+", 1), (2, "+", 2), (5, "-", 1), (5, "+", 3)]
    assert changes(f"{S} SELECT a FROM s [ROWS 2]", s=rows, horizon=9) == expected


def test_rows_of_equal_time_go_by_arrival() -> None:
    rows = [(1, "x", 4), (2, "x", 4), (3, "x", 4)]
    assert changes(f"{S} SELECT a FROM s [ROWS 2]", s=rows) == [(4, "+", 2), (4, "+", 3)]


def test_rows_go_by_time_before_arrival() -> None:
    rows = [(1, "x", 6), (2, "x", 4)]
    assert changes(f"{S} SELECT a FROM s [ROWS 1]", s=rows) == [(4, "+", 2), (6, "-", 2), (6, "+", 1)]


def test_partitions_have_rows_of_their_own_and_nulls_are_one() -> None:
    rows = [(1, "x", 1), (2, "y", 2), (3, None, 3), (4, "x", 4), (5, None, 5)]
    expected = [
        (1, "+", 1),
        (2, "+", 2),
        (3, "+", 3),
        (4, "-", 1),
        (4, "+", 4),
        (5, "-", 3),
        (5, "+", 5),
    ]
    assert changes(f"{S} SELECT a FROM s [PARTITION BY b ROWS 1]", s=rows) == expected


def test_partition_by_two_columns() -> None:
    rows = [(1, "x", 1), (1, "y", 2), (1, "x", 3)]
    text = f"{S} SELECT b, ts FROM s [PARTITION BY a, b ROWS 1]"
    assert changes(text, s=rows) == [(1, "+", "x", 1), (2, "+", "y", 2), (3, "-", "x", 1), (3, "+", "x", 3)]


def test_each_occurrence_has_its_own_window() -> None:
    # The row of now, with each row of the last two: at 3 they are 1 and 2, at 4 nothing is of now.
    rows = [(1, "x", 1), (2, "x", 3)]
    text = f"{S} SELECT n.a, r.a AS b FROM s [NOW] n, s [ROWS 2] r"
    expected = [(1, "+", 1, 1), (2, "-", 1, 1), (3, "+", 2, 1), (3, "+", 2, 2), (4, "-", 2, 1), (4, "-", 2, 2)]
    assert changes(text, s=rows, horizon=9) == expected


def test_a_table_is_the_same_at_every_instant() -> None:
    ddl = f"{S} CREATE TABLE t (a BIGINT, name STRING);"
    assert changes(f"{ddl} SELECT name FROM t", t=[(1, "one"), (1, "one")], horizon=5) == [(0, "+", "one")] * 2
    joined = f"{ddl} SELECT name FROM s [NOW], t WHERE s.a = t.a"
    rows = [(1, "x", 2), (3, "x", 3)]
    assert changes(joined, s=rows, t=[(1, "one"), (2, "two")]) == [(2, "+", "one"), (3, "-", "one")]


def test_time_column_may_be_a_timestamp_and_stand_anywhere() -> None:
    ddl = "CREATE STREAM s (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts;"
    rows = [(2, 1), (1_000_002, 2)]
    expected = [(2, "+", 1), (1_000_002, "+", 2), (1_000_003, "-", 1)]
    assert changes(f"{ddl} SELECT a FROM s [RANGE 1 SECOND]", s=rows, horizon=1_500_000) == expected
