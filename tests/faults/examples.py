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

#: Counters beside the monitors of what they assume: two fragments, of which one sends to the other.
COUNTED_DDL = """
CREATE STREAM asked (id BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM answered (id BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE ASSERTION asked_key FOR asked x, asked y WHERE x.id = y.id THEN x.ts = y.ts;
CREATE ASSERTION answered_key FOR answered x, answered y WHERE x.id = y.id THEN x.ts = y.ts;
CREATE ASSERTION soon FOR answered a THEN EXISTS asked q WHERE q.id = a.id AND a.ts - q.ts BETWEEN 0 AND 3;
"""
COUNTED = """
SELECT q.ts / 10 AS tb, COUNT(*) AS n FROM asked q
WHERE NOT EXISTS (SELECT * FROM answered a WHERE a.id = q.id AND a.ts >= q.ts AND a.ts <= q.ts + 5)
GROUP BY q.ts / 10 APPROXIMATE
"""
#: Every third is not answered, and some answers are to nothing that was asked.
COUNTED_DATA = {
    "asked": [(i, i) for i in range(30)],
    "answered": [(i + 100 * (i % 11 == 0), i + i % 3) for i in range(30) if i % 3],
}


@cache
def simulated(name: str, cells: int) -> Example:
    """An example by its name: one of Spark's, `spill`, `strict` or `counted`."""
    if name == "counted":
        return Example.of(name, Case(COUNTED_DDL, COUNTED, COUNTED_DATA, None, ""), cells, one_in=2)
    if name == "spill":
        return Example.of(name, Case(SPILL_DDL, SPILL, SPILL_DATA, None, ""), cells, spill=True)
    if name == "strict":
        right, wrong = (Case(STRICT_DDL, STRICT, data, None, "") for data in (RIGHT, WRONG))
        return Example.of(name, right, cells, wrong=wrong)
    return Example.of(name, example(name), cells)
