"""Random joins with data that just keeps its declarations: rows come at the last moment that k allows.

A row is *tight* if it may come now and could not with a k that is one less. Such rows come wherever they can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from penstock.sql import bind_text
from tests.generators import Case
from tests.purging.cases import (
    COUNTED,
    OUTPUTS,
    SECOND,
    SLIDING,
    Declared,
    Purging,
    Row,
    clustered,
    ordered,
    reference,
    unique,
)

#: Many-one joins: parent and its column, child and its key. A tree, a fork, two parents of one child, a DAG, a cycle.
SHAPES = {
    "pair": (("s0", "a", "s1", "a"),),
    "tree": (("s0", "a", "s1", "a"), ("s1", "b", "s2", "a")),
    "fork": (("s0", "a", "s1", "a"), ("s0", "b", "s2", "a")),
    "meeting": (("s0", "a", "s2", "a"), ("s1", "a", "s2", "a")),
    "DAG": (("s0", "a", "s1", "a"), ("s0", "b", "s2", "a"), ("s1", "b", "s3", "a"), ("s2", "b", "s3", "a")),
    "cycle": (("s0", "b", "s1", "a"), ("s1", "b", "s2", "a"), ("s2", "b", "s0", "a")),
}
KINDS = ("RIDS", "CA", "OAP", "OAC")
Edge = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Tight:
    """A constraint, and the same with a k that is one less."""

    declared: Declared
    less: Declared | None = None


#: Rows of a case, by the number of streams: the reference joins with nested loops.
ROWS = {2: 40, 3: 30, 4: 20}


def tight_case(seed: int, shape: str, kinds: tuple[str, ...], in_time: bool | None) -> Purging:
    """`in_time`: whether k counts time; None draws it for each constraint."""
    random = Random(f"{seed} {shape} {kinds} {in_time}")
    edges = SHAPES[shape]
    names = sorted({name for one, _, other, _ in edges for name in (one, other)})
    constraints = list(_constraints(random, edges, kinds, in_time))
    past = list(_rows(random, names, edges, constraints, ROWS[len(names)]))
    ddl = "\n".join(_ddl(name, constraints) for name in names)
    data = {name: [(r.a, r.b, int(r.closes), r.ts) for r in past if r.stream == name] for name in names}
    case = Case(ddl, _select(random, names, edges), data, None, "")
    bound = bind_text(case.script).checked()
    return Purging(case, bound.queries[0], bound.catalog)


def _constraints(
    random: Random, edges: tuple[Edge, ...], kinds: tuple[str, ...], in_time: bool | None
) -> Iterator[Tight]:
    for child, key in sorted({(child, key) for _, _, child, key in edges}):
        if random.random() < 0.85:
            yield Tight(unique(child, (key,)))
    for edge in edges:
        for kind in kinds:
            if len(kinds) == 1 or random.random() < 0.6:
                k, timed = random.randint(0, 3), random.random() < 0.5 if in_time is None else in_time
                yield Tight(_constraint(kind, edge, k, timed), _constraint(kind, edge, k - 1, timed))


def _constraint(kind: str, edge: Edge, k: int, in_time: bool) -> Declared:
    parent, column, child, key = edge
    match kind:
        case "RIDS":
            return reference(parent, column, child, key, k, in_time)
        case "CA":
            return clustered(parent, (column,), k, in_time)
        case "OAP":
            return ordered(parent, column, k, in_time)
    return ordered(child, key, k, in_time)


def _rows(
    random: Random, names: list[str], edges: tuple[Edge, ...], constraints: list[Tight], count: int
) -> Iterator[Row]:
    past: list[Row] = []
    while len(past) < count:
        found = [row for row in _candidates(random, names, edges, past) if _may_come(constraints, past, row)]
        if not found:
            return
        tight = [row for row in found if any(one.less and not one.less.allows(past, row) for one in constraints)]
        row = random.choice(tight if tight and random.random() < 0.8 else found)
        past.append(row)
        yield row


def _may_come(constraints: list[Tight], past: list[Row], row: Row) -> bool:
    return all(one.declared.allows(past, row) for one in constraints)


def _candidates(random: Random, names: list[str], edges: tuple[Edge, ...], past: list[Row]) -> Iterator[Row]:
    """Rows that may join some of those before, or stand next to them."""
    last = past[-1].ts if past else SECOND
    for _ in range(24):
        seen = [value for row in past[-10:] for value in (row.a, row.b) if value is not None] or [1]
        values = [random.choice(seen) + random.choice((0, 0, 0, 0, 1, 2)) for _ in "ab"]
        ts = last + random.choice((0, 1, 1, 2, 3)) * SECOND
        yield Row(random.choice(names), ts, *values, random.random() < 0.25)


def _ddl(name: str, constraints: list[Tight]) -> str:
    mine = "".join(f", {one.declared.text}" for one in constraints if one.declared.stream == name)
    return f"CREATE STREAM {name} (a BIGINT, b BIGINT, closes INT, ts TIMESTAMP{mine}) TIMESTAMP BY ts;"


def _select(random: Random, names: list[str], edges: tuple[Edge, ...]) -> str:
    is_windowed = random.random() < 0.6
    choices = ("", " [RANGE 4 SECONDS]", " [RANGE 9 SECONDS]", *COUNTED, *SLIDING) if is_windowed else ("",)
    sources = ", ".join(name + random.choice(choices) for name in names)
    on = [f"{one}.{column} = {other}.{key}" for one, column, other, key in edges]
    on += [f"{name}.closes = 0" for name in names if random.random() < 0.3]
    columns = ", ".join(f"{name}.{column} AS {name}_{column}" for name in names for column in "ab")
    listed = random.choice(OUTPUTS).format(columns)
    return f"SELECT {listed} FROM {sources} WHERE {' AND '.join(on)}"
