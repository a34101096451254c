"""The figures of thesis chapter 5: what caches and trees of joins earn over MJoins, and how the choice adapts.

Each join is run as an MJoin, as the best XJoin (of all trees of binary joins), with its caches forced, and as it
chooses by itself, in turn. Each figure is the best of several runs, in rows per second of CPU time. The thesis draws
most experiments twice: the rates, and the MJoin's rate over the rate with caches, which is below one where these pay.

Figures 5.19 and 5.20 drop the index on S.B, so that a row of T examines the whole window of S. Joins here index what
they probe by, always. What can be dear in its place is what a probe finds in vain: a row of T finds so many rows of S,
of which one has a partner in R.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, combinations, product
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from svg import Chart, Line

sys.path.append(str(Path(__file__).parents[1]))

from bench_caches import vain
from bench_orders import extremes

from penstock.algebra.join_trees import TreeJoin, nodes
from penstock.algebra.named_joins import joins_of
from penstock.algebra.rewrites import normalise
from penstock.engines.embedded import EmbeddedEngine
from penstock.operators.joins.mjoin import JoinCore
from penstock.plan.adaptivity import FULL, OFF, Adaptive
from penstock.plan.caches import Cache, CacheChoice
from penstock.plan.join_choice import JoinChoice
from penstock.plan.join_trees import join_trees
from penstock.sql import bind_text
from penstock.workloads import join_caches as data
from penstock.workloads.join_orders import TABLE_5_2, JoinWorkload, sample_point

ROWS = int(os.environ.get("ROWS", "400000"))
ROUNDS = int(os.environ.get("RUNS", "3"))
PUSHED = 1 << 16
#: What part of the rows is enough to compare trees, and sets of caches.
TRIED = 10
#: Of so many streams all trees are tried: of five there are 105, of six 945.
MOST_STREAMS = 5
#: Of how many candidates all sets are tried (m of 5.7); and the bytes that they may take.
CANDIDATES, MEMORY = 6, 1 << 23
#: Instants of figure 5.22 before the burst and in it, and of one point.
CALM, FAST, POINT = 100_000, 60_000, 5_000
#: Kilobytes of figure 5.23.
MEMORIES = (0, 8, 16, 32, 64, 128, 256, 512)

Pieces = Iterable[Mapping[str, pa.RecordBatch]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Way:
    """A way to run a join: along a tree or as one MJoin, adaptive or not, with what is set before its first row."""

    tree: TreeJoin | None = None
    adaptive: Adaptive = OFF
    prepare: Callable[[JoinCore], None] | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """The rows and the CPU seconds of each piece of a run; its results; and the most bytes that it kept."""

    rows: tuple[int, ...]
    seconds: tuple[float, ...]
    results: int
    kept: int

    @property
    def rate(self) -> float:
        return sum(self.rows) / sum(self.seconds)

    def least(self, other: Measured | None) -> Measured:
        """The lesser time of each piece."""
        return self if other is None else replace(self, seconds=tuple(map(min, self.seconds, other.seconds)))


def run(workload: JoinWorkload, way: Way, pieces: Pieces) -> Measured:
    bound = bind_text(workload.script).checked()
    query = bound.queries[0] if way.tree is None else replace(bound.queries[0], trees=(way.tree,))
    engine = EmbeddedEngine(query, bound.catalog, adaptive=way.adaptive)
    if way.prepare is not None:
        (join,) = engine._machines[0][0].joins
        way.prepare(join)
    rows, seconds, results, kept = [], [], 0, 0
    for piece in pieces:
        start = time.process_time()
        for stream, batch in piece.items():
            engine.push(stream, batch)
        results += engine.advance().num_rows
        seconds.append(time.process_time() - start)
        rows.append(sum(batch.num_rows for batch in piece.values()))
        kept = max(kept, engine.state()[1])
    return Measured(tuple(rows), tuple(seconds), results + engine.finish().num_rows, kept)


def compared(workload: JoinWorkload, ways: Mapping[str, Way], pieces: Callable[[], Pieces]) -> dict[str, Measured]:
    """Each way in turn, several times."""
    found: dict[str, Measured] = {}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            found[name] = run(workload, way, pieces()).least(found.get(name))
    assert len({one.results for one in found.values()}) == 1, "no way changes the answer"
    told = ", ".join(f"{name} {one.rate / 1000:,.0f}" for name, one in found.items())
    print(f"  {workload.name:10} thousand rows a second: {told}", flush=True)
    return found


def fastest(workload: JoinWorkload, ways: Mapping[T, Way]) -> T:
    """What is fastest over some of the rows."""

    def rate(some: T) -> float:
        return max(run(workload, ways[some], workload.pieces(ROWS // TRIED, PUSHED)).rate for _ in range(2))

    return max(ways, key=rate)


def best_xjoin(workload: JoinWorkload) -> Way:
    trees = {tree: Way(tree) for tree in xjoins(workload)}
    return trees[fastest(workload, trees)]


def xjoins(workload: JoinWorkload) -> Iterator[TreeJoin]:
    """All trees of binary joins."""
    query = bind_text(workload.script).checked().queries[0]
    (join,) = joins_of(normalise(query).relation).values()
    for tree in join_trees(join):
        if all(len(node.inputs) == 2 for node in nodes(tree)):
            yield tree


def forced(join: JoinCore) -> None:
    """Uses all caches with the prefix invariant that do not overlap, the longest first."""
    used: list[Cache] = []
    for each in sorted(join.caching.candidates(), key=lambda one: -len(one.members)):
        if not each.semijoined and not any(each.overlaps(other) for other in used):
            used.append(each)
    join.caching.use(CacheChoice(tuple(used), memory=MEMORY))


def plans(workload: JoinWorkload) -> dict[str, Measured]:
    """What a plain MJoin, the best XJoin, forced caches and the adaptive join make of all rows."""
    ways = {"MJoin": Way()}
    if len(workload.streams) <= MOST_STREAMS:
        ways["best XJoin"] = best_xjoin(workload)
    ways |= {"caches forced": Way(prepare=forced), "Penstock": Way(adaptive=FULL)}
    return compared(workload, ways, partial(workload.pieces, ROWS, PUSHED))


#: The experiments of 5.8.3: what is varied, and the joins by its values.
EXPERIMENTS: dict[str, tuple[str, Callable[[], dict[float, JoinWorkload]]]] = {
    "Cache hit probability": (
        "multiplicity of T.B: all but one of so many probes can hit",
        lambda: {each: data.three_way(each) for each in (1, 2, 3, 5, 8, 10)},
    ),
    "Join selectivity": (
        "rows of R ⋈ S that a row of T finds",
        lambda: {0.2: data.selective(1, 5), 0.5: data.selective(1, 2)} | {n: data.selective(n) for n in (1, 2, 3, 5)},
    ),
    "Update to probe ratio": (
        "rows of R ⋈ S that come, for one of T",
        lambda: {each / data.MULTIPLICITY: data.updated(each) for each in (1, 2, 3, 5, 8, 10)},
    ),
    "Number of joins": ("streams", lambda: {each: data.one_attribute(each) for each in (3, 4, 5, 6, 7)}),
    "Join cost": (
        "rows that a row of T finds, all but one in vain",
        lambda: {n: vain(n) for n in (1, 4, 8, 16, 32, 64)},
    ),
}


@cache
def experiment(title: str) -> dict[float, dict[str, Measured]]:
    return {at: plans(workload) for at, workload in EXPERIMENTS[title][1]().items()}


def absolute(title: str) -> Chart:
    return Chart(title, EXPERIMENTS[title][0], "thousand rows per second", _lines(experiment(title)))


def relative(title: str) -> Chart:
    """As in the thesis: below one where the MJoin is slower."""
    points: dict[str, list[tuple[float, float]]] = {}
    for at, found in experiment(title).items():
        for name, one in found.items():
            points.setdefault(name, []).append((at, found["MJoin"].rate / one.rate))
    lines = [Line(name, own) for name, own in points.items()]
    return Chart(title, EXPERIMENTS[title][0], "rate of the MJoin over that of the plan", lines)


def _lines(found: Mapping[float, Mapping[str, Measured]]) -> list[Line]:
    points: dict[str, list[tuple[float, float]]] = {}
    for at, own in found.items():
        for name, one in own.items():
            points.setdefault(name, []).append((at, one.rate / 1000))
    return [Line(name, own) for name, own in points.items()]


def with_caches(orders: JoinChoice, used: Sequence[Cache], memory: int = MEMORY) -> Way:
    def prepare(join: JoinCore) -> None:
        join.use(orders)
        join.caching.use(CacheChoice(tuple(used), memory=memory))

    return Way(prepare=prepare)


def candidates(workload: JoinWorkload, orders: JoinChoice) -> list[Cache]:
    """Those with the prefix invariant first."""
    found: list[Cache] = []

    def look(join: JoinCore) -> None:
        join.use(orders)
        found.extend(join.caching.candidates())

    run(workload, Way(prepare=look), ())
    return found


def best_caches(workload: JoinWorkload, orders: JoinChoice, some: Sequence[Cache]) -> tuple[Cache, ...]:
    """The fastest of all sets of these caches."""
    sets = chain.from_iterable(combinations(some, size) for size in range(len(some) + 1))
    fitting = [used for used in sets if not any(one.overlaps(other) for one, other in combinations(used, 2))]
    return fastest(workload, {used: with_caches(orders, used) for used in fitting})


def plan_space(name: str) -> dict[str, Way]:
    """M, X, P and G of 5.8.4 at a sample point, each the best of its kind by exhaustive search; and ours."""
    workload = relation(name)
    orders = JoinChoice(extremes(workload)[0])
    some = candidates(workload, orders)
    prefix = [each for each in some if not each.semijoined][:CANDIDATES]
    return {
        "MJoin": with_caches(orders, ()),
        "best XJoin": best_xjoin(workload),
        "prefix caches": with_caches(orders, best_caches(workload, orders, prefix)),
        "global caches": with_caches(orders, best_caches(workload, orders, some[:CANDIDATES])),
        "Penstock": Way(adaptive=FULL),
    }


def relation(name: str) -> JoinWorkload:
    """A sample point, with results as a relation."""
    return replace(sample_point(name), is_stream=False)


def figure_5_21() -> Chart:
    found = {}
    for number, name in enumerate(TABLE_5_2, start=1):
        workload = relation(name)
        found[float(number)] = compared(workload, plan_space(name), partial(workload.pieces, ROWS, PUSHED))
    lines = [replace(line, is_dotted=True) for line in _lines(found)]
    return Chart("Plans for windowed stream joins", "sample point D", "thousand rows per second", lines)


def figure_5_22() -> Chart:
    """Both static plans, and the adaptive one, before and after R becomes twenty times as fast."""
    workload = data.three_way()
    r, s, t = range(3)
    ways = {
        "MJoin": Way(),
        "T ⋈ (R ⋈ S)": Way(prepare=lambda join: cached(join, ((s, t), (r, t), (s, r)), t)),
        "R ⋈ (T ⋈ S)": Way(prepare=lambda join: cached(join, ((s, t), (t, r), (s, r)), r)),
        "Penstock": Way(adaptive=FULL),
    }
    found = compared(workload, ways, partial(data.burst, CALM, FAST, POINT))
    lines = []
    for name, one in found.items():
        points = enumerate(zip(one.rows, one.seconds, strict=True), start=1)
        lines.append(Line(name, [(POINT * number, rows / seconds / 1000) for number, (rows, seconds) in points]))
    return Chart("R becomes twenty times as fast", "rows of S so far", "thousand rows per second", lines)


def cached(join: JoinCore, orders: Sequence[Sequence[int]], pipeline: int) -> None:
    """Probes in these orders, with the one cache in the path of an input."""
    join.use(join.in_order(orders))
    (used,) = (each for each in join.caching.candidates() if each.pipeline == pipeline)
    join.caching.use(CacheChoice((used,), memory=MEMORY))


def figure_5_23() -> Chart:
    """D8, by the memory that subresults may take."""
    workload = relation("D8")
    pieces = partial(workload.pieces, ROWS, PUSHED)
    orders = JoinChoice(extremes(workload)[0])
    used = best_caches(workload, orders, candidates(workload, orders)[:CANDIDATES])
    fixed = compared(workload, {"MJoin": with_caches(orders, ()), "best XJoin": best_xjoin(workload)}, pieces)
    found: dict[str, list[tuple[float, float]]] = {"MJoin": [], "best XJoin": [], "global caches": [], "Penstock": []}
    for kilobytes in MEMORIES:
        memory = kilobytes << 10
        ways = {
            "global caches": with_caches(orders, used, memory),
            "Penstock": Way(adaptive=Adaptive(cache_memory=memory)),
        }
        measured = fixed | compared(workload, ways, pieces)
        if memory < fixed["best XJoin"].kept - fixed["MJoin"].kept:
            del measured["best XJoin"]
        for name, one in measured.items():
            found[name].append((kilobytes, one.rate / 1000))
    lines = [Line(name, points, is_dotted=name == "best XJoin") for name, points in found.items() if points]
    return Chart("D8, by memory", "kilobytes for subresults", "thousand rows per second", lines)


CACHE_FIGURES: dict[str, Callable[[], Chart]] = {
    f"5.{number}": partial(draw, title)
    for number, (title, draw) in enumerate(product(EXPERIMENTS, (absolute, relative)), start=11)
} | {"5.21": figure_5_21, "5.22": figure_5_22, "5.23": figure_5_23}
