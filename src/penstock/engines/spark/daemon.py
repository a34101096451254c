"""The process that Spark's Python workers are forked from: it loads what each of them needs, once for all of them."""

import gc

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.daemon import manager

import penstock.engines.spark.sink  # noqa: F401
from penstock.engines.spark.addresses import OUT
from penstock.engines.spark.cell import CellStep
from penstock.engines.spark.packing import Segment, close_packet
from penstock.engines.spark.source import SourceTask
from penstock.engines.spark.state_recovery import new_machine
from penstock.engines.spark.work import Work, make_work
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
    """Runs small queries, so that the kernels of most queries are read from the disk, or compiled."""
    script = bind_text(_QUERIES).checked()
    for query in script.queries:
        _run(make_work(query, script.catalog, cells=2, horizon=None))


def _run(work: Work) -> None:
    """Packs a few rows, and steps every cell once; a cell comes after those that send to it."""
    packets: list[list[bytes]] = [[] for _ in work.addresses.cells]
    for stream in work.streams:
        task = SourceTask(work, stream)
        task.take(Segment(stream.name, "", 0), pa.record_batch({"k": [1, 2], "v": [1, 2], "ts": [1, 2]}))
        for address, data in task.ended():
            packets[address].append(data)
    for address, received in enumerate(packets):
        for row in CellStep(work, address, new_machine(work, address), None).run([*received, close_packet()]):
            if row.address != OUT and row.data is not None:
                packets[row.address].append(row.data)


if __name__ == "__main__":
    load_kernels()
    # A worker collects garbage after every task. What it was forked with is most of its memory, and stays.
    gc.collect()
    gc.freeze()
    manager()
