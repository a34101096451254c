"""Rows of windows that count, or slide, go before they leave, state by state; and results are those of the reference.

Where rows of `[ROWS n]` are forgotten, the others still leave at the same row; where those of a window that slides are,
rows that have come and not entered still enter.
"""

from __future__ import annotations

import pytest

from tests.purging.stored import Steps

DDL = """
CREATE STREAM closed (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM s (id BIGINT, a BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM t (id BIGINT, a BIGINT, ts BIGINT, UNIQUE (id), PUNCTUATED BY (a) FROM closed (a)) TIMESTAMP BY ts;
"""
OUTPUTS = ("{}", "DSTREAM({})", "RSTREAM({})", "ISTREAM({})")


def steps_of(windows: str, output: str = "{}", ddl: str = DDL) -> Steps:
    listed = output.format("s.id AS s, t.id AS t")
    return Steps(f"{ddl}CREATE QUERY q AS SELECT {listed} FROM {windows} WHERE s.a = t.a ALLOW UNBOUNDED;")


def names(steps: Steps, stream: str) -> list[int]:
    return [row[0] for row in steps.stored(stream)]


@pytest.mark.parametrize("output", OUTPUTS)
def test_rows_of_a_window_of_rows_go_when_nothing_can_join_them(output: str) -> None:
    steps = steps_of("s [ROWS 4], t [ROWS 2]", output)
    takes_back = "ISTREAM" not in output
    steps.feed("s", (1, 10), (2, 11))
    steps.feed("closed", (10,))
    assert names(steps, "s") == [2]
    steps.feed("t", (1, 11))
    steps.feed("closed", (11,))
    # A result that will be taken back keeps its rows.
    assert names(steps, "s") == ([2] if takes_back else [])
    # The first row would leave with the fifth, the second leaves with the sixth, whatever was forgotten between.
    steps.feed("s", (3, 12))
    steps.feed("closed", (12,))
    steps.feed("s", (4, 13), (5, 14))
    assert steps.log == steps.expected()
    assert names(steps, "s") == ([2, 4, 5] if takes_back else [4, 5])
    steps.feed("s", (6, 15))
    assert names(steps, "s") == [4, 5, 6]
    assert steps.log == steps.expected()
    assert sum(steps.log.values()) == {"{}": 2, "DSTREAM({})": 1, "RSTREAM({})": 4, "ISTREAM({})": 1}[output]


def test_a_row_goes_when_what_it_has_found_is_pushed_out() -> None:
    """Nobody knows when that happens, so those that join the row that leaves are told."""
    steps = steps_of("s [ROWS 9], t [ROWS 2]")
    steps.feed("s", (1, 10))
    steps.feed("t", (1, 10))
    steps.feed("closed", (10,))
    steps.feed("t", (2, 20))
    assert names(steps, "s") == [1]
    steps.feed("t", (3, 20))
    assert names(steps, "s") == []
    assert steps.results() == []
    assert steps.log == steps.expected()


@pytest.mark.parametrize("output", OUTPUTS)
def test_rows_of_a_window_that_slides_go_once_they_have_entered(output: str) -> None:
    """It moves every four instants. A row of ten instants before is still there."""
    steps = steps_of("s [RANGE 10 MICROSECONDS SLIDE 4 MICROSECONDS], t", output)
    takes_back = "ISTREAM" not in output
    steps.come("t", (1, 10), 1)
    steps.come("s", (1, 10), 2)
    steps.come("closed", (10,), 3)
    # Nothing more can join it, but it has not met yet what it joins.
    assert (names(steps, "s"), steps.waiting("s")) == ([], 1)
    steps.come("s", (2, 11), 4)
    assert (names(steps, "s"), steps.waiting("s")) == (([1, 2] if takes_back else [2]), 0)
    steps.come("s", (3, 12), 5)
    steps.come("closed", (11,), 6)
    # The second goes, and the third still enters.
    assert (names(steps, "s"), steps.waiting("s")) == (([1] if takes_back else []), 1)
    steps.come("t", (2, 12), 7)
    steps.come("closed", (12,), 8)
    assert (names(steps, "s"), steps.waiting("s")) == (([1, 3] if takes_back else []), 0)
    assert steps.log == steps.expected()
    for now in (13, 16, 17):
        steps.come("closed", (99,), now)
        assert names(steps, "s") == ([] if not takes_back or now > 15 else [1, 3])
        assert steps.log == steps.expected()


