"""Punctuations that hold for a while, state by state: they end the wait of rows that leave their windows before."""

from __future__ import annotations

from random import Random

import pytest

from penstock.retention import evidence_purge
from tests.engines.comparing import embedded, expected
from tests.engines.restarting import restarted
from tests.purging.cases import COLUMNS, data_case, join_edges, join_select, punctuated_for
from tests.purging.stored import Steps
from tests.seeds import seeds

DDL = """
CREATE STREAM s (id BIGINT, a BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM t (
  id BIGINT, a BIGINT, closes BIGINT, ts BIGINT, UNIQUE (id),
  PUNCTUATED BY (a) WHEN closes = 1 LIFESPAN 10 MICROSECONDS
) TIMESTAMP BY ts;
"""
SHORT, LONG = "[RANGE 8 MICROSECONDS]", "[RANGE 15 MICROSECONDS]"


def joined(window: str) -> Steps:
    join = f"FROM s {window}, t [RANGE 100 MICROSECONDS] WHERE s.a = t.a"
    return Steps(DDL + f"CREATE QUERY q AS SELECT ISTREAM(s.id AS s, t.id AS t) {join};")


def names(steps: Steps, stream: str) -> list[int]:
    return [row[0] for row in steps.stored(stream)]


def test_it_ends_the_wait_of_a_row_that_leaves_before() -> None:
    steps = joined(SHORT)
    steps.come("s", (1, 7), 1)
    steps.come("s", (2, 8), 2)
    steps.come("t", (1, 7, 1), 3)
    assert steps.results() == [(1, 1)]
    assert names(steps, "s") == [2]
    # It came after the punctuation, at 3, and is there up to 13, as long as that holds.
    steps.come("s", (3, 7), 5)
    assert names(steps, "s") == [2]
    steps.come("s", (4, 7), 6)
    assert names(steps, "s") == [2, 4]


def test_values_come_again_and_join() -> None:
    steps = joined(SHORT)
    steps.come("t", (1, 7, 1), 3)
    steps.come("s", (1, 7), 12)
    assert names(steps, "s") == [1]
    steps.come("t", (2, 7, 0), 14)
    assert sorted(steps.results()) == [(1, 1), (1, 2)]


def test_a_row_that_stays_longer_waits() -> None:
    steps = joined(LONG)
    steps.come("s", (1, 7), 1)
    steps.come("t", (1, 7, 1), 3)
    # It is there up to 16, and from 14 on there may be more.
    assert names(steps, "s") == [1]
    steps.come("t", (2, 7, 0), 15)
    assert sorted(steps.results()) == [(1, 1), (1, 2)]


def test_the_last_punctuation_of_a_value_counts() -> None:
    steps = joined(LONG)
    steps.come("s", (1, 7), 1)
    steps.come("t", (1, 7, 1), 3)
    steps.come("t", (2, 7, 1), 14)
    assert names(steps, "s") == []


@pytest.mark.parametrize("window", [SHORT, LONG])
def test_punctuations_are_forgotten_when_they_are_over(window: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_purge, "FEW", 16)
    steps = joined(window)
    for n in range(100):
        steps.come("t", (n, n, 1), 1 + n)
        assert steps.punctuations() <= 2 * 16


@pytest.mark.parametrize("seed", seeds(30))
def test_the_answer_is_the_reference_s_where_values_come_again(seed: int) -> None:
    random = Random(seed)
    names = ["s0", "s1", "s2"][: random.choice((2, 3))]
    edges = list(join_edges(random, names))
    declared = [punctuated_for(name, (random.choice(COLUMNS),), random.randint(1, 9)) for name in names]
    windows = (" [RANGE 4 SECONDS]", " [RANGE 8 SECONDS]", " [RANGE 12 SECONDS]")
    select = join_select(random, names, edges, windows)
    found = data_case(random, names, declared, select, 60, drift=40)
    want = expected(found.case, found.query, found.catalog)
    for cells, cuts in ((1, 0), (1, random), (3, random)):
        assert embedded(found.case, found.query, found.catalog, cells, cuts) == want, (seed, found.case.script)
    assert restarted(found.case, found.query, found.catalog, 1 + seed % 2, random) == want
