"""What it costs to publish: the network join with nobody who looks, and with a query that reads all of SysStream.

Runs are short and alternate, and each is compared with its neighbour, in CPU time of this process without what it takes
to open them: what else the machine does hits both alike. Shown are the median of the ratios, and between which ratios
it lies with 95% certainty (by the binomial distribution of ranks). Publications are so many a second by the wall clock,
so on a machine that is busy with other things they cost more of the CPU time. `ROWS` sets the rows of a run and `PAIRS`
how many pairs there are.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from math import comb
from pathlib import Path

from penstock.elimination import verdict_of
from penstock.engines.embedded_run import EmbeddedRun, open_run
from penstock.engines.watching import Watch
from penstock.monitor.bounds import live_bounds
from penstock.monitor.live import Live
from penstock.monitor.observing import Observers
from penstock.monitor.publishing import SysStream
from penstock.sql import bind_text
from penstock.sql.system_streams import SYSSTREAM
from penstock.workloads import network

ROWS = int(os.environ.get("ROWS", "1000000"))
PAIRS = int(os.environ.get("PAIRS", "30"))
WATCH = "SELECT kind, property, SUM(value) AS total FROM sysstream [RANGE 1 MINUTE] GROUP BY kind, property"


def opened(folder: Path) -> EmbeddedRun:
    script = bind_text(network.ddl(folder) + network.QUERY).checked()
    return open_run(script.queries, script.catalog)


def unwatched(folder: Path) -> Callable[[], None]:
    running = opened(folder)

    def run() -> None:
        for _ in running.results():
            pass

    return run


def watched(folder: Path) -> Callable[[], None]:
    running = opened(folder)
    watch = bind_text(WATCH).checked()
    sysstream = SysStream([Watch(watch.queries[0], watch.catalog, SYSSTREAM)])
    script = bind_text(network.ddl(folder) + network.QUERY).checked()
    (engine,) = running.engines
    bounds = {engine.query.name: live_bounds(verdict_of(script.queries[0], script.catalog), engine.plan)}
    sysstream.prove(bounds)
    observers = Observers([sysstream, Live(bounds)])

    def run() -> None:
        for result in running.results():
            if result is not None and result.ends_step:
                observers.stepped(result.engine.metrics)
                for _ in sysstream.changes():
                    pass
        observers.waits()
        for _ in sysstream.changes(is_last=True):
            pass

    return run


def seconds(prepared: Callable[[Path], Callable[[], None]], folder: Path) -> float:
    """The CPU time of a run, without what it takes to open it."""
    run = prepared(folder)
    began = time.process_time()
    run()
    return time.process_time() - began


def interval(ratios: list[float]) -> tuple[float, float]:
    """Between which of the ratios, in order, the median lies with 95% certainty."""
    count = len(ratios)
    outside, rank = 0.0, 0
    while rank < count // 2 and outside + comb(count, rank) / 2**count <= 0.025:
        outside += comb(count, rank) / 2**count
        rank += 1
    ordered = sorted(ratios)
    return ordered[max(0, rank - 1)], ordered[count - max(1, rank)]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network.write(folder, ROWS)
        works = unwatched, watched
        for work in works:
            seconds(work, folder)
        pairs = []
        for number in range(PAIRS):
            first, second = works if number % 2 else works[::-1]
            taken = seconds(first, folder), seconds(second, folder)
            pairs.append(taken if number % 2 else taken[::-1])
        ratios = [watching / plain for plain, watching in pairs]
        low, high = interval(ratios)
        print(f"network join of {ROWS:,} rows, {PAIRS} pairs of runs, CPU time; load {os.getloadavg()[0]:.1f}")
        print(f"  publishing all, and a query that reads it: {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()
