"""Joins in which it matters in which order inputs are probed: a star, a chain, a cycle, and D1 to D8 of thesis 5.8.4.

Windows are of rows. In the star, the chain and the cycle each pair of columns has a *multiplicity*: how many rows of
the other window a row finds on average. They stand in the query from the largest to the smallest, so that the inputs
that drop most are written last.

D1 to D8 are R, S, T and U on one column (table 5.2), with rates of arrival and the selectivity of each pair: the chance
that two rows agree. Each stream draws from 100 values, and selectivities say how many of them two streams have in
common; nearly as many as these allow are in all four.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

Ints = NDArray[np.int64]

#: Rows of a window of the star, the chain and the cycle, and of one of D1 to D8.
WINDOW, SAMPLE_WINDOW = 5_000, 300
#: Values that a stream of D1 to D8 draws from.
VALUES = 100

#: By sample point the rates of R, S, T and U, and the selectivities of RS, RT, RU, ST, SU and TU in thousandths.
TABLE_5_2: dict[str, tuple[tuple[int, ...], tuple[float, ...]]] = {
    "D1": ((10, 1, 1, 1), (4, 5, 5, 7, 4.5, 5)),
    "D2": ((8, 1, 1, 8), (4, 5, 5, 7, 4.5, 5)),
    "D3": ((10, 15, 1, 5), (3, 5, 7, 4.5, 6, 8)),
    "D4": ((1, 1, 1, 1), (3, 4, 6.7, 2, 2.3, 2.7)),
    "D5": ((4, 1, 1, 4), (5, 7, 5, 6, 5, 2)),
    "D6": ((1, 1, 1, 1), (5, 3.3, 2.5, 6.7, 5, 7.5)),
    "D7": ((1, 1, 1, 1), (0, 0, 0, 0, 0, 0)),
    "D8": ((1, 1, 1, 1), (1, 1, 1, 1, 1, 1)),
}

#: Draws the values of so many rows; a stream's columns are drawn one after the other.
Draw = Callable[[np.random.Generator, int], Ints]


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream: how often its rows come, relative to the others, and what its columns draw."""

    name: str
    rate: int
    columns: dict[str, Draw]
    #: Rows of its window, if it is not that of the join.
    window: int | None = None


@dataclass(frozen=True, slots=True)
class JoinWorkload:
    """A join of windows of so many rows, on pairs of columns. Its results come as a stream, or else as a relation."""

    name: str
    streams: tuple[Stream, ...]
    on: tuple[tuple[str, str], ...]
    window: int
    is_stream: bool = True

    @property
    def script(self) -> str:
        """The declarations, and a query that gives all results."""
        declared = (
            f"CREATE STREAM {stream.name} (id BIGINT, {', '.join(f'{c} BIGINT' for c in stream.columns)}, ts BIGINT, "
            "UNIQUE (id)) TIMESTAMP BY ts;"
            for stream in self.streams
        )
        shown = ", ".join(f"{stream.name}.id AS {stream.name}_id" for stream in self.streams)
        read = ", ".join(f"{stream.name} [ROWS {stream.window or self.window}]" for stream in self.streams)
        where = " AND ".join(f"{left} = {right}" for left, right in self.on)
        given = f"ISTREAM({shown})" if self.is_stream else shown
        return "\n".join((*declared, f"SELECT {given} FROM {read} WHERE {where};"))

    def pieces(self, rows: int, pushed: int, seed: int = 0) -> Iterator[dict[str, pa.RecordBatch]]:
        """So many rows in all, of all streams side by side, and of so many at a time."""
        random = np.random.default_rng(seed)
        rates = sum(stream.rate for stream in self.streams)
        tables: dict[str, pa.RecordBatch] = {}
        for place, stream in enumerate(self.streams):
            count = rows * stream.rate // rates
            columns = {"id": np.arange(count)} | {name: draw(random, count) for name, draw in stream.columns.items()}
            times = np.arange(count) * rates // stream.rate * len(self.streams) + place
            tables[stream.name] = pa.RecordBatch.from_pydict(columns | {"ts": times})
        starts = dict.fromkeys(tables, 0)
        for end in range(pushed, rows + pushed, pushed):
            piece = {}
            for name, table in tables.items():
                times = table.column("ts").to_numpy()
                stop = len(times) if end >= rows else int(np.searchsorted(times, end * len(self.streams)))
                piece[name] = table.slice(starts[name], stop - starts[name])
                starts[name] = stop
            yield piece


def star(multiplicities: Sequence[float] = (2, 1, 0.5, 0.2)) -> JoinWorkload:
    """A hub and four satellites, of which a row of the hub finds two, one, a half and a fifth."""
    return _star("star", [_multiplicity(each) for each in multiplicities])


def correlated_star() -> JoinWorkload:
    """A star of which the second and the third satellite drop the same rows, and the fourth others."""
    one, pair, other = map(_multiplicity, (1, 0.4, 0.5))
    repeated = _Repeated(pair)
    return _star("pair", [one, repeated.first, repeated, other])


