"""Streams two of whose columns join one value: what is declared of both speaks of that value twice."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.engines.comparing import bound, embedded, expected
from tests.generators import Case
from tests.purging.cases import COLUMNS, Declared, clustered, data_case, join_select, punctuated, reference, unique
from tests.seeds import seeds

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


@pytest.mark.parametrize("seed", seeds(20))
def test_the_answer_is_the_reference_s_where_columns_join_one_value(seed: int) -> None:
    random = Random(seed)
    names = ["s0", "s1", "s2"]
    # The columns of s1 join one of s0; s2 joins any of them.
    edges = [("s1", "a", "s0", "a"), ("s1", "b", "s0", "a")]
    edges.append(("s2", random.choice(COLUMNS), random.choice(names[:2]), random.choice(COLUMNS)))
    declared = [one for name in names for one in of_both(random, name)]
    for one, column, other, theirs in edges:
        declared += [reference(one, column, other, theirs, random.randint(0, 3), random.random() < 0.4)]
    found = data_case(random, names, declared, join_select(random, names, edges, ("",)), 30, drift=8)
    want = expected(found.case, found.query, found.catalog)
    for cells, cuts in ((1, 0), (1, Random(seed)), (2, Random(seed + 1))):
        assert embedded(found.case, found.query, found.catalog, cells, cuts) == want, found.case.script


def of_both(random: Random, name: str) -> Iterator[Declared]:
    """Constraints of both columns of a stream."""
    both = tuple(random.sample(COLUMNS, 2))
    if random.random() < 0.6:
        yield clustered(name, both, random.randint(0, 4), random.random() < 0.4)
    if random.random() < 0.4:
        yield unique(name, both)
    if random.random() < 0.4:
        yield punctuated(name, both)
