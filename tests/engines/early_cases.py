"""Random queries whose results may come early, and rows for them that arrive out of order, within their delays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from penstock.algebra.relations import Query
from penstock.catalog import Catalog
from penstock.engines.planning import plan_of
from penstock.plan.early import Early
from penstock.sql import bind_text
from tests.generators import Case
from tests.purging.cases import (
    COLUMNS,
    SECOND,
    Declared,
    Row,
    data_case,
    join_edges,
    punctuated,
    punctuated_from,
    unique,
)
from tests.purging.test_ruled_out import ruled_out

#: The column of a row that is its time.
TS = 3


@dataclass(frozen=True, slots=True)
class EarlyCase:
    case: Case
    query: Query
    catalog: Catalog
    early: Early
    delays: Mapping[str, int]

    def taken(self, arrived: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """By the definition, the rows that are taken when these have arrived."""
        closed = {
            name: max((row[TS] for row in arrived.get(name, ())), default=0) - delay
            for name, delay in self.delays.items()
        }
        found = {name: list(arrived.get(name, ())) for name in self.delays}
        for group in self.early.groups:
            until = min(closed[name] for name in group)
            found |= {name: [row for row in arrived.get(name, ()) if row[TS] < until] for name in group}
        return found


def early_case(seed: int, rows: int = 24, *, breaks: bool = False) -> EarlyCase:
    """`breaks`: that punctuations are declared, and some rows come after them."""
    random = Random(seed)
    while True:
        names = [f"s{n}" for n in range(random.choice((2, 2, 3) if breaks else (1, 2, 2, 2, 3, 3, 4)))]
        declared = list(_declared(random, names)) if len(names) > 1 else []
        if breaks:
            declared = [one for one in declared if one.text.startswith("PUNCTUATED")]
        select = f"{_select(random, names)} ALLOW UNBOUNDED"
        # Its rows are wanted; the table that the query may read comes below.
        found = data_case(random, names, declared, "SELECT a FROM s0", rows)
        delays = {name: random.choice((0, 0, 1, 4)) * SECOND for name in [*names, "closed"]}
        ddl = f"{_delayed(found.case.ddl, delays)}\nCREATE TABLE t (a BIGINT, n BIGINT);"
        case = replace(found.case, ddl=ddl, query=select)
        data = with_broken(random, case.data, declared) if breaks else case.data
        data = {name: _out_of_order(random, data[name], delays[name]) for name in data}
        case = replace(case, data=data | {"t": [(n, n % 3) for n in range(8) if n % 4]})
        script = bind_text(case.script).checked()
        query = replace(script.queries[0], early=True)
        early = plan_of(query, script.catalog).last.early
        assert early is not None
        if early.obstacle is None and (early.groups or not breaks):
            return EarlyCase(case, query, script.catalog, early, delays)


def with_broken(
    random: Random, data: Mapping[str, Sequence[Any]], declared: list[Declared]
) -> dict[str, Sequence[Any]]:
    """The rows, with some that punctuations rule out."""
    past = [Row(name, ts, a, b, bool(closes)) for name, rows in data.items() for a, b, closes, ts in rows]
    found = {name: list(rows) for name, rows in data.items()}
    for row in ruled_out(random, past, declared):
        found[row.stream].append((row.a, row.b, 0, row.ts))
    return {name: sorted(rows, key=lambda row: row[TS]) for name, rows in found.items()}


def _declared(random: Random, names: list[str]) -> Iterator[Declared]:
    for name in names:
        if random.random() < 0.5:
            yield unique(name, (random.choice(COLUMNS),))
        if random.random() < 0.35:
            yield punctuated(name, random.choice((("a",), ("b",), ("a", "b"))))
        if random.random() < 0.25:
            yield punctuated_from(name, (random.choice(COLUMNS),), "closed")


def _select(random: Random, names: list[str]) -> str:
    on = [f"{one}.{column} = {other}.{theirs}" for one, column, other, theirs in join_edges(random, names)] if names[
        1:
    ] else []  # fmt: skip
    for one in names[1:]:
        if random.random() < 0.5:
            other, after = random.choice(names[: names.index(one)]), random.choice((0, 2, 5))
            before = random.choice((0, 0, 1, 3))
            bounds = f"{other}.ts - INTERVAL {before} SECONDS AND {other}.ts + INTERVAL {after} SECONDS"
            on.append(f"{one}.ts BETWEEN {bounds}")
    if random.random() < 0.3:
        on.append(f"{random.choice(names)}.closes = 0")
    if random.random() < 0.2 and len(names) > 1:
        on.append(f"{names[0]}.a + 1 >= {names[1]}.b")
    columns = [f"{name}.{random.choice(COLUMNS)} AS c{n}" for n, name in enumerate(names)]
    sources = list(names)
    if random.random() < 0.25 and len(names) < 4:
        sources.insert(random.randint(0, len(names)), "t")
        on.append(f"t.a = {random.choice(names)}.a")
        columns.append("t.n")
    listed = ", ".join(columns)
    listed = f"ISTREAM({listed})" if random.random() < 0.7 else listed
    where = f" WHERE {' AND '.join(on)}" if on else ""
    return f"SELECT {listed} FROM {', '.join(sources)}{where}"


def _delayed(ddl: str, delays: Mapping[str, int]) -> str:
    lines = []
    for line in ddl.splitlines():
        delay = delays[line.split()[2]]
        lines.append(line.replace("TIMESTAMP BY ts", f"TIMESTAMP BY ts DELAY {delay // SECOND} SECONDS"))
    return "\n".join(lines)


def _out_of_order(random: Random, rows: Sequence[Any], delay: int) -> list[Any]:
    return sorted(rows, key=lambda row: row[TS] + random.randint(0, delay))
