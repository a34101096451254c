"""Random queries over simulated streams, with the assertions that they satisfy, as cases that engines run."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.elimination.counting.simulating import Flows
from tests.generators import Case


def declared(flows: Flows, delay: int = 0) -> str:
    """Streams s0, s1, ... and assertions: each id is once in each, and follows its row of the stream before."""
    late = f" DELAY {delay} MICROSECONDS" if delay else ""
    lines = [
        f"CREATE STREAM s{n} (ts BIGINT, id BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts{late};"
        for n in range(len(flows.streams))
    ]
    for n in range(len(flows.streams)):
        lines.append(
            f"CREATE ASSERTION key{n} FOR s{n} x, s{n} y WHERE x.id = y.id "
            "THEN x.ts = y.ts AND x.k = y.k AND x.v = y.v;"
        )
    for n, longest in enumerate(flows.delays, start=1):
        lines.append(
            f"CREATE ASSERTION follows{n} FOR s{n} x THEN EXISTS s{flows.above(n - 1)} y WHERE y.id = x.id "
            f"AND y.k = x.k AND y.v = x.v AND y.ts <= x.ts AND x.ts - y.ts <= {longest};"
        )
    return "\n".join(lines)


def counted(flows: Flows, random: Random, always_windowed: bool = False) -> str:
    """A count of the joins and anti-joins of the flows, with keys and filters of all kinds that are preserved."""
    tables, where = ["s0"], []
    keyed, filtered = random.random() < 0.5, random.random() < 0.3
    windowed = always_windowed or random.random() < 0.3
    for n, (longest, anti) in enumerate(zip(flows.delays, flows.antis, strict=True), start=1):
        last = flows.above(n - 1)
        on = f"s{n}.id = s{last}.id" + (f" AND s{n}.k = s{last}.k" if keyed and random.random() < 0.5 else "")
        if windowed:
            on += f" AND s{n}.ts >= s{last}.ts AND s{n}.ts - s{last}.ts <= {longest + random.randint(0, 9)}"
        if filtered and anti:
            on += f" AND s{n}.v > 0"
        if anti:
            where.append(f"NOT EXISTS (SELECT * FROM s{n} WHERE {on})")
        else:
            tables.append(f"s{n}")
            where.append(on)
    if filtered:
        where += [f"s{n}.v > 0" for n in range(len(tables))]
    bucket = f"(s0.ts + {flows.shift}) / {flows.width}"
    keys = f"s0.k, {bucket}" if keyed else bucket
    return (
        f"SELECT {keys}, COUNT(*) AS n FROM {', '.join(tables)} WHERE {' AND '.join(where)} GROUP BY {keys} APPROXIMATE"
    )


def case_of(flows: Flows, random: Random, ending: str = "", delay: int = 0, always_windowed: bool = False) -> Case:
    """The flows as a case; with a delay rows arrive out of order within it."""
    data: dict[str, list[tuple[Any, ...]]] = {}
    for n, rows in enumerate(flows.streams):
        arrived = sorted(rows, key=lambda row: row[0] + random.randint(0, delay)) if delay else list(rows)
        data[f"s{n}"] = [(ts, i, key, i % 3) for ts, i, key in arrived]
    return Case(declared(flows, delay), counted(flows, random, always_windowed) + ending, data, None, "")
