"""Queries for the simulation: each has another kind of state, and few rows."""

from __future__ import annotations

from functools import cache

from tests.engines.spark.examples import example
from tests.faults.simulating import Example
from tests.generators import Case

SPILL_DDL = """
CREATE STREAM item (id STRING, name STRING, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM bid (auction STRING, price BIGINT, ts BIGINT,
    FOREIGN KEY (auction) REFERENCES item (id) WITHIN 0 ROWS,
    PUNCTUATED BY (auction) FROM item (id)) TIMESTAMP BY ts;
"""
SPILL = "SELECT i.name, b.price FROM item i, bid b WHERE i.id = b.auction ALLOW UNBOUNDED"
#: Items come long after the bids that refer to them.
SPILL_DATA = {
    "item": [(f"item {i}", f"name {i}", 10 * i + 60) for i in range(6) if i % 4],
    "bid": [(f"item {i}", price, 10 * i + price) for i in range(6) for price in (1, 2)],
}

STRICT_DDL = """
CREATE STREAM bid (auction BIGINT, price BIGINT, kind STRING, ts BIGINT,
    PUNCTUATED BY (auction) WHEN kind = 'close' ON VIOLATION ERROR) TIMESTAMP BY ts;
"""
STRICT = "SELECT auction, COUNT(*) AS bids, SUM(price) AS total FROM bid GROUP BY auction"
#: Three auctions at a time have a bid each, and then another each, and close.
RIGHT = {"bid": [(3 * (i // 9) + i % 3, i, "close" if i % 9 >= 6 else "bid", i) for i in range(18)]}
#: In the first micro-batch a bid comes after the end of its auction, and a price of another auction is wrong as well.
WRONG = {
    "bid": [
        (auction, price + (100 if ts == 1 else 0), "close" if ts == 0 else kind, ts)
        for auction, price, kind, ts in RIGHT["bid"]
    ]
}


@cache
def simulated(name: str, cells: int) -> Example:
    """An example by its name: one of Spark's, `spill` or `strict`."""
    if name == "spill":
        return Example.of(name, Case(SPILL_DDL, SPILL, SPILL_DATA, None, ""), cells, spill=True)
    if name == "strict":
        right, wrong = (Case(STRICT_DDL, STRICT, data, None, "") for data in (RIGHT, WRONG))
        return Example.of(name, right, cells, wrong=wrong)
    return Example.of(name, example(name), cells)
