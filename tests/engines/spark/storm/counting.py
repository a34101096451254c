"""Many rows that are counted by keys of text: their state outgrows a small memory or disk in a few micro-batches."""

from __future__ import annotations

from random import Random

from tests.engines.comparing import Log, bound, embedded
from tests.generators import Case

ROWS_PER_FILE = 5_000

_DDL = "CREATE STREAM s (k STRING, v BIGINT, ts BIGINT) TIMESTAMP BY ts;"
_QUERY = "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k ALLOW UNBOUNDED"


def counting(seed: int, files: int) -> Case:
    random = Random(seed)
    rows = [(f"key number {random.randrange(20_000)}", random.randrange(100), i) for i in range(files * ROWS_PER_FILE)]
    return Case(_DDL, _QUERY, {"s": rows}, None, "")


def counted(case: Case) -> Log:
    """What the embedded engine makes of it, which has no faults here."""
    query, catalog = bound(case)
    return embedded(case, query, catalog, 1, 0)
