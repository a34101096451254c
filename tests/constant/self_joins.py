"""Random joins of streams with themselves without duplicates, many of which fold, and rows for them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from penstock.algebra.relations import Distinct
from penstock.algebra.rewrites import normalise
from penstock.register.folding import folded
from tests.constant.cases import Bounded
from tests.engines.comparing import bound
from tests.generators import Case

COLUMNS = "i BIGINT, j INT, d DATE, ok BOOLEAN, at TIMESTAMP, ts BIGINT"
DDL = "".join(f"CREATE STREAM {name} ({COLUMNS}) TIMESTAMP BY ts;" for name in "st")
#: What is said of one occurrence, and often of others, too.
ALONE = (
    "{0}.i > 1",
    "{0}.j < 3",
    "{0}.ok",
    "NOT {0}.ok",
    "{0}.i = 2",
    "{0}.j BETWEEN 0 AND 2",
    "{0}.d < DATE '1970-01-04'",
    "{0}.i <> 3",
    "{0}.i + 1 > {0}.j",
    "{0}.i IS NOT NULL",
)


def folding_cases(first: int, count: int, rows: int = 8) -> Iterator[tuple[int, Bounded]]:
    """So many queries that fold, from a seed on, each with its own."""
    seed = first
    while count:
        random = Random(seed)
        case = Case(DDL, _query(random), _data(random, rows), None, "")
        query, catalog = bound(case)
        relation = normalise(query).relation
        assert isinstance(relation, Distinct)
        if folded(relation) != relation:
            yield seed, Bounded(case, query, catalog)
            count -= 1
        seed += 1


def _query(random: Random) -> str:
    names = [f"x{number}" for number in range(random.choice((2, 2, 3, 3, 4)))]
    sources = [f"{random.choice('sssst') if number else 's'} {name}" for number, name in enumerate(names)]
    said = [random.choice(ALONE) for _ in range(random.choice((0, 1, 2, 2)))]
    where = [each.format(name) for name in names for each in said if random.random() < 0.75]
    for number in range(1, len(names)):
        other = names[random.randrange(number)]
        where += [_pair(random, names[number], other) for _ in range(random.choice((0, 1, 1, 2)))]
    shown = [
        f"{random.choice(names)}.{random.choice(('i', 'j', 'ok', 'ok', 'd'))}" for _ in range(random.choice((1, 1, 2)))
    ]
    where += [f"{column} BETWEEN 0 AND 3" for column in shown if column[-1] in "ij"]
    outputs = ", ".join(f"{column} AS c{number}" for number, column in enumerate(shown))
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    return f"SELECT DISTINCT {outputs} FROM {', '.join(sources)}{condition}"


def _pair(random: Random, one: str, other: str) -> str:
    column = random.choice(("i", "j", "d", "ok", "at"))
    op = random.choice(("=", "<>") if column == "ok" else ("=", "=", "=", "<=", ">=", "<", "<>"))
    shift = random.choice(("", " + 1", " + 0")) if column in "ij" and op != "=" else ""
    shift = random.choice(("", " + INTERVAL 1 MICROSECOND")) if column == "at" else shift
    return f"{one}.{column} {op} {other}.{column}{shift}"


def _data(random: Random, rows: int) -> dict[str, list[tuple[Any, ...]]]:
    nulls, extremes = random.choice((0.05, 0.4)), random.choice((0, 0, 0.2))

    def row(ts: int) -> tuple[Any, ...]:
        i = random.choice((2**63 - 1, -(2**63))) if random.random() < extremes else random.randint(0, 4)
        j = random.choice((2**31 - 1, -(2**31))) if random.random() < extremes else random.randint(-1, 4)
        values = (i, j, random.randint(0, 4), random.random() < 0.5, random.randint(0, 4))
        return (*(None if random.random() < nulls else value for value in values), ts // 2)

    return {name: [row(ts) for ts in range(rows)] for name in "st"}
