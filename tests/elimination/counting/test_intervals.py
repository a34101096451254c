"""Certified intervals hold the exact count of every bucket, at every instant, however rows come."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from penstock.algebra.bucket_counts import BucketCounts, Counted, TimeBuckets, result_columns
from penstock.algebra.expressions import Column
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Output, Stream, Unbounded
from penstock.operators.groups.bucket_counts import BucketCountsOperator
from penstock.synopsis.deltas import Deltas, whole_rows
from penstock.synopsis.memory import Memory
from penstock.types import BIGINT
from tests.elimination.counting.simulating import Flows, Row, simulated
from tests.seeds import seeds

#: Of a key and a bucket: the count, the ends of its interval, whether it is certain.
Shown = dict[tuple[int, int], tuple[int, int, int, bool]]


def node_of(flows: Flows, emits: bool) -> BucketCounts:
    scans = []
    for number in range(len(flows.streams)):
        scope = f"s{number}"
        ts, key = Column(scope, "ts", BIGINT), Column(scope, "k", BIGINT)
        scans.append(Scan(Stream(scope, scope, (ts, key), ts), Unbounded(), (), (Output(key, key),)))
    read = counted_links(flows)
    counted = [
        Counted(scans[n + 1], flows.delay_from_root(n), flows.antis[n], _place(read, flows.above(n) - 1)) for n in read
    ]
    keys = (Column("g", "k", BIGINT), Column("g", "tb", BIGINT))
    buckets = TimeBuckets(flows.width, flows.shift)
    return BucketCounts(scans[0], tuple(counted), buckets, 1, keys, result_columns("g"), emits)


def read_streams(flows: Flows) -> list[tuple[Row, ...]]:
    return [flows.streams[0], *(flows.streams[n + 1] for n in counted_links(flows))]


def counted_links(flows: Flows) -> list[int]:
    return [*flows.leaves(), *(n for n, anti in enumerate(flows.antis) if anti)]


def _place(read: list[int], link: int) -> int | None:
    return read.index(link) if link in read else None


def steps(flows: Flows, random: Random, emits: bool = False) -> Iterator[tuple[int, Deltas]]:
    """What the operator gives, in steps of random lengths; it is restored from its memory between some of them."""
    memory, node = Memory(), node_of(flows, emits)
    operator = BucketCountsOperator(memory.scope("o"), node)
    rows, pages = read_streams(flows), dict[str, bytes]()
    end = max((ts for each in rows for ts, _, _ in each), default=0) + 3 * flows.width
    until = 0
    while until <= end:
        before, until = until, until + random.choice((1, 3, flows.width, 10 * flows.width))
        inputs = [_deltas([row for row in each if before <= row[0] < until]) for each in rows]
        for block in operator.step(inputs, until):
            yield until, block
        if random.random() < 0.2:
            pages |= dict(memory.changes())
            memory = Memory()
            memory.restore(pages)
            operator = BucketCountsOperator(memory.scope("o"), node)


def _deltas(rows: list[Row]) -> Deltas:
    ts = np.array([row[0] for row in rows], np.int64)
    keys = np.array([[row[2]] for row in rows], np.int64).reshape(-1, 1)
    return Deltas(ts, np.ones(len(rows), np.int64), whole_rows(keys))


def _apply(shown: Shown, block: Deltas, instant: int) -> None:
    for ts, weight, row in zip(block.ts.tolist(), block.weight.tolist(), block.rows.tolist(), strict=True):
        key, bucket, count, low, high, certain, _ = row
        assert ts < instant
        if weight < 0:
            assert shown.pop((key, bucket)) == (count, low, high, bool(certain))
        else:
            assert (key, bucket) not in shown
            shown[key, bucket] = count, low, high, bool(certain)


def check(flows: Flows, shown: Shown, until: int | None) -> tuple[int, int]:
    """Every interval holds the exact count; gives how many there are, and the sum of their widths."""
    exact = flows.exact(until)
    assert exact.keys() <= shown.keys()
    for place, (count, low, high, certain) in shown.items():
        assert certain, place
        assert low <= count <= high
        assert low <= exact[place] <= high, (place, low, exact[place], high)
    return len(shown), sum(high - low for _, low, high, _ in shown.values())


@pytest.mark.parametrize("seed", seeds(150))
def test_intervals_hold_the_exact_count_at_every_instant(seed: int) -> None:
    random = Random(seed)
    flows = simulated(random, links=random.randint(1, 3), keys=random.randint(1, 3), size=60, branches=seed % 2 == 1)
    shown: Shown = {}
    for until, block in steps(flows, random):
        _apply(shown, block, until)
        check(flows, shown, until - 1)
    check(flows, shown, None)


@pytest.mark.parametrize("seed", seeds(30))
def test_thousands_of_buckets(seed: int) -> None:
    random = Random(seed)
    flows = simulated(random, links=random.randint(1, 3), size=3000, branches=seed % 2 == 1)
    shown: Shown = {}
    for until, block in steps(flows, random, emits=True):
        _apply(shown, block, until)
    check(flows, shown, None)


@pytest.mark.slow
def test_a_hundred_thousand_buckets() -> None:
    buckets = width = rate = 0
    seed = 0
    while buckets < 100_000:
        random = Random(seed)
        flows = simulated(random, links=random.randint(1, 3), size=5000, branches=seed % 2 == 1)
        shown: Shown = {}
        for until, block in steps(flows, random, emits=True):
            _apply(shown, block, until)
        found, total = check(flows, shown, None)
        buckets, width, seed = buckets + found, width + total, seed + 1
        span = flows.streams[0][-1][0] + 1
        rate += found * sum(flows.delays) * len(flows.streams[0]) // span
    print(f"{buckets} buckets, mean width {width / buckets:.2f}, rows within the delays {rate / buckets:.2f}")


@pytest.mark.parametrize("seed", seeds(40))
def test_what_is_emitted_on_close_is_what_the_change_log_ends_with(seed: int) -> None:
    random = Random(seed)
    flows = simulated(random, links=random.randint(1, 3), keys=2, size=80)
    logged: Shown = {}
    emitted: Shown = {}
    for until, block in steps(flows, random):
        _apply(logged, block, until)
    for until, block in steps(flows, random, emits=True):
        _apply(emitted, block, until)
    assert emitted == logged
