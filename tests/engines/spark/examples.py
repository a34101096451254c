"""A few queries over the same small streams, with late rows, nulls and a static table."""

from __future__ import annotations

from tests.generators import Case

DDL = """
CREATE STREAM bid (auction BIGINT, price BIGINT, kind STRING, ts BIGINT) TIMESTAMP BY ts DELAY 2 MICROSECONDS;
CREATE STREAM item (id BIGINT, name STRING, ts BIGINT) TIMESTAMP BY ts;
CREATE TABLE category (id BIGINT, label STRING);
"""

DATA = {
    # The eighth bid is late.
    "bid": [(i % 3, i * 7 % 11, None if i % 5 == 0 else "ab"[i % 2], 2 if i == 7 else i) for i in range(12)],
    "item": [(i % 3, "xyz"[i % 3], 2 * i) for i in range(6)],
    "category": [(0, "zero"), (1, "one")],
}

QUERIES = {
    "filter": "SELECT auction, price, kind FROM bid WHERE price > 3",
    # Its groups are not in one cell with the rows that join, so rows are exchanged.
    "join": """SELECT i.name, c.label, COUNT(*) AS bids, SUM(b.price) AS total
        FROM bid [RANGE 3 MICROSECONDS] b, item i, category c
        WHERE b.auction = i.id AND i.id = c.id GROUP BY i.name, c.label""",
    "panes": """SELECT kind, COUNT(*) AS bids, SUM(price) AS total, MIN(price) AS least
        FROM bid [RANGE 4 MICROSECONDS SLIDE 2 MICROSECONDS] GROUP BY kind""",
    "last rows": "SELECT RSTREAM(b.kind, COUNT(*) AS n) FROM bid [ROWS 3] b GROUP BY b.kind",
    "nothing matches": """SELECT i.name FROM item [PARTITION BY id ROWS 1] i
        WHERE i.id NOT IN (SELECT auction FROM bid [NOW])""",
}


def example(name: str, horizon: int | None = None) -> Case:
    return Case(DDL, QUERIES[name], DATA, horizon, "")
