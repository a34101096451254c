"""The three-way join of thesis figure 5.7, one row at a time."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from penstock.engines.embedded import EmbeddedEngine
from penstock.operators.joins.mjoin import JoinCore
from penstock.plan.adaptivity import Adaptive
from penstock.plan.caches import CacheChoice, CacheCounts
from penstock.sql import bind_text

#: The windows of figure 5.2(b).
FIGURE_5_2 = (("r2", (1, 2)), ("r2", (1, 3)), ("r2", (2, 3)), ("r3", (2,)))

SCRIPT = """
CREATE STREAM r1 (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM r2 (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM r3 (b BIGINT, ts BIGINT) TIMESTAMP BY ts;
SELECT r1.a, r2.a AS a2, r2.b, r3.b AS b3 FROM r1 [UNBOUNDED], r2 [{}], r3 [UNBOUNDED]
WHERE r1.a = r2.a AND r2.b = r3.b ALLOW UNBOUNDED;
"""


class ThreeWay:
    """The join of figure 5.7 over the windows of figure 5.2, with a cache of R2 and R3 in the pipeline of R1."""

    def __init__(self, window: str = "UNBOUNDED", rows: Sequence[tuple[str, tuple[int, ...]]] = FIGURE_5_2) -> None:
        script = bind_text(SCRIPT.format(window)).checked()
        self._engine = EmbeddedEngine(script.queries[0], script.catalog, adaptive=Adaptive(mode="off"))
        self._now = 0
        self.join: JoinCore = self._engine._machines[0][0].joins[0]
        self.join.use(self.join.in_order([(1, 2), (2, 0), (1, 0)]))
        for stream, row in rows:
            self.insert(stream, *row)
        (cache,) = self.join.caching.candidates()
        self.join.caching.use(CacheChoice((cache,)))

    def insert(self, stream: str, *row: int) -> list[tuple[int, ...]]:
        """The results of a row that comes."""
        self._now += 1
        columns = {"r1": ("a",), "r2": ("a", "b"), "r3": ("b",)}[stream]
        own = {column: [value] for column, value in zip(columns, row, strict=True)}
        self._engine.push(stream, pa.RecordBatch.from_pydict({**own, "ts": [self._now]}))
        rows = self._engine._step(self._now + 1).to_pylist()
        return sorted((each["a"], each["a2"], each["b"], each["b3"]) for each in rows if each["_op"] == "+")

    def counts(self) -> CacheCounts:
        (counts,) = self.join.caching.counts().values()
        return counts
