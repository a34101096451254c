"""Warming: kernels are compiled into the cache before a query needs them, by running small queries of every kind.

Which kernels a query calls, and for arrays of which types, only its operators know. So nothing is listed here but
queries, and a kernel is compiled because an operator called it. Queries that share kernels stand in one batch: batches
are compiled side by side, in processes of their own, and what two of them need is compiled twice.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.engines.embedded import EmbeddedEngine
from penstock.kernels.jit import cache_folder
from penstock.sql import bind_text

_COLUMNS = "k BIGINT, v BIGINT, x DOUBLE, d DECIMAL(10, 2), name STRING, kind STRING, ts BIGINT"

_STREAMS = f"""
CREATE STREAM a ({_COLUMNS}) TIMESTAMP BY ts DELAY 1 SECOND;
CREATE STREAM b ({_COLUMNS}) TIMESTAMP BY ts DELAY 1 SECOND;
CREATE STREAM c ({_COLUMNS}) TIMESTAMP BY ts DELAY 1 SECOND;
CREATE STREAM item ({_COLUMNS}, UNIQUE (k)) TIMESTAMP BY ts;
CREATE STREAM bid ({_COLUMNS}, PUNCTUATED BY (k) WHEN kind = 'close') TIMESTAMP BY ts;
CREATE STREAM parent ({_COLUMNS}, UNIQUE (k)) TIMESTAMP BY ts;
CREATE STREAM child ({_COLUMNS}, FOREIGN KEY (k) REFERENCES parent (k) WITHIN 2 ROWS,
  CLUSTERED BY k WITHIN 2 ROWS) TIMESTAMP BY ts;
"""

#: Selects, by what most of them share.
BATCHES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "joins of windows",
        (
            "ISTREAM(a.k, b.v, a.name) FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND] WHERE a.k = b.k",
            "ISTREAM(a.k, c.v) FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND], c [ROWS 10] WHERE a.k = b.k AND b.v = c.v",
            "a.k, b.v FROM a [RANGE 1 SECOND], b [RANGE 2 SECONDS] WHERE a.k = b.k AND a.v > b.v",
            "RSTREAM(a.k) FROM a [RANGE 1 SECOND], b [PARTITION BY k ROWS 2] WHERE a.k = b.k",
            "DSTREAM(name) FROM a [ROWS 2]",
            "a.k FROM a [RANGE 1 SECOND SLIDE 1 SECOND], b [NOW] WHERE a.k = b.k",
        ),
    ),
    (
        "groups",
        (
            "ISTREAM(k, COUNT(*), SUM(v), AVG(x), MIN(v), MAX(d)) FROM a [RANGE 1 SECOND] WHERE v > 0 GROUP BY k",
            "k, COUNT(*), SUM(v) FROM a [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k",
            "COUNT(*), SUM(x), COUNT(DISTINCT name) FROM a [RANGE 1 SECOND]",
            "a.k, COUNT(*), SUM(b.v) FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND] WHERE a.k = b.k GROUP BY a.k",
            "DISTINCT k FROM a [RANGE 1 SECOND] WHERE name LIKE 'n%' OR v BETWEEN 1 AND 3",
            "k, COUNT(*), SUM(v) FROM bid GROUP BY k EMIT ON CLOSE",
        ),
    ),
    (
        "joins that purge",
        (
            "ISTREAM(i.k, b.v) FROM item i, bid b WHERE i.k = b.k",
            "i.k, SUM(b.v) FROM item i, bid b WHERE i.k = b.k GROUP BY i.k EMIT ON CLOSE",
            "ISTREAM(p.k, c.v) FROM parent p, child c WHERE p.k = c.k",
            "ISTREAM(a.k, b.v) FROM a, b WHERE a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 1000000",
        ),
    ),
    (
        "semi-joins and sets",
        (
            "k FROM a [RANGE 1 SECOND] WHERE EXISTS (SELECT * FROM b [RANGE 1 SECOND] WHERE b.k = a.k)",
            "k FROM a [RANGE 1 SECOND] WHERE k NOT IN (SELECT k FROM b [RANGE 1 SECOND])",
            "k FROM a [RANGE 1 SECOND] UNION SELECT k FROM b [RANGE 1 SECOND]",
            "k FROM a [RANGE 1 SECOND] EXCEPT SELECT k FROM b [RANGE 1 SECOND]",
            "k FROM a [RANGE 1 SECOND] INTERSECT SELECT k FROM b [RANGE 1 SECOND]",
            "a.k, b.v FROM a [RANGE 1 SECOND] LEFT JOIN b [RANGE 1 SECOND] ON a.k = b.k",
        ),
    ),
)


def warm_batch(number: int) -> str:
    """Runs the queries of a batch in this process, and returns what they are."""
    title, selects = BATCHES[number]
    for select in selects:
        _run(select)
    return title


def warm(processes: int, done: Callable[[str], None] = lambda _: None) -> Path:
    """Compiles the kernels of all batches, in processes of their own, and returns the folder in which they are kept.

    `done` gets each batch that is ready.
    """
    if processes == 1:
        for number in range(len(BATCHES)):
            done(warm_batch(number))
        return cache_folder()
    with ProcessPoolExecutor(min(processes, len(BATCHES)), mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(warm_batch, number) for number in range(len(BATCHES))]):
            done(future.result())
    return cache_folder()


def _run(select: str) -> None:
    """Runs a query over a few rows of each stream, in several steps."""
    script = bind_text(f"{_STREAMS} CREATE QUERY warming AS SELECT {select}").checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog)
    for step in range(2):
        for stream, ingest in engine.streams.items():
            engine.push(stream, _rows(step).select(ingest.names))
        engine.advance()
    engine.finish()
    engine.metrics()


def _rows(step: int) -> pa.RecordBatch:
    keys = [0, 1, 1, 2, 3, 3, None, 4]
    return pa.record_batch(
        {
            "k": pa.array([None if key is None else key + 4 * step for key in keys], pa.int64()),
            "v": pa.array([1, 2, 3, 4, 5, 6, None, 8], pa.int64()),
            "x": pa.array([0.5 * key if key else None for key in keys], pa.float64()),
            "d": pa.array([key or 0 for key in keys], pa.decimal128(10, 2)),
            "name": pa.array([f"name {key}" for key in keys], pa.string()),
            "kind": pa.array(["bid", "bid", "close", "bid", "bid", "close", "bid", "bid"], pa.string()),
            "ts": pa.array([1_000_000 * (3 * step + i) // 2 for i in range(8)], pa.int64()),
        }
    )