def test_a_range_of_times_ends_the_wait_of_rows_that_enter_late() -> None:
    """A row of t is at most two instants after one of s, and enters its window by then, or up to three later."""
    ddl = DDL.replace(", PUNCTUATED BY (a) FROM closed (a)", "")
    windows = "s [RANGE 90 MICROSECONDS SLIDE 5 MICROSECONDS], t [RANGE 90 MICROSECONDS SLIDE 4 MICROSECONDS]"
    text = f"SELECT s.id AS s, t.id AS t FROM {windows} WHERE s.a = t.a AND t.ts <= s.ts + 2"
    steps = Steps(f"{ddl}CREATE QUERY q AS {text};")
    steps.come("s", (1, 10), 10)
    steps.come("s", (2, 11), 11)
    steps.come("t", (1, 11), 13)
    steps.come("t", (2, 99), 14)
    assert (names(steps, "s"), steps.waiting("s")) == ([1], 1)
    steps.come("t", (3, 99), 15)
    assert (names(steps, "s"), steps.results()) == ([2], [])
    steps.come("t", (4, 99), 16)
    assert (names(steps, "s"), steps.results()) == ([2], [(2, 1)])
    assert steps.log == steps.expected()


@pytest.mark.parametrize("window", ["[ROWS 9]", "[RANGE 900 MICROSECONDS SLIDE 2 MICROSECONDS]"])
@pytest.mark.parametrize(
    ("of_s", "of_t"),
    [
        (", FOREIGN KEY (a) REFERENCES t (a) WITHIN 1 ROWS", ", UNIQUE (a)"),
        (", FOREIGN KEY (a) REFERENCES t (a) WITHIN 3 MICROSECONDS", ", UNIQUE (a)"),
        ("", ", CLUSTERED BY a WITHIN 1 ROWS"),
        ("", ", ORDERED BY a WITHIN 1 ROWS"),
    ],
    ids=["RIDS", "RIDS in time", "CA", "OA"],
)
def test_each_constraint_lets_them_go(window: str, of_s: str, of_t: str) -> None:
    """After the first row of t come three others. Then none can come that joins the first row of s."""
    ddl = f"""
    CREATE STREAM s (id BIGINT, a BIGINT, ts BIGINT, UNIQUE (id){of_s}) TIMESTAMP BY ts;
    CREATE STREAM t (id BIGINT, a BIGINT, ts BIGINT, UNIQUE (id){of_t}) TIMESTAMP BY ts;
    """
    steps = steps_of(f"s {window}, t [ROWS 1]", ddl=ddl)
    steps.come("t", (1, 10), 1)
    steps.come("s", (1, 10), 2)
    for number in range(3):
        steps.come("t", (2 + number, 20 + number), 4 + 2 * number)
    steps.come("s", (2, 99), 10)
    assert names(steps, "s") == [2]
    assert steps.log == steps.expected()


def test_a_row_that_is_not_admitted_to_a_window_of_rows_counts() -> None:
    """A row that joins nothing when it comes, and never will, is not stored, and pushes out another all the same."""
    ddl = DDL.replace(", PUNCTUATED BY (a) FROM closed (a)", "")
    text = "SELECT s.id AS s, t.id AS t FROM s [ROWS 2], t WHERE s.a = t.a AND t.ts <= s.ts"
    steps = Steps(f"{ddl}CREATE QUERY q AS {text} ALLOW UNBOUNDED;")
    steps.feed("t", (1, 10))
    steps.feed("s", (1, 10), (2, 11), (3, 12))
    assert names(steps, "s") == []
    assert steps.results() == []
    assert steps.log == steps.expected()
