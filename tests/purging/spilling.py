"""Random joins whose k is declared, or found, too small: rows come as they like, but for keys and punctuations."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from penstock.algebra.relations import walk_relations
from penstock.algebra.rewrites import normalise
from penstock.closing.physical_join import PhysicalJoin
from penstock.plan.forgetting import Forgetting
from penstock.plan.planner import plan
from tests.purging.cases import (
    COLUMNS,
    Declared,
    Purging,
    clustered,
    data_case,
    join_edges,
    join_select,
    ordered,
    punctuated,
    reference,
    unique,
)

#: A k that is found far too soon.
FOUND = "INFERRED (w 2, c 1)"


def spilling_case(seed: int, rows: int = 40) -> Purging:
    random = Random(seed)
    names = [f"s{n}" for n in range(random.choice((2, 2, 3, 3, 4)))]
    edges = list(join_edges(random, names))
    declared = [one for name in names for one in _declared(random, name, edges)]
    return data_case(random, names, declared, join_select(random, names, edges), rows)


def _declared(random: Random, name: str, edges: list[tuple[str, str, str, str]]) -> Iterator[Declared]:
    if random.random() < 0.4:
        yield unique(name, (random.choice(COLUMNS),))
    if random.random() < 0.2:
        yield punctuated(name, (random.choice(COLUMNS),))
    if random.random() < 0.3:
        yield _broken(random, clustered(name, (random.choice(COLUMNS),), 0, random.random() < 0.4))
    if random.random() < 0.3:
        yield _broken(random, ordered(name, random.choice(COLUMNS), 0, random.random() < 0.4))
    for one, column, other, other_column in edges:
        for child, own, target, theirs in ((one, column, other, other_column), (other, other_column, one, column)):
            if child == name and child != target and random.random() < 0.7:
                yield _broken(random, reference(child, own, target, theirs, 0, random.random() < 0.4))


def _broken(random: Random, declared: Declared) -> Declared:
    """A constraint that nobody keeps, of a small k."""
    k = random.randint(0, 2)
    text = declared.text.replace("WITHIN 0", f"WITHIN {k}")
    if random.random() < 0.4:
        text = text.replace(f"WITHIN {k} ROWS", FOUND)
    return Declared(declared.stream, text, lambda past, row: True)


#: Over two streams: what shows or does not, and groups that end.
OTHERS = (
    "SELECT s0.a, s0.b FROM s0 WHERE {} (SELECT * FROM s1 WHERE s1.a = s0.a)",
    "SELECT s0.b, COUNT(*) AS n FROM s0 WHERE {} (SELECT * FROM s1 WHERE s1.a = s0.a AND s1.b <= s0.b) GROUP BY s0.b",
    "SELECT ISTREAM(s0.b) FROM s0 WHERE s0.closes = 0 AND {} (SELECT * FROM s1 WHERE s1.a = s0.a)",
    "SELECT DISTINCT s0.a, s0.b FROM s0, s1 WHERE s0.a = s1.a",
    "SELECT s0.a, COUNT(*) AS n, MAX(s1.b) AS most FROM s0, s1 WHERE s0.a = s1.a GROUP BY s0.a",
    "SELECT s0.a, COUNT(*) AS n FROM s0, s1, s2 WHERE s0.a = s1.a AND s1.b = s2.b GROUP BY s0.a",
)


def other_case(seed: int, rows: int = 40) -> Purging:
    """A semi-join, an anti-join or groups, of which rows are spilled."""
    random = Random(seed)
    while True:
        select = random.choice(OTHERS).format(random.choice(("EXISTS", "NOT EXISTS")))
        names = [f"s{n}" for n in range(3 if "s2" in select else 2)]
        edges = [("s0", "a", "s1", "a")] + ([("s1", "b", "s2", "b")] if "s2" in select else [])
        declared = [one for name in names for one in _declared(random, name, edges)]
        declared += [punctuated(name, ("a",)) for name in names if random.random() < 0.5]
        found = data_case(random, names, declared, select, rows)
        if spills(found):
            return found


def spills(found: Purging) -> bool:
    root = plan(normalise(found.query), 1, found.catalog, Forgetting(spill=True)).last.root
    return any(isinstance(node, PhysicalJoin) and node.probable for node in walk_relations(root))
