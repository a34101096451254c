"""A row is looked at as soon as one of the things that it waits for has happened."""

from __future__ import annotations

from tests.purging.stored import Steps

DDL = """
CREATE STREAM s1 (a BIGINT, b BIGINT, ts BIGINT,
  FOREIGN KEY (a) REFERENCES s2 (a) WITHIN {} ROWS, FOREIGN KEY (b) REFERENCES s3 (b) WITHIN {} ROWS) TIMESTAMP BY ts;
CREATE STREAM s2 (a BIGINT, ts BIGINT, UNIQUE (a)) TIMESTAMP BY ts;
CREATE STREAM s3 (b BIGINT, ts BIGINT, UNIQUE (b)) TIMESTAMP BY ts;
"""
WINDOWS = (
    "SELECT s1.a FROM s1 [RANGE 1 SECOND], s2 [RANGE 1 SECOND], s3 [RANGE 1 SECOND] WHERE s1.a = s2.a AND s1.b = s3.b"
)


def test_rids_ends_before_the_window_does() -> None:
    run = Steps(DDL.format(1, 1) + WINDOWS)
    run.feed("s1", (1, 1))
    assert run.stored("s1") == [(1, 1)]
    run.feed("s2", (7,))
    assert run.stored("s1") == []


def test_whichever_stream_s_rows_come_first() -> None:
    """The wait for s2 lasts for five rows, the one for s3 for two."""
    run = Steps(DDL.format(5, 2) + WINDOWS)
    run.feed("s1", (1, 1))
    run.feed("s2", (7,))
    run.feed("s3", (7,))
    assert run.stored("s1") == [(1, 1)]
    run.feed("s3", (8,))
    assert run.stored("s1") == []
