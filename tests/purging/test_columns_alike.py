"""Streams two of whose columns join one value: what is declared of both speaks of that value twice."""

from __future__ import annotations

import pytest

from tests.engines.comparing import bound, embedded, expected
from tests.generators import Case

DDL = """
CREATE STREAM buyer (id BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM sale (seller BIGINT, buyer BIGINT, ts BIGINT, {}) TIMESTAMP BY ts;
CREATE STREAM offer (seller BIGINT, ts BIGINT, FOREIGN KEY (seller) REFERENCES sale (seller) WITHIN 2 ROWS)
TIMESTAMP BY ts;
"""

#: An offer, then a sale to oneself, and late the buyer, of whom nothing is declared.
DATA: dict[str, list[tuple[int, ...]]] = {
    "buyer": [(4, 22)],
    "sale": [(4, 4, 13), (2, 2, 13), (6, 9, 25)],
    "offer": [(4, 10), (4, 25)],
}


@pytest.mark.parametrize(
    "declared",
    ["CLUSTERED BY (seller, buyer) WITHIN 3 MICROSECONDS", "UNIQUE (seller, buyer)"],
)
def test_a_constraint_of_columns_that_are_equal_waits_for_their_value(declared: str) -> None:
    """That of `sold` says something of its one value, and nothing before that is known."""
    query = """SELECT sold.ts, other.ts AS at FROM buyer b, sale sold, offer o, sale other
    WHERE sold.seller = b.id AND sold.buyer = b.id AND other.buyer = b.id AND other.seller = o.seller ALLOW UNBOUNDED"""
    case = Case(DDL.format(declared), query, DATA, None, "")
    bound_query, catalog = bound(case)
    want = expected(case, bound_query, catalog)
    assert want, "nothing joins"
    assert embedded(case, bound_query, catalog, 1, 0) == want
