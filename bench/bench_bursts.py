"""What waits in a burst, by the strategy that says which stage runs next: chain, greedy and FIFO (thesis 2.3.2).

Rows are pushed by the clock of the process's own CPU time: what has arrived by then is pushed before the next stage
runs, and where nothing waits the clock is put forward to the next arrival. So the engine is as fast as it is, nobody
sleeps, and other load on the machine does not count. At the base rate the engine has a tenth of its time to do; in the
burst twenty times as many rows arrive. Strategies run in turn, and the median of each is shown. In the environment
`SECONDS`, `RUNS` and `ROWS` set how long a burst is, how often each strategy runs, and the rows of a batch.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from penstock.adaptive.scheduling.strategies import Scheduling
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.queued_run import QueuedRun
from penstock.sql import bind_text

SECONDS = float(os.environ.get("SECONDS", "0.5"))
RUNS = int(os.environ.get("RUNS", "3"))
ROWS = int(os.environ.get("ROWS", "2000"))
BURST = 20
SECOND = 1_000_000

DDL = """
CREATE STREAM s (a BIGINT, b BIGINT, c BIGINT, d BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS;
CREATE STREAM r (a BIGINT, e BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS;
"""
#: A filter that drops nearly all rows, before what is dear; and one that drops few.
QUERIES = {
    "a filter that passes 2%": "SELECT e, COUNT(*) AS n FROM s [ROWS 20000] s, r [ROWS 2000] r"
    " WHERE s.a = r.a AND b < 2 GROUP BY e",
    "a filter that passes 20%": "SELECT e, COUNT(*) AS n FROM s [ROWS 20000] s, r [ROWS 2000] r"
    " WHERE s.a = r.a AND b < 20 GROUP BY e",
    "a filter that passes all": "SELECT e, COUNT(*) AS n FROM s [ROWS 20000] s, r [ROWS 2000] r"
    " WHERE s.a = r.a AND b >= 0 GROUP BY e",
}


@dataclass(slots=True)
class Producer:
    """Batches of both streams, as they arrive by a clock that starts at 0."""

    per_second: float
    made: int = 0
    due: float = 0.0

    def arrived(self, now: float) -> list[tuple[str, pa.RecordBatch]]:
        found = []
        while self.due <= now and not self.is_over:
            found += [("s", self._rows()), ("r", self._few())]
            self.made += 1
            in_burst = SECONDS <= self.due < 2 * SECONDS
            self.due += 1 / (self.per_second * (BURST if in_burst else 1))
        return found

    @property
    def is_over(self) -> bool:
        return self.due >= 3 * SECONDS

    def _rows(self) -> pa.RecordBatch:
        n = np.arange(ROWS) + self.made * ROWS
        columns = {"a": n % 997, "b": n * 37 % 100, "c": n, "d": n, "ts": n}
        return pa.record_batch({name: pa.array(values) for name, values in columns.items()})

    def _few(self) -> pa.RecordBatch:
        n = np.arange(20) + self.made * 20
        columns = {"a": n % 997, "e": n % 10, "ts": self.made * ROWS + np.arange(20)}
        return pa.record_batch({name: pa.array(values) for name, values in columns.items()})


def run_of(query: str, scheduling: Scheduling) -> QueuedRun:
    script = bind_text(f"{DDL} CREATE QUERY q AS {query};").checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog, cells=2)
    engine.adjust(replace(engine.settings, scheduling=scheduling.value))
    return QueuedRun(engine)


def batches_per_second(query: str) -> float:
    """How many batches the engine works on in a second."""
    run, producer = run_of(query, Scheduling.FIFO), Producer(1)
    batches = [each for _ in range(100) for each in _pushed(run, producer)]
    began = time.process_time()
    for _ in run.changes():
        pass
    return len(batches) / 2 / (time.process_time() - began)


def _pushed(run: QueuedRun, producer: Producer) -> list[tuple[str, pa.RecordBatch]]:
    found = producer.arrived(producer.due)
    for stream, batch in found:
        run.push(stream, batch)
    return found


def burst(query: str, scheduling: Scheduling, per_second: float) -> tuple[int, float]:
    """The most bytes that waited, and the seconds until all was worked on after the last row had arrived."""
    run, producer = run_of(query, scheduling), Producer(per_second)
    now = 0.0
    while not producer.is_over:
        for stream, batch in producer.arrived(now):
            run.push(stream, batch)
        now = _after(now, run.run_next) if run.waiting_bytes() else max(now, producer.due)
    behind = _after(0.0, lambda: [None for _ in run.changes()])
    return run.most_waiting, behind


def _after(now: float, work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return now + time.process_time() - began


def main() -> None:
    print(
        f"load {os.getloadavg()[0]:.1f}; a burst of {BURST} times the rate for {SECONDS:g} s of CPU time, {RUNS} runs"
    )
    print(f"  {'':26} {'strategy':>9} {'most waiting':>13} {'of FIFO':>8}")
    for title, query in QUERIES.items():
        batches_per_second(query)
        rate = batches_per_second(query) / 10
        found: dict[Scheduling, list[int]] = {each: [] for each in Scheduling}
        for _ in range(RUNS):
            for scheduling in Scheduling:
                found[scheduling].append(burst(query, scheduling, rate)[0])
        fifo = statistics.median(found[Scheduling.FIFO])
        for scheduling, sizes in found.items():
            most = statistics.median(sizes)
            print(f"  {title:26} {scheduling.value:>9} {most / 1e6:>10.1f} MB {most / fifo:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
