"""What a step holds: queries over one hot key have many millions of combinations, and little memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: What a process may hold, of which the interpreter with its libraries is about a third.
MEGABYTES = 600

PROGRAM = """
import resource, sys
import numpy as np, pyarrow as pa
from penstock.engines.embedded import EmbeddedEngine
from penstock.sql import bind_text

query, rows = sys.argv[1], int(sys.argv[2])
streams = (f"CREATE STREAM {name} (k BIGINT, x BIGINT, ts BIGINT) TIMESTAMP BY ts;" for name in "abc")
script = bind_text("".join(streams) + f"CREATE QUERY q AS {query};").checked()
engine = EmbeddedEngine(script.queries[0], script.catalog)
for name in engine.streams:
    x = np.random.default_rng(1).integers(0, 1000, rows)
    engine.push(name, pa.record_batch({"k": pa.array(np.zeros(rows, np.int64)), "x": pa.array(x),
                                       "ts": pa.array(np.arange(rows) * 100)}))
print(engine.finish().num_rows)
# A child starts with the peak of its parent in getrusage; the system counts its own memory apart.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) // 1024)
"""


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT COUNT(*) AS n FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND] WHERE a.k = b.k", 8000),
        (
            "SELECT a.k, MAX(a.x) AS m, SUM(a.x + 1) AS s, AVG(b.x) AS v, SUM(CAST(b.x AS DOUBLE)) AS d, COUNT(*) AS n "
            "FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND] WHERE a.k = b.k GROUP BY a.k",
            8000,
        ),
        ("SELECT COUNT(*) AS n FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND] WHERE a.k = b.k AND a.x < b.x", 5000),
        (
            "SELECT COUNT(*) AS n FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND], c [RANGE 1 SECOND] "
            "WHERE a.k = b.k AND b.k = c.k AND a.x + b.x < c.x",
            250,
        ),
        (
            "SELECT a.x FROM a [RANGE 1 SECOND] WHERE EXISTS "
            "(SELECT 1 FROM b [RANGE 1 SECOND] WHERE a.k = b.k AND a.x + b.x > 1900)",
            4000,
        ),
        ("SELECT DISTINCT a.k FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND] WHERE a.k = b.k AND a.x <> b.x", 4000),
        ("SELECT ISTREAM(a.x) FROM a [NOW] WHERE NOT EXISTS (SELECT 1 FROM b [NOW] WHERE a.k = b.k AND a.x < b.x)", 9),
    ],
)
def test_a_step_of_a_hot_key_holds_blocks_not_combinations(query: str, rows: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, query, str(rows)], capture_output=True, text=True, check=True, timeout=300
    )
    _, held = done.stdout.split()
    assert int(held) < MEGABYTES
