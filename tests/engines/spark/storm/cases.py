"""Queries for the storm, over rows that a seed makes: many small files, so many micro-batches, and a fault in each."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from penstock.plan.forgetting import EAGER, Forgetting
from tests.engines.spark.examples import DDL, QUERIES
from tests.generators import Case

#: Rows of a file. Spark reads a file of each stream in a micro-batch.
ROWS_PER_FILE = 4

_REFERRING = """
CREATE STREAM item (id STRING, name STRING, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM bid (auction STRING, price BIGINT, ts BIGINT,
    FOREIGN KEY (auction) REFERENCES item (id) WITHIN 0 ROWS{then}) TIMESTAMP BY ts;
"""
_JOINED = "SELECT i.name, b.price FROM item i, bid b WHERE i.id = b.auction ALLOW UNBOUNDED"
_COUNTED = "SELECT kind, auction, COUNT(*) AS bids, SUM(price) AS total FROM bid GROUP BY kind, auction ALLOW UNBOUNDED"


@dataclass(frozen=True)
class Stormy:
    """A case, and how it is run."""

    case: Case
    forgetting: Forgetting = EAGER


def stormy(name: str, seed: int, files: int) -> Stormy:
    """The query of that name, with rows that make so many micro-batches."""
    random = Random(f"{name} {seed}")
    rows = files * ROWS_PER_FILE
    if name == "spill":
        return Stormy(_case(_REFERRING.format(then=""), _JOINED, _late_items(random, rows)), Forgetting(spill=True))
    if name == "violation error":
        return Stormy(_case(_REFERRING.format(then=" ON VIOLATION ERROR"), _JOINED, _items_first(random, rows)))
    query = _COUNTED if name == "counts" else QUERIES[name]
    return Stormy(_case(DDL, query, _bids_and_items(random, rows)))


def _case(ddl: str, query: str, data: dict[str, list[tuple[object, ...]]]) -> Case:
    return Case(ddl, query, data, None, "")


def _bids_and_items(random: Random, rows: int) -> dict[str, list[tuple[object, ...]]]:
    """Bids are out of order within their delay, and one in twenty is later than that."""
    bids: list[tuple[object, ...]] = []
    for i in range(rows):
        ts = max(0, i - (random.randint(3, 9) if random.random() < 0.05 else random.randint(0, 2)))
        bids.append((random.randrange(5), random.randrange(40), random.choice(["a", "b", "c", None]), ts))
    items = [(random.randrange(5), random.choice("vwxyz"), i) for i in range(rows)]
    labels = [(i, f"label {i}") for i in range(4)]
    return {"bid": bids, "item": list(items), "category": list(labels)}


def _late_items(random: Random, rows: int) -> dict[str, list[tuple[object, ...]]]:
    """Items come long after their bids, which have been spilled by then; some never come."""
    bids = [(f"item {i // 2}", random.randrange(40), 5 * i + 1) for i in range(rows)]
    items = [(f"item {i}", f"name {i}", 10 * i + 10 * random.randint(8, 12)) for i in range(rows // 2)]
    kept = sorted((item for item in items if random.random() < 0.8), key=lambda item: item[2])
    return {"item": list(kept), "bid": list(bids)}


def _items_first(random: Random, rows: int) -> dict[str, list[tuple[object, ...]]]:
    """Each bid comes after its item."""
    items = [(f"item {i}", f"name {i}", 10 * i) for i in range(rows)]
    bids = [(f"item {random.randint(max(0, i - 3), i)}", random.randrange(40), 10 * i + 5) for i in range(rows)]
    return {"item": list(items), "bid": list(bids)}
