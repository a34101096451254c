"""A small run as a page sees it: two queries that share a stream, with late rows, a bound in numbers, and a join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from penstock.elimination import eliminated
from penstock.engines.embedded_run import EmbeddedRun, open_run
from penstock.engines.handed import Handed
from penstock.monitor.page.asked import Asked
from penstock.monitor.page.plan_document import plan_document
from penstock.monitor.page.recorder import Recorder
from penstock.register import check_query
from penstock.sql import bind_text

STATEMENTS = """
CREATE STREAM bid (auction BIGINT, price BIGINT, ts BIGINT) TIMESTAMP BY ts DELAY 2 SECONDS;
CREATE STREAM item (id BIGINT, seller BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE QUERY dear AS
SELECT i.seller, COUNT(*) AS n, MAX(b.price) AS top
FROM bid [ROWS 50] b, item [RANGE 20 SECONDS] i WHERE b.auction = i.id AND b.price > 10 GROUP BY i.seller;
CREATE QUERY latest AS SELECT ISTREAM(b.auction, b.price) FROM bid [ROWS 50] b WHERE b.price > 90;
"""


@dataclass(frozen=True, slots=True)
class Watched:
    """A run that can be stepped, and what records it."""

    running: EmbeddedRun
    recorder: Recorder

    def finish(self) -> Recorder:
        for result in self.running.results():
            assert result is not None
            if result.ends_step:
                self.recorder.take(result.engine.metrics())
        self.recorder.end()
        return self.recorder


def bids(rows: int = 4000) -> dict[str, pa.Table]:
    """Rows of both streams; every hundredth bid is too late."""
    times = [10_000_000 + n * 10_000 - (5_000_000 if n % 100 == 99 else 0) for n in range(rows)]
    bid = {"auction": [n % 37 for n in range(rows)], "price": [n % 101 for n in range(rows)], "ts": times}
    item = {"id": [n % 40 for n in range(rows // 10)], "seller": [n % 7 for n in range(rows // 10)]}
    item["ts"] = [10_000_000 + n * 100_000 for n in range(rows // 10)]
    return {"bid": pa.table(bid), "item": pa.table(item)}


def watched(statements: str = STATEMENTS, data: dict[str, pa.Table] | None = None, cells: int = 1) -> Watched:
    script = bind_text(statements, "auction.sql").checked()
    handed = {name: Handed(name, table) for name, table in (data or bids()).items()}
    running = open_run(list(script.queries), script.catalog, handed, cells=cells)
    asked = []
    for query, engine in zip(script.queries, running.engines, strict=True):
        origin = script.origin(query)
        verdict = check_query(eliminated(query, script.catalog)[0], script.catalog, origin)
        asked.append(Asked(query, engine.plan, verdict, origin))
    return Watched(running, Recorder(plan_document("auction.sql", "embedded", asked), seconds=0.0))


@pytest.fixture(scope="session")
def recorder() -> Recorder:
    return watched().finish()


@pytest.fixture
def document(recorder: Recorder) -> dict[str, Any]:
    return recorder.document()


def many_operators(count: int = 60) -> str:
    """Statements whose plans have at least so many operators."""
    chain = " UNION ALL ".join(
        f"SELECT b.auction AS a, MAX(b.price) AS p FROM bid [RANGE {n + 1} SECONDS] b GROUP BY b.auction"
        for n in range(count // 4)
    )
    declared = STATEMENTS.partition("CREATE QUERY")[0]
    return f"{declared}CREATE QUERY wide AS SELECT u.a, COUNT(*) AS n FROM ({chain}) u GROUP BY u.a;"
