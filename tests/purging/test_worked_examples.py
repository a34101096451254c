"""The worked examples of thesis chapter 6 and of 000 on the engine: what a join keeps after each row.

Rows that the thesis drops are gone. Of No components only the keys are kept. Rows that the thesis keeps are gone where
they can be in no new result: theorem 6.3.5 holds of each stream that covers the graph, and a row that nobody is left to
refer to goes although no constraint names it.
"""

from __future__ import annotations

import pytest

from penstock.retention import evidence_purge, no_components
from penstock.retention.no_components import NoComponents
from tests.purging.stored import Steps

ALLOWED = " ALLOW UNBOUNDED"


def figure_6_8a(s1: str = "", s3: str = "") -> Steps:
    """S1(A, B) → S2(A, C), S1 → S3(B, D), and D < 8, in the state of the figure."""
    run = Steps(
        f"""
        CREATE STREAM s1 (a BIGINT, b BIGINT, ts BIGINT{s1}) TIMESTAMP BY ts;
        CREATE STREAM s2 (a BIGINT, c BIGINT, ts BIGINT, UNIQUE (a)) TIMESTAMP BY ts;
        CREATE STREAM s3 (b BIGINT, d BIGINT, ts BIGINT, UNIQUE (b){s3}) TIMESTAMP BY ts;
        SELECT s1.a, s1.b, c, d FROM s1, s2, s3 WHERE s1.a = s2.a AND s1.b = s3.b AND d < 8{ALLOWED}
        """
    )
    run.feed("s2", (6, 20), (4, 15))
    return run


def figure_6_8b(window: str = "") -> Steps:
    """S1(A, B) → S2(B, C) → S3(C, D), and D > 10."""
    return Steps(
        f"""
        CREATE STREAM s1 (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;
        CREATE STREAM s2 (b BIGINT, c BIGINT, ts BIGINT, UNIQUE (b)) TIMESTAMP BY ts;
        CREATE STREAM s3 (c BIGINT, d BIGINT, ts BIGINT, UNIQUE (c)) TIMESTAMP BY ts;
        SELECT a, s1.b, s2.c, d FROM s1, s2, s3{window} WHERE s1.b = s2.b AND s2.c = s3.c AND d > 10{ALLOWED}
        """
    )


