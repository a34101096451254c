"""Random queries of the whole language over the streams of `process`, as text, with declarations that hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.growth.process import Declaration, Nulls, ddl, declarations

WINDOWS = (
    " [RANGE 3000 MICROSECONDS]",
    " [RANGE 10000 MICROSECONDS]",
    " [RANGE 6000 MICROSECONDS SLIDE 2000 MICROSECONDS]",
    " [RANGE 2000 MICROSECONDS SLIDE 5000 MICROSECONDS]",
    " [ROWS 7]",
    " [ROWS 30]",
    " [PARTITION BY y ROWS 3]",
    " [PARTITION BY g, y ROWS 2]",
    " [PARTITION BY k ROWS 2]",
    " [NOW]",
)
BUCKETS = (
    "{0}.ts / 2000",
    "{0}.ts - {0}.ts % 3000",
    "{0}.ts / 2000 * 2000",
    "{0}.ts",
    "CAST({0}.ts AS DOUBLE)",
    "({0}.ts + 500) / 4000",
)
TABLES = ("t", "t", "t", "(SELECT DISTINCT y FROM t)", "(SELECT y, COUNT(*) AS n FROM t GROUP BY y)")
SCALARS = (
    "SELECT MIN(y) FROM t",
    "SELECT COUNT(*) FROM b [ROWS 2]",
    "SELECT MAX(y) - 3 FROM a [RANGE 2000 MICROSECONDS]",
    "SELECT MAX(y) - 3 FROM b",
)


@dataclass(frozen=True, slots=True)
class Growing:
    """A random query: its text, and the NULLs of the data for which its declarations hold."""

    seed: int
    nulls: Nulls
    chosen: tuple[Declaration, ...]
    views: tuple[str, ...]
    select: str

    @property
    def script(self) -> str:
        return "\n".join([ddl(self.chosen), *self.views, f"CREATE QUERY q AS {self.select};"])

    def __str__(self) -> str:
        return f"random_query({self.seed})  -- NULLs: {self.nulls.value}\n{self.script}"


def random_query(seed: int) -> Growing:
    """The same query for the same seed."""
    random = Random(seed)
    nulls = random.choice((Nulls.NONE, Nulls.NONE, Nulls.OPEN, Nulls.CLOSED))
    chosen = tuple(_chosen(random, nulls))
    writer = _Writer(random)
    select = writer.query()
    return Growing(seed, nulls, chosen, tuple(writer.views), select)


def computed_query(seed: int) -> Growing:
    """A random query whose joins have computed inputs, with punctuations of keys."""
    random = Random(seed)
    nulls = random.choice((Nulls.NONE, Nulls.NONE, Nulls.NONE, Nulls.OPEN))
    wanted = ("PUNCTUATED BY (k) WHEN ends = 1", "PUNCTUATED BY (s) WHEN ends = 1")
    known = declarations(nulls)
    chosen = [one for one in known if one.text in wanted and random.random() < 0.9]
    chosen += [one for one in known if one not in chosen and random.random() < 0.15]
    writer = _Writer(random)
    return Growing(seed, nulls, tuple(chosen), tuple(writer.views), writer.computed())


def _chosen(random: Random, nulls: Nulls) -> Sequence[Declaration]:
    """Few declarations, many, or all of some kinds."""
    share = random.choice((0.15, 0.3, 0.6, 1.0))
    kinds = [kind for kind in ("UNIQUE", "PUNCT", "FOREIGN", "ORDERED", "CLUSTER") if random.random() < 0.7]
    return [one for one in declarations(nulls) if random.random() < share and one.text.startswith(tuple(kinds))]


@dataclass(slots=True)
class _From:
    """Sources with their aliases, and the conditions that join them."""

    sources: list[str]
    aliases: list[str]
    where: list[str]

    def text(self) -> str:
        where = f" WHERE {' AND '.join(self.where)}" if self.where else ""
        return f"FROM {', '.join(self.sources)}{where}"


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.views: list[str] = []
        self._count = 0

    def query(self) -> str:
        shapes: list[tuple[int, Callable[[], str]]] = [
            (6, self._plain),
            (4, self._grouped),
            (3, self._set_operation),
            (1, self._over_view),
            (1, self._over_derived),
        ]
        make = self.random.choices([make for _, make in shapes], [weight for weight, _ in shapes])[0]
        return make()

    def computed(self) -> str:
        """Semi-joins over semi-joins, joins with groups, and groups of both."""
        random, key = self.random, self.random.choice(("k", "k", "s", "ts / 2000"))
        source, alias = self._lasting(0.2)
        match random.randrange(5):
            case 0:
                tests = [self._matched(alias) for _ in range(random.randint(2, 3))]
                return f"SELECT {alias}.k AS c0, {alias}.x AS c1 FROM {source} WHERE {' AND '.join(tests)}"
            case 1:
                tests = [self._matched(alias) for _ in range(random.randint(1, 2))]
                by = f"{alias}.{key}"
                return f"SELECT {by} AS c0, COUNT(*) AS n FROM {source} WHERE {' AND '.join(tests)} GROUP BY {by}"
            case 2:
                groups = [self._keyed(key, name) for name in ("g", "h")]
                return f"SELECT g.c AS c0, g.n - h.n AS c1 FROM {', '.join(groups)} WHERE g.c = h.c"
            case 3:
                test = f" AND {self._matched(alias)}" if self._chance(0.3) else ""
                groups = self._keyed(key, "g")
                return f"SELECT g.n AS c0, {alias}.x AS c1 FROM {source}, {groups} WHERE g.c = {alias}.{key}{test}"
        other, its = self._lasting(0.0)
        joined = " AND ".join([*self._joined(its, alias), self._matched(random.choice((alias, its)))])
        return f"SELECT {alias}.k AS c0, {its}.x AS c1 FROM {source}, {other} WHERE {joined}"

    def _matched(self, outer: str) -> str:
        source, alias = self._lasting(0.05)
        column = self.random.choice("kkks")
        where = [f"{alias}.{column} = {outer}.{column}"]
        if self._chance(0.3):
            where.append(self._band(alias, outer))
        if self._chance(0.2):
            where.append(self._matched(alias))
        negated = self.random.choice(("", "NOT "))
        return f"{negated}EXISTS (SELECT 1 AS one FROM {source} WHERE {' AND '.join(where)})"

    def _keyed(self, key: str, name: str) -> str:
        source, alias = self._lasting(0.05)
        where = f" WHERE {self._matched(alias)}" if self._chance(0.3) else ""
        by = f"{alias}.{key}"
        return f"(SELECT {by} AS c, COUNT(*) AS n, MAX({alias}.x) AS m FROM {source}{where} GROUP BY {by}) {name}"

    def _lasting(self, windows: float) -> tuple[str, str]:
        alias, window = self._alias(), self.random.choice(WINDOWS) if self._chance(windows) else ""
        return f"{self.random.choice('abc')}{window} {alias}", alias

    def _alias(self) -> str:
        self._count += 1
        return f"r{self._count}"

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _source(self, windows: float = 0.4) -> tuple[str, str]:
        stream = self.random.choice(("a", "a", "a", "b", "b", "c", "p"))
        alias = self._alias()
        window = self.random.choice(WINDOWS) if self._chance(windows) else ""
        return f"{stream}{window} {alias}", alias

    def _from(self, most: int = 4, subqueries: bool = True) -> _From:
        random = self.random
        count = min(most, random.choice((1, 1, 2, 2, 2, 2, 3, 3, 4)))
        windows = random.choice((0.0, 0.0, 0.5, 1.0))
        made = _From([], [], [])
        for _ in range(count):
            source, alias = self._source(windows)
            if made.aliases:
                made.where += self._joined(alias, random.choice(made.aliases))
            made.sources.append(source)
            made.aliases.append(alias)
        if count > 2 and self._chance(0.2):
            made.where += self._joined(*random.sample(made.aliases, 2))
        if self._chance(0.1):
            alias = self._alias()
            made.where.append(f"{alias}.y = {random.choice(made.aliases)}.y")
            made.sources.append(f"{random.choice(TABLES)} {alias}")
        if self._chance(0.03):
            made.where.append(f"{random.choice(made.aliases)}.y > ({random.choice(SCALARS)})")
        if self._chance(0.3):
            made.where.append(self._filter(random.choice(made.aliases)))
        if subqueries and self._chance(0.3 if count < 3 else 0.1):
            made.where.append(self._subquery(random.choice(made.aliases)))
            if self._chance(0.2):
                made.where.append(self._subquery(random.choice(made.aliases)))
        return made

    def _joined(self, one: str, other: str) -> list[str]:
        random = self.random
        equal = [
            f"{one}.k = {other}.k",
            f"{one}.k = {other}.k",
            f"{one}.s = {other}.s",
            f"{one}.k = {other}.k AND {one}.g = {other}.g",
            f"{one}.s = {other}.s AND {one}.g = {other}.g",
            f"{one}.id = {other}.id",
            f"{one}.y = {other}.y",
        ]
        found = [random.choice(equal)] if self._chance(0.8) else []
        if not found or self._chance(0.3):
            found.append(self._band(one, other))
        return found

    def _band(self, one: str, other: str) -> str:
        return self.random.choice(
            (
                f"{one}.ts BETWEEN {other}.ts - 2000 AND {other}.ts + 3000",
                f"{one}.ts BETWEEN {other}.ts AND {other}.ts + 2000",
                f"{one}.ts >= {other}.ts",
                f"{one}.ts <= {other}.ts + 1000",
                f"{one}.ts = {other}.ts",
                f"{one}.ts / 1000 = {other}.ts / 1000",
                f"{one}.ts > {other}.ts AND {one}.ts < {other}.ts + 1500",
                f"{one}.x < {other}.x",
            )
        )

    def _filter(self, alias: str) -> str:
        return self.random.choice(
            (
                f"{alias}.ends = 0",
                f"{alias}.y IN (1, 2)",
                f"{alias}.y > 2",
                f"{alias}.x % 2 = 0",
                f"{alias}.k IS NOT NULL",
                f"{alias}.x IS NULL",
                f"{alias}.s LIKE '%7'",
                f"({alias}.y = 1 OR {alias}.g = 0)",
                f"{alias}.k % 3 = 0",
                f"{alias}.k IN (3, 7)",
                f"{alias}.k BETWEEN 2 AND 5",
                f"{alias}.x > 1000 AND {alias}.w <> 'w'",
            )
        )

    def _subquery(self, outer: str) -> str:
        random = self.random
        negated = random.choice(("", "NOT "))
        if self._chance(0.08):
            return f"{outer}.y {negated}IN (SELECT y FROM t WHERE y IS NOT NULL)"
        inner = self._inner(outer)
        if isinstance(inner, str):
            return f"{negated}EXISTS ({inner})"
        column = random.choice("kks")
        made, alias = inner
        return f"{outer}.{column} {negated}IN (SELECT {alias}.{column} {made.text()})"

    def _inner(self, outer: str) -> str | tuple[_From, str]:
        random = self.random
        source, alias = self._source(random.choice((0.0, 0.5)))
        made = _From([source], [alias], [])
        if self._chance(0.2):
            other, its = self._source(0.3)
            made.where += self._joined(its, alias)
            made.sources.append(other)
            made.aliases.append(its)
        if self._chance(0.25):
            made.where.append(self._filter(alias))
        if self._chance(0.15) and len(made.sources) == 1:
            made.where.append(self._subquery(alias))
        if self._chance(0.3):
            return made, alias
        made.where += self._joined(alias, outer)
        return f"SELECT 1 AS one {made.text()}"

    def _columns(self, made: _From, least: int = 1) -> list[str]:
        random = self.random
        count = random.randint(least, 3)
        return [
            f"{random.choice(made.aliases)}.{random.choice(('k', 'k', 's', 'g', 'x', 'id', 'ts', 'w', 'y'))} AS c{n}"
            for n in range(count)
        ]

    def _listed(self, items: str, distinct: bool = False) -> str:
        items = f"DISTINCT {items}" if distinct else items
        operator = self.random.choice(("", "", "", "", "ISTREAM", "DSTREAM", "RSTREAM"))
        return f"{operator}({items})" if operator else items

    def _plain(self) -> str:
        made = self._from()
        return f"SELECT {self._listed(', '.join(self._columns(made)), self._chance(0.3))} {made.text()}"

    def _keys(self, made: _From) -> list[str]:
        random = self.random
        alias = random.choice(made.aliases)
        return random.choice(
            (
                [f"{alias}.k"],
                [f"{alias}.s"],
                [f"{alias}.k", f"{alias}.g"],
                [f"{alias}.k", f"{alias}.x"],
                [f"{alias}.y"],
                [random.choice(BUCKETS).format(alias)],
                [random.choice(BUCKETS).format(alias)],
                [f"{alias}.k", random.choice(BUCKETS).format(alias)],
                [f"{alias}.s", f"{random.choice(made.aliases)}.y"],
                [f"{alias}.id"],
                [f"{alias}.id", f"{alias}.ts"],
                [],
            )
        )

    def _aggregates(self, made: _From) -> list[str]:
        random = self.random
        alias = random.choice(made.aliases)
        options = (
            "COUNT(*)",
            f"SUM({alias}.x)",
            f"MIN({alias}.x)",
            f"MAX({alias}.w)",
            f"COUNT(DISTINCT {alias}.k)",
            f"COUNT(DISTINCT {alias}.s)",
            f"COUNT(DISTINCT {alias}.x)",
            f"AVG({alias}.y)",
            f"COUNT(*) FILTER (WHERE {alias}.y = 1)",
        )
        return [f"{each} AS m{n}" for n, each in enumerate(random.sample(options, random.randint(1, 2)))]

    def _grouped(self) -> str:
        made = self._from(3)
        keys = self._keys(made)
        items = [f"{key} AS c{n}" for n, key in enumerate(keys)] + self._aggregates(made)
        simple = not any("[" in source for source in made.sources) and "(SELECT" not in made.text()
        closes = bool(keys) and simple and self._chance(0.4)
        listed = ", ".join(items) if closes else self._listed(", ".join(items))
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        having = " HAVING COUNT(*) > 1" if self._chance(0.2) else ""
        return f"SELECT {listed} {made.text()}{group}{having}{' EMIT ON CLOSE' if closes else ''}"

    def _part(self, columns: Sequence[str]) -> str:
        """One side of a set operation."""
        made = self._from(2)
        alias = self.random.choice(made.aliases)
        listed = ", ".join(f"{alias}.{column} AS c{n}" for n, column in enumerate(columns))
        return f"SELECT {listed} {made.text()}"

    def _set_operation(self) -> str:
        random = self.random
        columns = random.choice((["k"], ["s"], ["k", "x"], ["k", "g"], ["ts"], ["k", "ts"], ["y"], ["id"], ["s", "w"]))
        operation = random.choice(("UNION", "UNION", "EXCEPT", "INTERSECT", "UNION ALL", "EXCEPT ALL", "INTERSECT ALL"))
        text = f"{self._part(columns)} {operation} {self._part(columns)}"
        match random.randrange(5):
            case 0:
                return f"SELECT DISTINCT c0 FROM ({text}) {self._alias()}"
            case 1:
                return f"SELECT c0, COUNT(*) AS n FROM ({text}) {self._alias()} GROUP BY c0"
        return text

    def _grouping(self, key: str) -> str:
        made = self._from(2)
        alias = self.random.choice(made.aliases)
        grouped = f"{made.text()} GROUP BY {alias}.{key}"
        return f"SELECT {alias}.{key} AS {key}, COUNT(*) AS n, MAX({alias}.ts) AS last {grouped}"

    def _over_derived(self) -> str:
        """A join with a grouped or distinct subquery."""
        random = self.random
        key = random.choice(("k", "s", "ts"))
        sub, source = self._alias(), self._source(0.3)
        query = self._grouping(key) if self._chance(0.7) else self._distinct(key)
        listed = self._listed(f"{sub}.{key} AS c0, {source[1]}.x AS c1")
        return f"SELECT {listed} FROM ({query}) {sub}, {source[0]} WHERE {sub}.{key} = {source[1]}.{key}"

    def _distinct(self, key: str) -> str:
        made = self._from(2)
        return f"SELECT DISTINCT {self.random.choice(made.aliases)}.{key} AS {key} {made.text()}"

    def _over_view(self) -> str:
        random = self.random
        made = self._from(2)
        alias = random.choice(made.aliases)
        kind = random.randrange(3)
        if kind == 0:
            body = f"SELECT {alias}.k AS k, {alias}.s AS s, {alias}.ts AS ts, {alias}.x AS x {made.text()}"
        elif kind == 1:
            body = f"SELECT DISTINCT {alias}.k AS k, {alias}.s AS s, {alias}.ts AS ts, {alias}.x AS x {made.text()}"
        else:
            body = (
                f"SELECT {alias}.k AS k, {alias}.s AS s, MAX({alias}.ts) AS ts, SUM({alias}.x) AS x {made.text()} "
                f"GROUP BY {alias}.k, {alias}.s"
            )
        self.views.append(f"CREATE VIEW v AS {body};")
        match random.randrange(4):
            case 0:
                return f"SELECT {self._listed('v.k AS c0, v.x AS c1')} FROM v"
            case 1:
                return "SELECT v.k AS c0, COUNT(*) AS n FROM v GROUP BY v.k"
            case 2:
                return f"SELECT {self._listed('v.k AS c0, w.x AS c1')} FROM v, v w WHERE v.k = w.k"
        source, its = self._source(0.3)
        column = random.choice("ks")
        return f"SELECT {self._listed(f'v.k AS c0, {its}.x AS c1')} FROM v, {source} WHERE v.{column} = {its}.{column}"
