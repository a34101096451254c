"""Random queries of all shapes that bounded memory speaks of, over all types, with tables, and rows for them.

`cases` makes conjunctions of comparisons in the theory's own terms. Here the SQL is random, so that aggregates, lists,
tables and windows come in as users write them.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

from penstock.register.states import StatefulOperator, Theory
from penstock.register.verdict import Verdict, check_query
from tests.constant.cases import Bounded
from tests.engines.comparing import bound
from tests.generators import Case

COLUMNS = {
    "i": "BIGINT",
    "j": "INT",
    "x": "DOUBLE",
    "n": "STRING",
    "day": "DATE",
    "at": "TIMESTAMP",
    "p": "DECIMAL(9, 2)",
    "ok": "BOOLEAN",
}
DDL = "CREATE TABLE k (f BIGINT, g STRING);" + "".join(
    f"CREATE STREAM {name} ({', '.join(f'{c} {t}' for c, t in COLUMNS.items())}, ts BIGINT) TIMESTAMP BY ts;"
    for name in "stu"
)
RANGES = {
    "i": ("1", "4"),
    "j": ("0", "3"),
    "day": ("DATE '1970-01-02'", "DATE '1970-01-05'"),
    "at": ("TIMESTAMP '1970-01-01 00:00:00.000001'", "TIMESTAMP '1970-01-01 00:00:00.000004'"),
    "p": ("0.50", "0.53"),
}
LISTS = {"i": "1, 3", "j": "0, 2", "x": "1.0, 2.5", "n": "'v1', 'v2'"}
JOINS = frozenset({StatefulOperator.JOIN, StatefulOperator.SEMI_JOIN, StatefulOperator.ANTI_JOIN})


def shaped_cases(first: int, count: int, rows: int) -> Iterator[tuple[int, Bounded, Verdict]]:
    """So many queries whose joins bounded memory bounds, from a seed on, each with its own."""
    seed = first
    while count:
        random = Random(seed)
        case = Case(DDL, _Writer(random).query(), data(random, rows), None, "")
        query, catalog = bound(case)
        verdict = check_query(query, catalog)
        counted = any(state.by is Theory.ARITHMETIC and state.operator in JOINS for state in verdict.states)
        if verdict.safe and not verdict.empty and counted:
            yield seed, Bounded(case, query, catalog), verdict
            count -= 1
        seed += 1


def shaped_verdict(seed: int) -> Verdict:
    """What is said of the query of a seed, whether it is safe or not."""
    random = Random(seed)
    return check_query(*bound(Case(DDL, _Writer(random).query(), data(random, 1), None, "")))


def data(random: Random, rows: int) -> dict[str, list[tuple[Any, ...]]]:
    def row(ts: int) -> tuple[Any, ...]:
        x = random.choice((1.0, 2.5, random.random() * 5))
        p, day, at = Decimal(random.randint(48, 56)) / 100, random.randint(0, 7), random.randint(0, 6)
        values = (random.randint(0, 6), random.randint(-1, 4), x, f"v{random.randint(0, 4)}", day, at, p)
        return (*(None if random.random() < 0.04 else value for value in (*values, random.random() < 0.5)), ts // 2)

    table = [(1, "v1"), (2, "v2"), (2, "v0"), (None, "v3"), (4, None)]
    return {**{name: [row(ts) for ts in range(rows)] for name in "stu"}, "k": table}


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.names = list("stu"[: random.choice((2, 2, 2, 3))])

    def query(self) -> str:
        shape = self.random.choice((self._plain, self._plain, self._groups, self._groups, self._groups, self._matches))
        return shape()

    def _plain(self) -> str:
        shown = [self._column(self.names) for _ in range(self.random.choice((1, 2)))]
        once = self.random.choice(("", "DISTINCT "))
        columns = ", ".join(f"{column} AS c{n}" for n, column in enumerate(shown))
        return f"SELECT {once}{columns} {self._from(shown)}"

    def _groups(self) -> str:
        keys = [self._column(self.names) for _ in range(self.random.choice((0, 1, 1, 2)))]
        aggregates = [self._aggregate(self.names, keys) for _ in range(self.random.choice((1, 2, 3)))]
        columns = [f"{each} AS c{n}" for n, each in enumerate((*keys, *aggregates))]
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        having = " HAVING COUNT(*) > 2" if keys and self.random.random() < 0.2 else ""
        return f"SELECT {', '.join(columns)} {self._from(keys)}{by}{having}"

    def _matches(self) -> str:
        self.names = ["s", "t"]
        key = self._column(["s"])
        own, others = self._bounded([key]), [*self._crossing(), *(["t.i = k.f"] if self.random.random() < 0.2 else [])]
        others += self._bounded([c for c in self._named(others) if c.startswith("t")])
        own += self._bounded([c for c in self._named(others) if c.startswith("s")])
        tables = "t, k" if "t.i = k.f" in others else "t"
        exists = f"{self.random.choice(('', 'NOT '))}EXISTS (SELECT 1 FROM {tables} WHERE {' AND '.join(others)})"
        where = " AND ".join((*own, exists))
        if self.random.random() < 0.5:
            return f"SELECT {key} AS c0 FROM s WHERE {where}"
        aggregate = self._aggregate(["s"], [key])
        return f"SELECT {key} AS c0, {aggregate} AS c1 FROM s WHERE {where} GROUP BY {key}"

    def _from(self, shown: list[str]) -> str:
        crossing = self._crossing()
        table = self.random.random() < 0.3
        bounded = self._bounded([*shown, *self._named(crossing)])
        if table:
            name = self.random.choice(self.names)
            crossing.append(self.random.choice((f"{name}.i = k.f", f"{name}.i < k.f", f"{name}.n <> k.g")))
        windows = [self.random.choice(("[ROWS 3]", "[RANGE 4 MICROSECONDS]", *[""] * 20)) for _ in self.names]
        sources = [f"{name} {window}" for name, window in zip(self.names, windows, strict=True)] + ["k"] * table
        return f"FROM {', '.join(sources)} WHERE {' AND '.join((*crossing, *bounded))}"

    def _column(self, names: list[str]) -> str:
        return f"{self.random.choice(names)}.{self.random.choice(list(COLUMNS))}"

    def _aggregate(self, names: list[str], kept: list[str]) -> str:
        function = self.random.choice(("COUNT(*)", "COUNT", "SUM", "AVG", "MIN", "MAX", "COUNT(DISTINCT"))
        if function == "COUNT(*)":
            return function
        if function == "COUNT(DISTINCT":
            return f"COUNT(DISTINCT {self.random.choice(kept)})" if kept else "COUNT(*)"
        column = self.random.choice("ijxp" if function in ("SUM", "AVG") else list(COLUMNS))
        more = " * 2" if column in "ij" and self.random.random() < 0.2 else ""
        return f"{function}({self.random.choice(names)}.{column}{more})"

    def _crossing(self) -> list[str]:
        found = []
        for left, right in zip(self.names, self.names[1:], strict=False):
            column = self.random.choice(list(COLUMNS))
            ordered = column not in ("n", "ok")
            op = self.random.choice(("=", "=", "=", "<", "<=", ">", ">=", "<>") if ordered else ("=", "=", "<>"))
            found.append(self._compared(f"{left}.{column}", op, f"{right}.{column}"))
        return found

    def _compared(self, left: str, op: str, right: str) -> str:
        if left[2:] == "at":
            return f"{left} {op} {right}{self.random.choice(('', ' + INTERVAL 2 MICROSECONDS'))}"
        if left[2:] in "ij":
            apart = f"{left} - {right} BETWEEN -1 AND 2"
            return self.random.choice(
                (f"{left} {op} {right}", f"{left} {op} {right} + 1", f"{left} - {right} {op} 1", apart)
            )
        return f"{left} {op} {right}"

    def _named(self, predicates: list[str]) -> list[str]:
        words = [word for predicate in predicates for word in predicate.split()]
        return sorted({word for word in words if word[1:2] == "." and word[0] in "stu"})

    def _bounded(self, columns: list[str]) -> list[str]:
        return [self._bound(column) for column in dict.fromkeys(columns) if self.random.random() < 0.85]

    def _bound(self, column: str) -> str:
        name = column[2:]
        if name == "ok":
            return column
        if name in LISTS and (name not in RANGES or self.random.random() < 0.4):
            return f"{column} IN ({LISTS[name]})"
        low, high = RANGES[name]
        return self.random.choice(
            (
                f"{column} BETWEEN {low} AND {high}",
                f"{column} > {low} AND {column} < {high}",
                f"{column} = {low}",
            )
        )