RIDS = ", FOREIGN KEY (b) REFERENCES s3 (b) WITHIN {} ROWS"
S3 = (5, 3), (7, 9), (10, 12)


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and clusters are looked through in each step, not when there are many."""
    monkeypatch.setattr(no_components, "FEW_KEYS", 0)
    monkeypatch.setattr(no_components, "MORE_KEYS", 0)
    monkeypatch.setattr(evidence_purge, "FEW", 0)


def test_6_3_1_a_row_is_yes_with_all_its_children_and_no_with_one_that_fails() -> None:
    run = figure_6_8a()
    run.feed("s3", *S3)
    assert run.stored("s2") == [(6, 20), (4, 15)]
    assert run.stored("s3") == [(5, 3)]
    assert run.no("s3") == [(7,), (10,)]
    run.feed("s1", (6, 5))
    assert run.results() == [(6, 5, 20, 3)]
    assert run.stored("s1") == []
    run.feed("s1", (8, 10))
    assert run.stored("s1") == []
    assert run.stored("s2") == [(6, 20), (4, 15)]


def test_6_3_2_a_row_becomes_yes_when_the_last_child_comes() -> None:
    run = figure_6_8b()
    run.feed("s2", (2, 4))
    run.feed("s1", (1, 2))
    assert run.stored("s2") == [(2, 4)]
    assert run.stored("s1") == [(1, 2)]
    run.feed("s3", (4, 12))
    assert run.results() == [(1, 2, 4, 12)]
    assert run.stored("s1") == []
    assert run.stored("s2") == [(2, 4)]
    assert run.stored("s3") == [(4, 12)]


def test_6_3_3_no_rows_keep_parents_from_waiting() -> None:
    """Those of S2, too: (3, 6) is in no result, and its parents come later."""
    run = figure_6_8b()
    run.feed("s3", (6, 8))
    assert run.no("s3") == [(6,)]
    run.feed("s2", (3, 6))
    assert run.stored("s2") == []
    assert run.no("s2") == [(3,)]
    run.feed("s1", (1, 3), (2, 3), (5, 3))
    assert run.stored("s1") == []


def test_6_3_3_nor_do_parents_wait_that_came_before() -> None:
    run = figure_6_8b()
    run.feed("s1", (1, 3), (2, 3), (5, 4))
    run.feed("s2", (3, 6), (4, 7))
    assert run.stored("s1") == [(1, 3), (2, 3), (5, 4)]
    run.feed("s3", (6, 8))
    assert run.stored("s1") == [(5, 4)]
    assert run.stored("s2") == [(4, 7)]


def test_6_3_4_results_are_taken_back_when_a_row_leaves_its_window() -> None:
    """The window of one row is one of five instants here: of windows of rows a join keeps all rows."""
    run = figure_6_8b(" [RANGE 5 MICROSECONDS]")
    run.feed("s1", (1, 2))
    run.feed("s2", (2, 4))
    run.feed("s3", (4, 12))
    assert run.results() == [(1, 2, 4, 12)]
    assert run.stored("s1") == [(1, 2)]
    run.feed("s1", *((9, 9) for _ in range(6)))
    assert run.results() == []
    assert run.stored("s3") == []
    assert run.stored("s2") == []
    assert (1, 2) not in run.stored("s1")


@pytest.mark.parametrize(
    ("s1", "s2", "waits"),
    [("", "", 9), (", FOREIGN KEY (a) REFERENCES s2 (a) WITHIN 0 ROWS", "", 0)],
    ids=["many-one", "RIDS(0)"],
)
def test_6_1_5_what_a_many_one_join_keeps_of_the_many(s1: str, s2: str, waits: int) -> None:
    """A row goes once it has joined; with RIDS(0) it never stays."""
    run = pair(s1, s2)
    run.feed("s1", (1,))
    assert run.stored("s1") == ([(1,)] if waits else [])
    run.feed("s2", (2,), (1,))
    assert run.stored("s1") == []
    run.feed("s1", (2,))
    assert run.stored("s1") == []


def pair(s1: str, s2: str) -> Steps:
    return Steps(
        f"""
        CREATE STREAM s1 (a BIGINT, ts BIGINT{s1}) TIMESTAMP BY ts;
        CREATE STREAM s2 (a BIGINT, ts BIGINT, UNIQUE (a){s2}) TIMESTAMP BY ts;
        SELECT s1.a FROM s1, s2 WHERE s1.a = s2.a{ALLOWED}
        """
    )


def test_6_1_5_a_row_is_saved_for_k_rows() -> None:
    run = pair(", FOREIGN KEY (a) REFERENCES s2 (a) WITHIN 2 ROWS", "")
    run.feed("s1", (1,))
    run.feed("s2", (8,))
    assert run.stored("s1") == [(1,)]
    run.feed("s2", (9,))
    assert run.stored("s1") == []


def test_6_1_5_a_row_is_saved_for_k_rows_after_a_greater_value() -> None:
    run = pair("", ", ORDERED BY a WITHIN 2 ROWS")
    run.feed("s1", (5,))
    run.feed("s2", (3,), (7,), (4,))
    assert run.stored("s1") == [(5,)]
    run.feed("s2", (8,))
    assert run.stored("s1") == []


def test_6_6_1_rids_needs_no_no_rows() -> None:
    run = figure_6_8a(RIDS.format(1))
    run.feed("s3", *S3)
    assert run.no("s3") == []
    run.feed("s1", (4, 10))
    assert run.stored("s1") == [(4, 10)]
    run.feed("s3", (11, 1))
    assert run.stored("s1") == []


def test_6_7_1_clusters_that_are_closed_free_their_child() -> None:
    run = figure_6_8a(", CLUSTERED BY b WITHIN 1 ROWS")
    run.feed("s3", *S3)
    run.feed("s1", (6, 5), (8, 8), (4, 5))
    assert run.stored("s3") == [(5, 3)]
    run.feed("s1", (11, 10))
    assert run.results() == [(4, 5, 15, 3), (6, 5, 20, 3)]
    assert run.stored("s1") == [(8, 8)]
    assert run.stored("s3") == []


def test_6_8_1_order_of_the_child_needs_no_no_rows() -> None:
    run = figure_6_8a(s3=", ORDERED BY b WITHIN 2 ROWS")
    run.feed("s3", (7, 9), (5, 3), (10, 12))
    assert run.no("s3") == []
    run.feed("s1", (6, 4))
    assert run.stored("s1") == []
    run.feed("s1", (6, 7))
    assert run.stored("s1") == [(6, 7)], "7 is not below 7"


CA, OAC = ", CLUSTERED BY a WITHIN 0 ROWS", ", ORDERED BY b WITHIN 0 ROWS"


@pytest.mark.parametrize(
    ("s1", "s3", "kept_2", "kept_1"),
    [
        (CA, "", [(6, 20)], [(6, 8), (3, 13)]),
        ("", OAC, [(6, 20), (4, 15)], [(3, 13)]),
        (CA, OAC, [], [(3, 13)]),
    ],
    ids=["CA", "OAC", "both"],
)
def test_6_10_1_together_they_drop_more(
    s1: str, s3: str, kept_2: list[tuple[int, int]], kept_1: list[tuple[int, int]]
) -> None:
    run = figure_6_8a(s1, s3)
    run.feed("s3", *S3)
    run.feed("s1", (4, 5), (6, 8), (3, 13))
    assert run.results() == [(4, 5, 15, 3)]
    assert run.stored("s2") == kept_2
    assert run.stored("s1") == kept_1


def test_6_10_2_together_they_may_keep_rows_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the thesis does it, which keeps no No component where there is RIDS. Here it is kept where that is less."""
    clustered = ", CLUSTERED BY b WITHIN 0 ROWS"
    for rids in ("", RIDS.format(3)):
        run = figure_6_8a(clustered + rids)
        run.feed("s3", *S3)
        assert run.no("s3") == [(7,), (10,)]
        run.feed("s1", (6, 10), (4, 10))
        assert run.stored("s1") == []
        assert run.no("s3") == [(7,), (10,)]
        run.feed("s1", (8, 8))
        assert run.stored("s1") == [(8, 8)]
        assert run.no("s3") == [(7,)], "the cluster of 10 is over"
    monkeypatch.setattr(NoComponents, "_keeps", lambda self, number: False)
    run = figure_6_8a(clustered + RIDS.format(3))
    run.feed("s3", *S3)
    assert run.no("s3") == []
    run.feed("s1", (6, 10), (4, 10), (8, 8))
    assert run.stored("s1") == [(6, 10), (4, 10), (8, 8)]
    run.feed("s3", (20, 1), (21, 1))
    assert run.stored("s1") == [(6, 10), (4, 10), (8, 8)]
    run.feed("s3", (22, 1))
    assert run.stored("s1") == []


