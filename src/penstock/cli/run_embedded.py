"""`penstock run --engine embedded`: files in, files out, in this process."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack

from penstock.algebra.relations import Query
from penstock.cli.metrics_file import MetricsFile
from penstock.cli.progress import ProgressLine
from penstock.cli.run import forgetting
from penstock.cli.stopping import INTERRUPTED, Stop, is_interrupt, stopping
from penstock.engines.csv_files import finish_blocks
from penstock.engines.embedded_run import EmbeddedRun, Result, open_run
from penstock.engines.sinks import Sink, open_sink
from penstock.errors import PenstockError
from penstock.plan.constraint_report import NOTHING_ON_DISK, strongest
from penstock.sql import Script

_POLL_SECONDS = 0.5


def run_embedded(script: Script, queries: list[Query], outputs: list[str], args: argparse.Namespace) -> int:
    for option in ("checkpoint", "master"):
        if getattr(args, option) is not None:
            raise PenstockError(f"--{option} is for Spark", f"leave --{option} or --engine embedded out")
    stop, progress = Stop(), ProgressLine()
    finish_blocks()
    with ExitStack() as stack:
        stack.enter_context(stopping(stop))
        running = open_run(
            queries,
            script.catalog,
            cells=args.cells or 1,
            horizon=args.horizon,
            until_done=args.until_done,
            forgetting=forgetting(args),
            warn=progress.warn,
        )
        stack.callback(running.close)
        metrics = stack.enter_context(MetricsFile(args.metrics, overwrite=args.overwrite))
        titled = len(queries) > 1
        sinks: dict[str, Sink] = {}
        for query, output in zip(queries, outputs, strict=True):
            sink = open_sink(output, query, query.name if titled else None, overwrite=args.overwrite)
            stack.callback(sink.abandon)
            sinks[query.name] = sink
        return _drained(running, sinks, metrics, progress, stop, until_done=args.until_done)


def _drained(
    running: EmbeddedRun,
    sinks: dict[str, Sink],
    metrics: MetricsFile,
    progress: ProgressLine,
    stop: Stop,
    *,
    until_done: bool,
) -> int:
    """Runs to the end, or until it is stopped. What was stopped before its end leaves no results that look whole."""
    try:
        is_whole = _stepped(running, sinks, metrics, progress, stop) or not until_done
        if is_whole:
            _publish(list(sinks.values()))
    except BaseException as error:
        is_whole = False
        if not is_interrupt(error):
            progress.clear()
            raise
    _count(running, progress)
    progress.finish()
    if is_whole:
        return 0
    left = "some of the results" if any(sink.is_published for sink in sinks.values()) else "the results"
    print(f"stopped before the end: {left} are left out", file=sys.stderr)
    return INTERRUPTED


def _publish(sinks: Sequence[Sink]) -> None:
    """Lets all be seen, after all is on the disk."""
    for sink in sinks:
        sink.finish()
    for sink in sinks:
        sink.publish()


def _stepped(
    running: EmbeddedRun, sinks: dict[str, Sink], metrics: MetricsFile, progress: ProgressLine, stop: Stop
) -> bool:
    """Whether it came to its end, and was not stopped."""
    for result in running.results(progress.compiles):
        if result is None:
            time.sleep(_POLL_SECONDS)
        else:
            _take(result, sinks, metrics, progress)
        if progress.due:
            _count(running, progress)
            progress.draw()
        if stop.asked:
            return False
    return True


def _take(result: Result, sinks: dict[str, Sink], metrics: MetricsFile, progress: ProgressLine) -> None:
    progress.counts.rows_out = (progress.counts.rows_out or 0) + result.rows.num_rows
    if result.rows.num_rows:
        progress.clear()
        sinks[result.engine.query.name].write(result.rows)
    metrics.write(result.engine.metrics)


def _count(running: EmbeddedRun, progress: ProgressLine) -> None:
    counts = progress.counts
    streams = running.progress().values()
    counts.rows_in = sum(stream.rows for stream in streams)
    counts.late_rows = sum(stream.late_rows for stream in streams)
    counts.bad_rows = sum(stream.bad_rows for stream in streams)
    counts.violations = sum(engine.violations() for engine in running.engines)
    counts.given_up = sum(engine.given_up() for engine in running.engines)
    counts.constraints = strongest(each for engine in running.engines for each in engine.constraints())
    counts.on_disk = sum((engine.on_disk() for engine in running.engines), NOTHING_ON_DISK)
    counts.watermark = min(engine.watermark for engine in running.engines)
    states = [engine.state() for engine in running.engines]
    counts.state_rows, counts.state_bytes = sum(rows for rows, _ in states), sum(size for _, size in states)
