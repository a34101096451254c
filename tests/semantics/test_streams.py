"""How a relation becomes output: as a change log, or as a stream by ISTREAM, DSTREAM or RSTREAM."""

from __future__ import annotations

import pytest

from penstock.catalog import StreamDef
from tests.reference.interpreter import late_rows, run
from tests.semantics.examples import bound, changes

S = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts DELAY 2 MICROSECONDS;"
ROWS = [(1, 2), (2, 2), (1, 4)]


def test_the_count_of_nothing_is_zero_at_zero() -> None:
    assert changes(f"{S} SELECT COUNT(*) FROM s", s=[]) == [(0, "+", 0)]


def test_a_count_replaces_the_one_before() -> None:
    expected = [(0, "+", 0), (2, "-", 0), (2, "+", 2), (4, "-", 2), (4, "+", 3)]
    assert changes(f"{S} SELECT COUNT(*) FROM s", s=ROWS) == expected


def test_a_row_at_zero_is_counted_at_once() -> None:
    assert changes(f"{S} SELECT COUNT(*) FROM s", s=[(7, 0)]) == [(0, "+", 1)]


def test_what_is_deleted_and_inserted_at_one_instant_does_not_show() -> None:
    # At 3 the row of 2 leaves and an equal one enters.
    rows = [(1, 2), (1, 3), (2, 3)]
    assert changes(f"{S} SELECT a FROM s [NOW]", s=rows) == [(2, "+", 1), (3, "+", 2)]


def test_change_log_is_of_bags() -> None:
    rows = [(1, 2), (1, 2), (1, 3)]
    assert changes(f"{S} SELECT a FROM s [NOW]", s=rows) == [(2, "+", 1), (2, "+", 1), (3, "-", 1)]


def test_istream_gives_insertions_only() -> None:
    text = f"{S} SELECT ISTREAM(a) FROM s [RANGE 1 MICROSECOND]"
    # At 4 the first row leaves and an equal one enters.
    assert changes(text, s=ROWS, horizon=9) == [(2, "+", 1), (2, "+", 2)]


def test_dstream_gives_deletions_as_insertions_into_a_stream() -> None:
    text = f"{S} SELECT DSTREAM(a) FROM s [RANGE 1 MICROSECOND]"
    assert changes(text, s=ROWS, horizon=9) == [(4, "+", 2), (6, "+", 1)]


def test_rstream_gives_all_when_something_arrives_or_changes() -> None:
    # At 2 two rows arrive, at 4 they leave and one enters, at 6 it leaves and nothing is there to give.
    text = f"{S} SELECT RSTREAM(a) FROM s [RANGE 1 MICROSECOND]"
    assert changes(text, s=ROWS, horizon=9) == [(2, "+", 1), (2, "+", 2), (4, "+", 1)]


def test_rstream_repeats_itself_when_a_row_arrives_that_changes_nothing() -> None:
    text = f"{S} SELECT RSTREAM(a) FROM s WHERE a = 1"
    assert changes(text, s=[(1, 1), (5, 3), (1, 4)]) == [(1, "+", 1), (3, "+", 1), (4, "+", 1), (4, "+", 1)]


def test_rstream_of_a_count_starts_with_zero() -> None:
    assert changes(f"{S} SELECT RSTREAM(COUNT(*)) FROM s", s=[(1, 3), (2, 5)]) == [
        (0, "+", 0),
        (3, "+", 1),
        (5, "+", 2),
    ]


def test_rstream_passes_over_late_rows() -> None:
    # The row of 1 is late behind the one of 5: nothing happens at 1.
    assert changes(f"{S} SELECT RSTREAM(a) FROM s", s=[(1, 5), (2, 1)]) == [(5, "+", 1)]


def test_istream_of_a_star_and_of_distinct() -> None:
    assert changes(f"{S} SELECT ISTREAM * FROM s [NOW]", s=ROWS) == [(2, "+", 1, 2), (2, "+", 2, 2), (4, "+", 1, 4)]
    assert changes(f"{S} SELECT ISTREAM(DISTINCT a) FROM s", s=ROWS) == [(2, "+", 1), (2, "+", 2)]


def test_late_rows_are_left_out_and_counted() -> None:
    query, catalog = bound(f"{S} SELECT a FROM s")
    rows = [(1, 5), (2, 3), (3, 2), (4, 8), (5, 6), (6, 5)]
    stream = catalog.get("s")
    assert isinstance(stream, StreamDef)
    assert late_rows(stream, rows) == 2
    assert [(change.ts, change.row) for change in run(query, catalog, {"s": rows})] == [
        (3, (2,)),
        (5, (1,)),
        (6, (5,)),
        (8, (4,)),
    ]


def test_rows_beyond_the_horizon_do_not_exist_and_make_none_late() -> None:
    rows = [(1, 50), (2, 3)]
    assert changes(f"{S} SELECT a FROM s", s=rows) == [(50, "+", 1)]
    assert changes(f"{S} SELECT a FROM s", s=rows, horizon=10) == [(3, "+", 2)]


def test_the_horizon_is_the_largest_timestamp_of_the_streams_that_are_read() -> None:
    ddl = f"{S} CREATE STREAM other (a BIGINT, ts BIGINT) TIMESTAMP BY ts;"
    assert changes(f"{ddl} SELECT a FROM s [NOW]", s=[(1, 2)], other=[(1, 99)]) == [(2, "+", 1)]
    both = f"{ddl} SELECT s.a FROM s [NOW] LEFT ANTI JOIN other ON s.a > other.a"
    assert changes(both, s=[(1, 2)], other=[(1, 99)]) == [(2, "+", 1), (3, "-", 1)]


@pytest.mark.parametrize("ts", [None, -1])
def test_a_row_has_a_time_from_zero_on(ts: int | None) -> None:
    with pytest.raises(ValueError, match="0 or later"):
        changes(f"{S} SELECT a FROM s", s=[(1, ts)])