def test_b_1_children_that_are_yes_must_also_fit_each_other() -> None:
    run = Steps(
        f"""
        CREATE STREAM s1 (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;
        CREATE STREAM s2 (a BIGINT, c BIGINT, ts BIGINT, UNIQUE (a)) TIMESTAMP BY ts;
        CREATE STREAM s3 (b BIGINT, d BIGINT, ts BIGINT, UNIQUE (b)) TIMESTAMP BY ts;
        CREATE STREAM s4 (e BIGINT, ts BIGINT, UNIQUE (e)) TIMESTAMP BY ts;
        SELECT s1.a, s1.b, e FROM s1, s2, s3, s4
        WHERE s1.a = s2.a AND s1.b = s3.b AND s2.c = s4.e AND s3.d = s4.e{ALLOWED}
        """
    )
    run.feed("s4", (1,), (2,))
    run.feed("s2", (3, 1), (5, 1))
    run.feed("s3", (4, 2), (6, 1))
    run.feed("s1", (3, 4))
    assert run.stored("s1") == []
    assert run.results() == []
    run.feed("s1", (5, 6))
    assert run.results() == [(5, 6, 1)]


def cycle() -> Steps:
    return Steps(
        f"""
        CREATE STREAM s1 (a BIGINT, b BIGINT, ts BIGINT, UNIQUE (a)) TIMESTAMP BY ts;
        CREATE STREAM s2 (b BIGINT, c BIGINT, ts BIGINT, UNIQUE (b)) TIMESTAMP BY ts;
        CREATE STREAM s3 (c BIGINT, a BIGINT, ts BIGINT, UNIQUE (c)) TIMESTAMP BY ts;
        SELECT s1.a, s1.b, s2.c FROM s1, s2, s3 WHERE s1.b = s2.b AND s2.c = s3.c AND s3.a = s1.a{ALLOWED}
        """
    )


def test_c_1_rows_of_a_cycle_become_yes_together_and_are_not_needed_then() -> None:
    """The paper keeps them as Yes; each of them covers the graph, so they are forgotten (theorem 6.3.5)."""
    run = cycle()
    run.feed("s3", (3, 1))
    run.feed("s2", (2, 3))
    assert run.stored("s3") == [(3, 1)]
    assert run.stored("s2") == [(2, 3)]
    run.feed("s1", (1, 2))
    assert run.results() == [(1, 2, 3)]
    assert [run.stored(name) for name in ("s1", "s2", "s3")] == [[], [], []]
    run.feed("s1", (4, 2))
    assert run.stored("s1") == []
    assert run.results() == [(1, 2, 3)]
