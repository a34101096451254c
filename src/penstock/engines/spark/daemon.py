"""The process that Spark's Python workers are forked from. It does what each of them needs, once for all of them."""

import gc

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.daemon import manager

import penstock.engines.spark.cell
import penstock.engines.spark.sink
import penstock.engines.spark.source  # noqa: F401
from penstock.engines.embedded import EmbeddedEngine
from penstock.sql import bind_text

_QUERIES = """
CREATE STREAM a (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM b (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE QUERY q AS SELECT ISTREAM(a.k, COUNT(*) AS n, SUM(b.v) AS total)
FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND] WHERE a.k = b.k GROUP BY a.k;
CREATE QUERY slides AS SELECT ISTREAM(k, COUNT(*) AS n, SUM(v) AS total)
FROM a [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k;
"""


def load_kernels() -> None:
    """Runs small queries, for which the kernels of most queries are read from the disk, or compiled."""
    script = bind_text(_QUERIES).checked()
    for query in script.queries:
        engine = EmbeddedEngine(query, script.catalog, cells=2)
        for stream in engine.streams:
            engine.push(stream, pa.record_batch({"k": [1, 2], "v": [1, 2], "ts": [1, 2]}))
        engine.finish()


if __name__ == "__main__":
    load_kernels()
    # After every task a worker looks for garbage. It need not look at what it was born with, which is most that it has.
    gc.collect()
    gc.freeze()
    manager()
