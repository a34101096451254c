"""The joins of thesis 5.8.3 and 5.8.5, on which subresult caches are tried.

Columns that are joined draw values from one domain in the same order: at the v-th instant the value v comes, in each
stream as often as its *multiplicity* says, and it leaves with the window. So windows hold the same values at each
instant, and what a row finds is exactly what the multiplicities say.

Results are relations, as in the thesis: a row that leaves its window probes once more, for the results that end.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from penstock.workloads.join_orders import Draw, JoinWorkload, Stream

#: How many values a window holds; how often t has each, if nothing else is said; and how much faster r is in a burst.
VALUES, MULTIPLICITY, BURST = 1_000, 5, 20


def three_way(multiplicity: int = MULTIPLICITY, values: int = VALUES) -> JoinWorkload:
    """R ⋈ S ⋈ T, where T has each value so many times, and R and S have it once."""
    r, s = _stream("r", 1, values, a=_in_order()), _stream("s", 1, values, a=_in_order(), b=_in_order())
    return _join("three-way", r, s, _stream("t", multiplicity, values, b=_in_order(multiplicity)))


def selective(found: int, of: int = 1) -> JoinWorkload:
    """A row of T finds so many rows of R ⋈ S; or else only one row `of` so many finds one."""
    r, s = _stream("r", found, a=_in_order(step=of)), _stream("s", found * of, a=_in_order(), b=_in_order(found))
    t = _stream("t", MULTIPLICITY * of, b=_in_order(MULTIPLICITY))
    return _join(f"{found} of {of}", r, s, t)


def updated(updates: int) -> JoinWorkload:
    """R ⋈ S gets so many rows while T gets one of their values, five times."""
    r, s = _stream("r", updates, a=_in_order()), _stream("s", updates, a=_in_order(), b=_in_order())
    return _join(f"{updates} updates", r, s, _stream("t", MULTIPLICITY, b=_in_order(MULTIPLICITY, step=updates)))


def one_attribute(count: int) -> JoinWorkload:
    """R1 ⋈ ... ⋈ Rn on one attribute, whose values half of the streams have once, and the others five times."""
    often = [1 if number < count // 2 else MULTIPLICITY for number in range(count)]
    streams = [_stream(f"r{n}", each, VALUES // 10, a=_in_order(each)) for n, each in enumerate(often, start=1)]
    on = tuple((f"r{n}.a", f"r{n + 1}.a") for n in range(1, count))
    return JoinWorkload(f"{count}-way", tuple(streams), on, VALUES, is_stream=False)


def burst(calm: int, fast: int, pushed: int) -> Iterator[dict[str, pa.RecordBatch]]:
    """Data of the three-way join, so many instants at a time: R is calm at first, and then twenty times as fast."""
    often = np.where(np.arange(calm + fast) < calm, 1, BURST)
    rows = np.concatenate([[0], np.cumsum(often)])
    for start in range(0, calm + fast, pushed):
        instants = np.arange(start, min(start + pushed, calm + fast))
        of_r, of_t = np.repeat(instants, often[instants]), np.repeat(instants, MULTIPLICITY)
        r = {"id": np.arange(rows[instants[0]], rows[instants[-1] + 1]), "a": of_r, "ts": 3 * of_r}
        s = {"id": instants, "a": instants, "b": instants, "ts": 3 * instants + 1}
        t = {"id": MULTIPLICITY * start + np.arange(len(of_t)), "b": of_t, "ts": 3 * of_t + 2}
        yield {name: pa.RecordBatch.from_pydict(columns) for name, columns in {"r": r, "s": s, "t": t}.items()}


def _join(name: str, *streams: Stream) -> JoinWorkload:
    return JoinWorkload(name, streams, (("r.a", "s.a"), ("s.b", "t.b")), VALUES, is_stream=False)


def _stream(name: str, rate: int, values: int = VALUES, **columns: Draw) -> Stream:
    return Stream(name, rate, columns, window=rate * values)


def _in_order(multiplicity: int = 1, step: int = 1) -> Draw:
    """Each so-manieth value, so often."""
    return lambda _, count: np.arange(count) // multiplicity * step
