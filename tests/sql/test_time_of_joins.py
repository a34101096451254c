"""JOINs without conditions are read in time that grows with their number, not exponentially."""

from __future__ import annotations

import pytest

from penstock import bind_text

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts; "


@pytest.mark.parametrize("count", [30, 100])
def test_many_joins_without_conditions(count: int) -> None:
    joins = " ".join(f"JOIN s a{number}" for number in range(1, count))
    assert len(bind_text(f"{STREAM}SELECT a0.a FROM s a0 {joins}").queries) == 1


def test_a_subquery_between_joins_without_conditions_has_joins_of_its_own() -> None:
    text = "SELECT x.a FROM s x JOIN s y JOIN (SELECT p.a FROM s p JOIN s q ON p.a = q.a) z JOIN s w"
    assert not bind_text(STREAM + text).errors
