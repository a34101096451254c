"""k-constraint data: the join graphs and streams of the experiments of thesis 6.5 to 6.10.

The graphs are those of figure 6.9, which the text describes. Streams are generated for given k (`adherence`) and come
at even rates, each row at an instant of its own. Windows have 50,000 rows of each stream, multiplicities are 5 and
selectivities 50% unless said otherwise, as in 6.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.workloads.adherence import Ints, clustered, referring, scrambled, steady, varying

WINDOW = 50_000
MULTIPLICITY = 5
#: Filters are on values below 100.
SELECTIVITY = 50

StreamTables = dict[str, pa.Table]
#: A k that stays, or the least and the largest of one that varies.
K = int | tuple[int, int]


@dataclass(frozen=True, slots=True)
class Graph:
    """A join graph: the join columns of its streams, how many rows of each come in a cycle, and its many-one joins."""

    columns: Mapping[str, tuple[str, ...]]
    shares: Mapping[str, int]
    joins: tuple[str, ...]
    #: By child its key. Children are filtered.
    keys: Mapping[str, str]

    @property
    def cycle(self) -> int:
        """Instants in which each stream brings its share of rows."""
        return sum(self.shares.values())

    @property
    def parents(self) -> list[str]:
        return [name for name in self.columns if name not in self.keys]

    def ddl(self, declared: Mapping[str, Sequence[str]]) -> str:
        """The streams with these constraints; `id` names their rows, so that a join can tell that a result is new."""
        return "\n".join(
            f"CREATE STREAM {name} (id BIGINT, {', '.join(f'{column} BIGINT' for column in columns)}, v BIGINT, "
            f"ts BIGINT, {', '.join(('UNIQUE (id)', *declared.get(name, ())))}) TIMESTAMP BY ts;"
            for name, columns in self.columns.items()
        )

    def query(self, selectivity: int = SELECTIVITY, window: int | None = WINDOW) -> str:
        """All results, as they come about, of windows of so many rows; without, of all rows."""
        rows = "" if window is None else f" [ROWS {window}]"
        sources = ", ".join(f"{name}{rows}" for name in self.columns)
        ids = ", ".join(f"{name}.id AS {name}_id" for name in self.columns)
        where = " AND ".join((*self.joins, *(f"{child}.v < {selectivity}" for child in self.keys)))
        unbounded = "" if window is not None else " ALLOW UNBOUNDED"
        return f"CREATE QUERY results AS SELECT ISTREAM({ids}) FROM {sources} WHERE {where}{unbounded};"

    def times(self, name: str, rows: int, late: int = 0) -> Ints:
        """When a stream's rows come, from so many cycles on: in a cycle children first, then the parents in turn."""
        children, parents = list(self.keys), self.parents
        share, is_child = self.shares[name], name in self.keys
        start = children.index(name) if is_child else len(children) + parents.index(name)
        at = np.arange(rows)
        return (at // share + late) * self.cycle + start + at % share * (1 if is_child else len(parents))

    def table(self, random: np.random.Generator, name: str, values: Sequence[Ints], late: int = 0) -> pa.Table:
        """Rows with these values of the join columns."""
        count = len(values[0])
        own = {"id": np.arange(count), **dict(zip(self.columns[name], values, strict=True))}
        return pa.table(own | {"v": random.integers(0, 100, count), "ts": self.times(name, count, late)})

    def counts(self, rows: int) -> dict[str, int]:
        """How many rows of each stream there are among so many."""
        cycles = rows // self.cycle
        return {name: cycles * share for name, share in self.shares.items()}


#: S1 → S2 by A and S1 → S3 by B: RIDS, and CA with OAC.
FORK = Graph(
    {"s1": ("a", "b"), "s2": ("a",), "s3": ("b",)},
    {"s1": 5, "s2": 1, "s3": 1},
    ("s1.a = s2.a", "s1.b = s3.b"),
    {"s2": "a", "s3": "b"},
)
#: S1 → S3 ← S2 by A: CA, and OAP.
MEETING = Graph(
    {"s1": ("a",), "s2": ("a",), "s3": ("a",)},
    {"s1": 5, "s2": 5, "s3": 1},
    ("s1.a = s3.a", "s2.a = s3.a"),
    {"s3": "a"},
)
#: S1 → S2 by A: OAC.
PAIR = Graph({"s1": ("a",), "s2": ("a",)}, {"s1": 5, "s2": 1}, ("s1.a = s2.a",), {"s2": "a"})
#: The same, with a multiplicity of 2: CA with RIDS.
PAIR_OF_TWO = Graph(PAIR.columns, {"s1": 2, "s2": 1}, PAIR.joins, PAIR.keys)


def unique(graph: Graph) -> dict[str, list[str]]:
    """Declares that the joins are many-one."""
    return {child: [f"UNIQUE ({key})"] for child, key in graph.keys.items()}


def with_rids(graph: Graph, within: str) -> dict[str, list[str]]:
    """RIDS on each join; `within` is `WITHIN n ROWS` or `INFERRED`."""
    return unique(graph) | {
        parent: [
            f"FOREIGN KEY ({key}) REFERENCES {child} ({key}) {within}"
            for child, key in graph.keys.items()
            if key in graph.columns[parent]
        ]
        for parent in graph.parents
    }


def with_ca(graph: Graph, within: str, column: str = "a") -> dict[str, list[str]]:
    """CA on the parents' column."""
    return unique(graph) | {parent: [f"CLUSTERED BY {column} {within}"] for parent in graph.parents}


def with_oap(graph: Graph, within: str) -> dict[str, list[str]]:
    """OA on the parents' column."""
    return unique(graph) | {parent: [f"ORDERED BY a {within}"] for parent in graph.parents}


def with_oac(graph: Graph, within: str, child: str = "s2") -> dict[str, list[str]]:
    """OA on a child's column."""
    own = unique(graph)
    return own | {child: [*own[child], f"ORDERED BY {graph.keys[child]} {within}"]}


def together(*declared: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """All these constraints, each once."""
    names = dict.fromkeys(name for one in declared for name in one)
    return {name: list(dict.fromkeys(text for one in declared for text in one.get(name, ()))) for name in names}


def rids_data(rows: int, k: K, seed: int = 0) -> StreamTables:
    """FORK with RIDS(k) on both joins."""
    random, counts = np.random.default_rng(seed), FORK.counts(rows)
    ks = _ks(counts["s1"], k)
    names = _names(random, counts["s2"] + int(ks.max()) + 1)
    come = np.arange(counts["s1"]) // FORK.shares["s1"] + 1
    parents = [names[referring(random, come, ks)] for _ in "ab"]
    children = names[: counts["s2"]]
    return {
        "s1": FORK.table(random, "s1", parents),
        "s2": FORK.table(random, "s2", [children]),
        "s3": FORK.table(random, "s3", [children]),
    }


def ca_data(rows: int, k: K, seed: int = 0) -> StreamTables:
    """MEETING with CA(k) on both parents, whose rows come after their children: RIDS(0), which is not declared."""
    return _meeting(rows, k, seed, is_ordered=False)


def oap_data(rows: int, k: K, seed: int = 0) -> StreamTables:
    """MEETING with OAP(k) on both parents, whose rows come after their children."""
    return _meeting(rows, k, seed, is_ordered=True)


def _meeting(rows: int, k: K, seed: int, is_ordered: bool) -> StreamTables:
    random, counts = np.random.default_rng(seed), MEETING.counts(rows)
    share = MEETING.shares["s1"]
    parents = {name: clustered(random, _ks(counts["s1"], k), share) for name in ("s1", "s2")}
    late = max(0, *(int((values - np.arange(len(values)) // share).max()) for values in parents.values()))
    names = np.arange(counts["s3"] + late) if is_ordered else _names(random, counts["s3"] + late)
    tables = {name: MEETING.table(random, name, [names[values]], late) for name, values in parents.items()}
    return tables | {"s3": MEETING.table(random, "s3", [names])}


def oac_data(rows: int, k: K, seed: int = 0) -> StreamTables:
    """PAIR with OAC(k) on s2. Rows of s1 come before their child, and after it."""
    random, counts = np.random.default_rng(seed), PAIR.counts(rows)
    parents = np.arange(counts["s1"]) // PAIR.shares["s1"]
    children = scrambled(random, _ks(counts["s2"], k))
    return {"s1": PAIR.table(random, "s1", [parents]), "s2": PAIR.table(random, "s2", [children])}


def ca_oac_data(rows: int, k: int, seed: int = 0) -> StreamTables:
    """FORK with CA(0) on s1.a, RIDS(0) towards s2, and OAC(k) on s3.b, where a quarter of s1 finds no child (6.17)."""
    random, counts = np.random.default_rng(seed), FORK.counts(rows)
    share, each = FORK.shares["s1"], np.arange(counts["s1"])
    names = _names(random, counts["s2"])
    wanted = (each + random.integers(0, 10 * share, counts["s1"])) // share
    # No row of s3 has an odd value.
    odd = random.random(counts["s1"]) < 0.25
    return {
        "s1": FORK.table(random, "s1", [names[each // share], 2 * wanted + odd]),
        "s2": FORK.table(random, "s2", [names]),
        "s3": FORK.table(random, "s3", [2 * scrambled(random, steady(counts["s3"], k))]),
    }


def ca_rids_data(rows: int, k: int, clustering: int, seed: int = 0) -> StreamTables:
    """PAIR_OF_TWO with CA on s1.a, and RIDS(k) (6.18)."""
    random, counts = np.random.default_rng(seed), PAIR_OF_TWO.counts(rows)
    share = PAIR_OF_TWO.shares["s1"]
    parents = clustered(random, steady(counts["s1"], clustering), share)
    children = scrambled(random, steady(counts["s2"], k))
    places = np.full(max(int(children.max()), int(parents.max())) + 1, -1, np.int64)
    places[children] = np.arange(len(children))
    names = _names(random, len(places))
    # How many children come after a row until its own has come; parents are moved in time until that is k at most.
    waits = places[parents] + 1 - (np.arange(len(parents)) // share + 1)
    late = int(waits.max()) - k
    moved = {"s1": max(late, 0), "s2": max(-late, 0)}
    return {
        "s1": PAIR_OF_TWO.table(random, "s1", [names[parents]], moved["s1"]),
        "s2": PAIR_OF_TWO.table(random, "s2", [names[children]], moved["s2"]),
    }


def _ks(rows: int, k: K) -> Ints:
    return steady(rows, k) if isinstance(k, int) else varying(rows, *k)


def _names(random: np.random.Generator, count: int) -> Ints:
    """Values in no order."""
    return random.permutation(count).astype(np.int64)
