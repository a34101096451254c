"""Joins, semi-joins and anti-joins of groups, distinct values and set operations, with NULL in all columns."""

from __future__ import annotations

from random import Random

import pytest

from tests.engines.comparing import bound, embedded, expected
from tests.engines.test_outer_joins import DDL, NAMES, WINDOWS, rows
from tests.generators import Case

SIDES = (
    "(SELECT id, x FROM {0} {w})",
    "(SELECT DISTINCT id, x FROM {0} {w})",
    "(SELECT id, COUNT(*) AS x FROM {0} {w} GROUP BY id)",
    "(SELECT x AS id, MAX(id) AS x FROM {0} {w} GROUP BY x HAVING COUNT(*) < 3)",
    "(SELECT id, x FROM {0} {w} UNION SELECT x, id FROM {1} {w})",
    "(SELECT id, x FROM {0} {w} UNION ALL SELECT id, x + 1 FROM {1} {w})",
    "(SELECT id, x FROM {0} {w} EXCEPT SELECT id, x FROM {1} {w})",
    "(SELECT id, x FROM {0} {w} INTERSECT SELECT id, x FROM {1} {w})",
    "(SELECT p.id, p.x FROM {0} {w} p WHERE NOT EXISTS (SELECT 1 FROM {1} q WHERE q.id = p.x))",
)
CONDITIONS = ("l.id = r.id", "l.id = r.id AND l.x = r.x", "l.x = r.id", "l.id = r.id AND l.x < r.x", "l.id <=> r.id")
QUERIES = (
    "SELECT l.id, l.x, r.x AS y FROM {left} l, {right} r WHERE {on}",
    "SELECT l.id, l.x FROM {left} l WHERE EXISTS (SELECT 1 FROM {right} r WHERE {on})",
    "SELECT l.id, l.x FROM {left} l WHERE NOT EXISTS (SELECT 1 FROM {right} r WHERE {on})",
    "SELECT l.id, l.x, r.x AS y FROM {left} l LEFT JOIN {right} r ON {on}",
    "SELECT l.id, l.x, r.x AS y FROM {left} l FULL JOIN {right} r ON {on}",
    "SELECT l.id, COUNT(*) AS n FROM {left} l WHERE l.id NOT IN (SELECT r.id FROM {right} r WHERE {on}) GROUP BY l.id",
)


def side(random: Random, one: str, other: str) -> str:
    return random.choice(SIDES).format(one, other, w=random.choice(WINDOWS))


@pytest.mark.parametrize("seed", range(24))
def test_what_has_no_partner_is_told_from_what_has_one(seed: int) -> None:
    random = Random(seed)
    sides = {"left": side(random, "a", "b"), "right": side(random, "c", "d"), "on": random.choice(CONDITIONS)}
    case = Case(DDL, random.choice(QUERIES).format(**sides), {name: rows(random) for name in NAMES}, 12, "")
    query, catalog = bound(case)
    wanted = expected(case, query, catalog)
    for cells, cuts in ((1, 0), (3, Random(seed))):
        assert embedded(case, query, catalog, cells, cuts) == wanted, repr(case)
