"""A query that is safe as one MJoin runs as one, and never as a tree of joins, which may be unsafe (004, 4.1.2)."""

from __future__ import annotations

from random import Random

import pytest

from penstock.algebra.physical import Scan
from penstock.algebra.relations import walk_relations
from penstock.algebra.rewrites import normalise
from penstock.closing.chaining import Granted, chain
from penstock.closing.join_variables import join_variables
from penstock.closing.physical_join import PhysicalJoin
from penstock.plan.planner import plan
from penstock.sql import bind_text

Edge = tuple[int, str, int, str]
Schemes = dict[int, list[tuple[str, ...]]]
COLUMNS = ("a", "b", "c")


def graph(random: Random) -> tuple[int, list[Edge], Schemes]:
    """Streams, a tree of equalities with at times one more, and schemes of one or two columns."""
    count = random.randint(2, 5)
    edges = [(n, random.choice(COLUMNS), random.randrange(n), random.choice(COLUMNS)) for n in range(1, count)]
    if random.random() < 0.5:
        one, other = random.sample(range(count), 2)
        edges.append((one, random.choice(COLUMNS), other, random.choice(COLUMNS)))
    joined = {n: sorted({c for e in edges for s, c in (e[:2], e[2:]) if s == n}) for n in range(count)}
    schemes: Schemes = {n: [] for n in range(count)}
    for n in range(count):
        for _ in range(random.choice((0, 1, 1, 2))):
            scheme = tuple(sorted(random.sample(joined[n], min(len(joined[n]), random.choice((1, 1, 2))))))
            schemes[n].append(scheme)
    return count, edges, schemes


def purgeable(stream: int, count: int, edges: list[Edge], schemes: Schemes) -> bool:
    """Theorem 3, by its definition: all other streams are reached, over attributes that are equal."""
    known, reached = {(stream, c) for c in COLUMNS}, {stream}
    for _ in range(count * len(COLUMNS) * 4):
        for one, column, other, theirs in edges:
            if {(one, column), (other, theirs)} & known:
                known |= {(one, column), (other, theirs)}
        for n in range(count):
            if any(all((n, c) in known for c in scheme) for scheme in schemes[n]):
                reached.add(n)
                known |= {(n, c) for c in COLUMNS}
    return len(reached) == count


def script(random: Random, count: int, edges: list[Edge], schemes: Schemes) -> str:
    """The join as a list, or nested in subqueries as a tree of binary joins would be."""
    streams = [f"CREATE STREAM p{n} (a BIGINT, b BIGINT, c BIGINT, ts BIGINT) TIMESTAMP BY ts;" for n in range(count)]
    for n in range(count):
        own = "".join(f", PUNCTUATED BY ({', '.join(s)}) FROM p{n} ({', '.join(s)})" for s in dict.fromkeys(schemes[n]))
        streams.append(f"CREATE STREAM s{n} (a BIGINT, b BIGINT, c BIGINT, ts BIGINT{own}) TIMESTAMP BY ts;")
    if random.random() < 0.5:
        on = " AND ".join(f"s{one}.{column} = s{other}.{theirs}" for one, column, other, theirs in edges)
        listed = ", ".join(f"s{n}" for n in range(count))
        return "\n".join([*streams, f"SELECT s0.a FROM {listed} WHERE {on} ALLOW UNBOUNDED"])
    inner = "SELECT a AS s0_a, b AS s0_b, c AS s0_c FROM s0"
    for n in range(1, count):
        own = ", ".join(f"t.{c} AS s{n}_{c}" for c in COLUMNS)
        on = " AND ".join(
            f"{_name(one, column, n)} = {_name(other, theirs, n)}"
            for one, column, other, theirs in edges
            if max(one, other) == n
        )
        inner = f"SELECT q.*, {own} FROM ({inner}) q JOIN s{n} t ON {on or 'TRUE'}"
    return "\n".join([*streams, f"SELECT s0_a FROM ({inner}) q ALLOW UNBOUNDED"])


def _name(stream: int, column: str, newest: int) -> str:
    return f"t.{column}" if stream == newest else f"q.s{stream}_{column}"


@pytest.mark.parametrize("cells", [1, 4])
def test_all_streams_meet_in_one_join_which_forgets_what_the_theory_says(cells: int) -> None:
    safe = 0
    for seed in range(120):
        random = Random(seed)
        count, edges, schemes = graph(random)
        bound = bind_text(script(random, count, edges, schemes)).checked()
        planned = plan(normalise(bound.queries[0]), cells, bound.catalog)
        joins = [node for f in planned.fragments for node in walk_relations(f.root) if isinstance(node, PhysicalJoin)]
        assert len(joins) == 1, seed
        names = [node.stream.name for node in joins[0].operands if isinstance(node, Scan)]
        assert sorted(names) == [f"s{n}" for n in range(count)]
        gone = {name for n, name in enumerate(names) if _forgets(joins[0], n)}
        assert gone == {f"s{n}" for n in range(count) if purgeable(n, count, edges, schemes)}, seed
        safe += len(gone) == count
    assert safe > 15


def _forgets(join: PhysicalJoin, number: int) -> bool:
    used = chain(join_variables(join), join.rules, number, len(join.operands), Granted.PARTNERS)
    return number in join.forgets and used is not None
