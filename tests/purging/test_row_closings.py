"""Groups end by CLUSTERED BY and ORDERED BY: no answer changes, they show when they close, late rows are rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

import penstock
from penstock.algebra.relations import walk_relations
from penstock.algebra.rewrites import normalise
from penstock.closing.group_closers import GroupEnding
from penstock.plan.planner import plan
from tests.engines.comparing import Log, bound, embedded, expected
from tests.engines.restarting import restarted
from tests.generators import Case
from tests.purging.cases import Declared, Purging, clustered, data_case, ordered
from tests.seeds import seeds

SELECTS = (
    "SELECT a, COUNT(*) AS n, MAX(b) AS most FROM s0 GROUP BY a",
    "SELECT a, b, COUNT(*) AS n FROM s0 WHERE closes = 0 GROUP BY a, b",
    "SELECT a, COUNT(DISTINCT b) AS n FROM s0 GROUP BY a",
    "SELECT DISTINCT a, b FROM s0",
)


def _declared(random: Random) -> Iterator[Declared]:
    in_time = random.random() < 0.4
    if random.random() < 0.5:
        yield clustered("s0", random.choice((("a",), ("a",), ("a", "b"))), random.randint(0, 4), in_time)
    else:
        yield ordered("s0", "a", random.randint(0, 4), in_time)
    if random.random() < 0.3:
        yield clustered("s0", ("b",), random.randint(0, 4), False)


def counted_case(seed: int) -> Purging:
    random = Random(seed)
    while True:
        select = f"{random.choice(SELECTS)} ALLOW UNBOUNDED"
        found = data_case(random, ["s0"], list(_declared(random)), select, 60)
        root = plan(normalise(found.query), 1, found.catalog).last.root
        if any(isinstance(node, GroupEnding) for node in walk_relations(root)):
            return found


@pytest.mark.parametrize("seed", seeds(24))
def test_the_answer_is_the_reference_s(seed: int) -> None:
    found = counted_case(seed)
    want = expected(found.case, found.query, found.catalog)
    for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
        got = embedded(found.case, found.query, found.catalog, cells, cuts)
        assert got == want, (seed, cells, found.case.script, found.case.data)
    assert restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed)) == want


DDL = "CREATE STREAM s (a BIGINT NOT NULL, ts BIGINT, {}) TIMESTAMP BY ts;"
Rows = list[tuple[int, int]]


def clusters_of(rows: Rows, k: int) -> tuple[Log, int]:
    """By the definition: the groups of a with the instants at which they close, and how many rows are rejected."""
    closed: Log = Counter()
    members: dict[int, list[int]] = {}
    done: dict[int, int] = {}
    rejected = 0
    for place, (a, ts) in enumerate(rows):
        if a in done and done[a] < ts:
            rejected += 1
        else:
            members.setdefault(a, []).append(place)
        up_to = place + 1 == len(rows) or rows[place + 1][1] > ts
        for value, own in members.items() if up_to else ():
            first = rows[own[0]][1]
            after = sum(1 for b, at in rows[: place + 1] if at > first and b != value)
            if value not in done and after > k:
                done[value] = ts
                closed[ts, "+", value, len(own)] += 1
    return closed, rejected


def passed_of(rows: Rows, k: int) -> tuple[Log, int]:
    """The same for an order."""
    closed: Log = Counter()
    members: Counter[int] = Counter()
    done: dict[int, int] = {}
    passed = rejected = -1
    rejected = 0
    for place, (a, ts) in enumerate(rows):
        if a < passed:
            rejected += 1
        else:
            members[a] += 1
        if place + 1 < len(rows) and rows[place + 1][1] == ts:
            continue
        count = place + 1
        ranks = [(sum(1 for _, at in rows if at <= own), value) for value, own in rows[:count]]
        passed = max([passed, *(value for rank, value in ranks if rank + k <= count)])
        for value, number in members.items():
            if value not in done and value < passed:
                done[value] = ts
                closed[ts, "+", value, number] += 1
    return closed, rejected


@pytest.mark.parametrize("seed", seeds(20))
@pytest.mark.parametrize("is_order", [False, True])
def test_groups_show_when_they_close_and_rows_that_come_later_are_rejected(seed: int, is_order: bool) -> None:
    random = Random(seed)
    k, ts, rows = random.randint(0, 3), 0, []
    for number in range(30):
        ts += random.choice((0, 1, 1, 2))
        rows.append((max(0, number // 4 + random.randint(-1, 1)), ts))
    constraint = f"ORDERED BY a WITHIN {k} ROWS" if is_order else f"CLUSTERED BY a WITHIN {k} ROWS"
    select = "SELECT a, COUNT(*) AS n FROM s GROUP BY a EMIT ON CLOSE"
    case = Case(DDL.format(constraint), select, {"s": rows}, None, "")
    assert penstock.check(case.script)[0].safe
    want, _ = (passed_of if is_order else clusters_of)(rows, k)
    for cells, cuts in ((1, 0), (1, random), (3, random)):
        assert embedded(case, *bound(case), cells, cuts) == want, (k, rows)
