"""`penstock run --engine embedded`: files in, files out, in this process."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack

from penstock.algebra.relations import Query
from penstock.cli.monitoring import Monitoring, monitored
from penstock.cli.page_of_run import shown
from penstock.cli.progress import ProgressLine
from penstock.cli.run import adaptive, forgetting
from penstock.cli.stopping import INTERRUPTED, Stop, is_interrupt, stopping
from penstock.cli.watched import WatchedQuery
from penstock.engines.csv_files import finish_blocks
from penstock.engines.embedded_run import EmbeddedRun, Result, open_run
from penstock.engines.sinks import Sink, open_sink
from penstock.errors import PenstockError
from penstock.register import Verdict
from penstock.sql import Script

_POLL_SECONDS = 0.5


def run_embedded(
    script: Script,
    queries: Sequence[tuple[Query, str]],
    args: argparse.Namespace,
    verdicts: Sequence[Verdict],
    watched: Sequence[WatchedQuery],
) -> int:
    """Runs queries, each with the target of its results, and beside them those that watch."""
    for option in ("checkpoint", "master"):
        if getattr(args, option) is not None:
            raise PenstockError(f"--{option} is for Spark", f"leave --{option} or --engine embedded out")
    stop, progress = Stop(), ProgressLine()
    finish_blocks()
    with ExitStack() as stack:
        stack.enter_context(stopping(stop))
        running = open_run(
            [query for query, _ in queries],
            script.catalog,
            cells=args.cells or 1,
            horizon=args.horizon,
            until_done=args.until_done,
            forgetting=forgetting(args),
            adaptive=adaptive(args),
            warn=progress.warn,
            idle=args.idle,
        )
        stack.callback(running.close)
        monitoring = stack.enter_context(monitored(args, watched, progress))
        monitoring.prove(verdicts, [engine.plan for engine in running.engines])
        controls = stack.enter_context(monitoring.adjusting(running.engines))
        running.between_steps = controls.apply
        running.proved = {verdict.name: verdict.bound.size for verdict in verdicts}
        if args.memory is not None:
            controls.set("memory", str(args.memory))
        planned = [(query, engine.plan) for (query, _), engine in zip(queries, running.engines, strict=True)]
        stack.enter_context(shown(args, script, planned, verdicts, monitoring, controls))
        titled = len(queries) > 1 or any(each.output == "-" for each in watched)
        sinks: dict[str, Sink] = {}
        for query, output in queries:
            sink = open_sink(output, query, query.name if titled else None, overwrite=args.overwrite)
            stack.callback(sink.abandon)
            sinks[query.name] = sink
        return _drained(running, sinks, monitoring, progress, stop, until_done=args.until_done)


def _drained(
    running: EmbeddedRun,
    sinks: dict[str, Sink],
    monitoring: Monitoring,
    progress: ProgressLine,
    stop: Stop,
    *,
    until_done: bool,
) -> int:
    """Runs to the end, or until it is stopped; a run that is stopped early publishes no results."""
    try:
        is_whole = _stepped(running, sinks, monitoring, progress, stop) or not until_done
        watching = monitoring.finish()
        if is_whole:
            _publish([*sinks.values(), *watching])
    except BaseException as error:
        is_whole = False
        if not is_interrupt(error):
            progress.clear()
            raise
    progress.counts.update([engine.totals() for engine in running.engines])
    progress.finish()
    if is_whole:
        return 0
    left = "some of the results" if any(sink.is_published for sink in sinks.values()) else "the results"
    print(f"stopped before the end: {left} are left out", file=sys.stderr)
    return INTERRUPTED


def _publish(sinks: Sequence[Sink]) -> None:
    """Publishes all results after all of them are on disk."""
    for sink in sinks:
        sink.finish()
    for sink in sinks:
        sink.publish()


def _stepped(
    running: EmbeddedRun, sinks: dict[str, Sink], monitoring: Monitoring, progress: ProgressLine, stop: Stop
) -> bool:
    """Steps the run, and returns whether it reached its end without being stopped."""
    for result in running.results(progress.compiles):
        if result is None:
            monitoring.waits()
            time.sleep(_POLL_SECONDS)
        else:
            _take(result, sinks, monitoring, progress)
            if not result.ends_step:
                continue
        if progress.due:
            progress.counts.update([engine.totals() for engine in running.engines])
            progress.draw()
        if stop.asked:
            return False
    return True


def _take(result: Result, sinks: dict[str, Sink], monitoring: Monitoring, progress: ProgressLine) -> None:
    progress.counts.rows_out = (progress.counts.rows_out or 0) + result.rows.num_rows
    if result.rows.num_rows:
        progress.clear()
        sinks[result.engine.query.name].write(result.rows)
    if result.ends_step:
        monitoring.stepped(result.engine.metrics)
