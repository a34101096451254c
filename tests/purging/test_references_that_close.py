"""RIDS in rows closes what is referred to: for rows that wait beside computed inputs, and for groups."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

import penstock
from tests.engines.comparing import Log, bound, embedded
from tests.generators import Case
from tests.seeds import seeds

DDL = """
CREATE STREAM item (id BIGINT NOT NULL, x BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM bid (
  id BIGINT NOT NULL, ends BIGINT, ts BIGINT,
  FOREIGN KEY (id) REFERENCES item (id) WITHIN {k} ROWS, PUNCTUATED BY (id) WHEN ends = 1
) TIMESTAMP BY ts;
"""
SELECT = "SELECT b.id, COUNT(*) AS n FROM item i, bid b WHERE i.id = b.id GROUP BY b.id EMIT ON CLOSE"
Rows = list[tuple[int, int, int]]


def _data(random: Random, k: int) -> tuple[Rows, Rows]:
    """Items, each within k of all bids for it, and bids, none of which comes after its punctuation."""
    items, bids, ts = Rows(), Rows(), 0
    before = dict[int, int]()
    for number in range(60):
        ts += random.choice((0, 1, 1, 2))
        id_ = max(0, number // 6 + random.randint(-1, 1))
        if random.random() < 0.6:
            if len(items) + 1 - before.get(id_, len(items)) <= k:
                items.append((id_, random.randint(0, 9), ts))
        elif all(other != id_ or not ends for other, ends, _ in bids):
            before.setdefault(id_, len(items))
            bids.append((id_, int(random.random() < 0.3), ts))
    return items, bids


def closings(items: Rows, bids: Rows, k: int) -> Log:
    """By the definition: an id is closed when k items have come after its punctuation; it shows if it has a group."""
    found: Log = Counter()
    for id_ in {id_ for id_, _, _ in bids}:
        punctuated = min((ts for i, ends, ts in bids if i == id_ and ends), default=None)
        if punctuated is None:
            continue
        later = [ts for _, _, ts in items if ts > punctuated]
        if len(later) < k:
            continue
        closed = later[k - 1]
        matched = sum(i == id_ and ts <= closed for i, _, ts in items)
        count = matched * sum(i == id_ and ts <= punctuated for i, _, ts in bids)
        if count:
            found[closed, "+", id_, count] += 1
    return found


@pytest.mark.parametrize("seed", seeds(20))
def test_groups_show_so_many_rows_after_their_punctuation(seed: int) -> None:
    random = Random(seed)
    k = random.randint(1, 4)
    items, bids = _data(random, k)
    case = Case(DDL.format(k=k), SELECT, {"item": items, "bid": bids}, None, "")
    query, catalog = bound(case)
    want = closings(items, bids, k)
    for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
        assert embedded(case, query, catalog, cells, cuts) == want, (seed, cells, k, items, bids)


def test_it_is_safe() -> None:
    (verdict,) = penstock.check(DDL.format(k=5) + SELECT)
    assert verdict.safe, str(verdict)


def test_an_item_after_its_time_is_rejected_and_counted() -> None:
    """Beside a computed side: bid 1 waits for two items, and the third is the one that it refers to."""
    counted = "SELECT id, COUNT(*) AS n FROM item [RANGE 9 MICROSECONDS] GROUP BY id"
    select = f"SELECT t.id FROM ({counted}) t, bid b WHERE t.id = b.id"
    rows = {"item": [(5, 0, 2), (6, 0, 3), (1, 0, 4)], "bid": [(1, 0, 1)]}
    case = Case(DDL.format(k=2), f"{select} ALLOW UNBOUNDED", rows, None, "")
    query, catalog = bound(case)
    assert not embedded(case, query, catalog, 1, 0)
    in_time = Case(DDL.format(k=3), f"{select} ALLOW UNBOUNDED", rows, None, "")
    query, catalog = bound(in_time)
    assert embedded(in_time, query, catalog, 1, 0)[4, "+", 1] == 1
