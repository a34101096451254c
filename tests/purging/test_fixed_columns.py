"""Punctuations of several columns, some of which a query fixes: those of the others are enough."""

from __future__ import annotations

from random import Random

import pytest

from penstock import check
from tests.engines.comparing import bound, embedded, expected
from tests.engines.restarting import restarted
from tests.generators import Case
from tests.purging.stepping import most_kept
from tests.seeds import seeds

DDL = """
CREATE STREAM done (region STRING, id BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM ordered (region STRING, id BIGINT, n BIGINT, closes INT, ts BIGINT,
    PUNCTUATED BY (region, id) WHEN closes = 1) TIMESTAMP BY ts;
CREATE STREAM shipped (region STRING, id BIGINT, n BIGINT, closes INT, ts BIGINT,
    PUNCTUATED BY (id, region) FROM done (id, region)) TIMESTAMP BY ts;
"""
QUERIES = (
    "SELECT o.n, s.n FROM ordered o, shipped s WHERE o.id = s.id AND o.region = 'eu' AND s.region = 'eu'",
    "SELECT o.id FROM ordered o WHERE o.region = 'eu' AND NOT EXISTS "
    "(SELECT * FROM shipped s WHERE s.id = o.id AND s.region = 'eu')",
    "SELECT id, SUM(n) AS total FROM ordered WHERE region = 'eu' GROUP BY id",
    "SELECT id, region, SUM(n) AS total FROM ordered WHERE region = 'eu' GROUP BY id, region EMIT ON CLOSE",
    "SELECT id, SUM(n) AS total FROM ordered WHERE region = 'eu' AND n < 5 GROUP BY id EMIT ON CLOSE",
    "SELECT o.id, COUNT(*) AS n FROM ordered o, shipped s WHERE o.id = s.id AND o.region = 'eu' AND s.region = 'us' "
    "GROUP BY o.id EMIT ON CLOSE",
    "SELECT DISTINCT id FROM shipped WHERE region = 'us'",
    "SELECT id FROM ordered WHERE region = 'eu' EXCEPT SELECT id FROM shipped WHERE region = 'eu'",
)


def _data(random: Random, values: int) -> dict[str, list[tuple[object, ...]]]:
    """Each value comes for twelve instants, and is closed at different ones in each region."""
    ordered, shipped, done = [], [], []
    for i in range(values):
        for at, region in enumerate(("eu", "us")):
            for rows in (ordered, shipped):
                rows += [(region, i, random.randint(0, 9), 0, 5 * i + random.randint(0, 9)) for _ in range(2)]
            ordered.append((region, i, 0, 1, 5 * i + 10 + at))
            done.append((region, i, 5 * i + 11 - at))
    in_order = {"ordered": ordered, "shipped": shipped, "done": done}
    return {name: sorted(rows, key=lambda row: row[-1]) for name, rows in in_order.items()}


@pytest.mark.parametrize("select", QUERIES)
def test_what_is_kept_is_what_is_open(select: str) -> None:
    case = Case(DDL, select, _data(Random(1), 200), None, "")
    query, catalog = bound(case)
    (verdict,) = check(case.script)
    assert verdict.safe
    assert not verdict.warnings
    most, log = most_kept(case, 20)
    assert most <= 40
    assert log == embedded(case, query, catalog, 2, 0)


@pytest.mark.parametrize("seed", seeds(8))
def test_the_answer_is_the_reference_s(seed: int) -> None:
    case = Case(DDL, QUERIES[seed % len(QUERIES)], _data(Random(seed), 6), None, "")
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed))):
        assert embedded(case, query, catalog, cells, cuts) == want
    assert restarted(case, query, catalog, 1, Random(seed)) == want


@pytest.mark.parametrize("select", QUERIES)
def test_a_row_that_is_ruled_out_is_left_out(select: str) -> None:
    data = _data(Random(5), 6)
    broken = {
        name: sorted(
            [*rows, *([(r, 1, 3, 0, 28) for r in ("eu", "us")] if name != "done" else [])], key=lambda r: r[-1]
        )
        for name, rows in data.items()
    }
    case, dirty = (Case(DDL, select, rows, None, "") for rows in (data, broken))
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    for cells, cuts in ((1, 0), (1, 1), (2, 3)):
        assert embedded(dirty, query, catalog, cells, cuts) == want