#: Multiplicities of a star that drifts, in turn.
PHASES = ((2, 1, 0.5, 0.2), (0.2, 0.5, 1, 2))


def drifting_star(periods: int) -> JoinWorkload:
    """A star whose multiplicities are those of one phase, then those of the other, and so on."""
    draws = zip(*(map(_multiplicity, phase) for phase in PHASES), strict=True)
    return _star("drift", [_in_turn(each, periods) for each in draws])


def _star(name: str, draws: Sequence[Draw]) -> JoinWorkload:
    columns = {f"s{number}": draw for number, draw in enumerate(draws, start=1)}
    satellites = (Stream(each, 1, {"key": draw}) for each, draw in columns.items())
    on = tuple((f"hub.{each}", f"{each}.key") for each in columns)
    return JoinWorkload(name, (Stream("hub", 1, columns), *satellites), on, WINDOW)


class _Repeated:
    """Draws what another drew just before, so that two columns have the same values."""

    def __init__(self, draw: Draw) -> None:
        self._draw, self._drawn = draw, list[Ints]()

    def first(self, random: np.random.Generator, count: int) -> Ints:
        self._drawn.append(self._draw(random, count))
        return self._drawn[-1]

    def __call__(self, random: np.random.Generator, count: int) -> Ints:
        return self._drawn.pop()


def _in_turn(draws: Sequence[Draw], periods: int) -> Draw:
    """One draw in one period, and the next in the next."""

    def draw(random: np.random.Generator, count: int) -> Ints:
        ends = np.arange(periods + 1) * count // periods
        return np.concatenate([draws[n % len(draws)](random, ends[n + 1] - ends[n]) for n in range(periods)])

    return draw


def chain() -> JoinWorkload:
    """a - b - c - d."""
    x, y, z = map(_multiplicity, (2, 1, 0.5))
    streams = (Stream("a", 1, {"x": x}), Stream("b", 1, {"x": x, "y": y}), Stream("c", 1, {"y": y, "z": z}))
    on = (("a.x", "b.x"), ("b.y", "c.y"), ("c.z", "d.z"))
    return JoinWorkload("chain", (*streams, Stream("d", 1, {"z": z})), on, WINDOW)


def cycle() -> JoinWorkload:
    """a - b - c - d - a."""
    x, y, z, w = map(_multiplicity, (4, 2, 1, 0.5))
    streams = (
        Stream("a", 1, {"w": w, "x": x}),
        Stream("b", 1, {"x": x, "y": y}),
        Stream("c", 1, {"y": y, "z": z}),
        Stream("d", 1, {"z": z, "w": w}),
    )
    return JoinWorkload("cycle", streams, (("a.x", "b.x"), ("b.y", "c.y"), ("c.z", "d.z"), ("d.w", "a.w")), WINDOW)


def sample_point(name: str) -> JoinWorkload:
    """One of D1 to D8."""
    rates, thousandths = TABLE_5_2[name]
    values = _values(thousandths)
    streams = (Stream(stream, rate, {"a": _of(own)}) for stream, rate, own in zip("rstu", rates, values, strict=True))
    return JoinWorkload(name, tuple(streams), (("r.a", "s.a"), ("s.a", "t.a"), ("t.a", "u.a")), SAMPLE_WINDOW)


def workloads() -> list[JoinWorkload]:
    return [star(), correlated_star(), chain(), cycle(), *map(sample_point, TABLE_5_2)]


def _multiplicity(matches: float) -> Draw:
    domain = int(WINDOW / matches)
    return lambda random, count: random.integers(0, domain, count)


def _of(values: Ints) -> Draw:
    return lambda random, count: random.choice(values, count)


@cache
def _values(thousandths: Sequence[float]) -> tuple[Ints, ...]:
    """The values of four streams, such that two rows agree as often as they should.

    A value is in a set of streams. How many are in each set is found by iterative proportional fitting.

    >>> r, s, *_ = _values((4, 5, 5, 7, 4.5, 5))
    >>> abs(len(np.intersect1d(r, s)) / (len(r) * len(s)) - 0.004) < 0.0003
    True
    """
    streams = range(4)
    sets = [set(some) for size in (1, 2, 3, 4) for some in combinations(streams, size)]
    wanted: list[tuple[set[int], float]] = [({stream}, VALUES) for stream in streams]
    pairs = zip(combinations(streams, 2), thousandths, strict=True)
    wanted += [(set(pair), each / 1000 * VALUES**2) for pair, each in pairs]
    sizes = np.array([1e6 if len(own) == 4 else 1.0 for own in sets])
    for _ in range(2_000):
        for members, size in wanted:
            inside = np.array([members <= own for own in sets])
            found = sizes[inside].sum()
            sizes[inside] *= size / found if found else 0
    owners = np.repeat(np.arange(len(sets)), sizes.round().astype(np.int64))
    return tuple(np.flatnonzero([stream in sets[owner] for owner in owners]) for stream in streams)
