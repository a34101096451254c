"""`penstock run` on Spark: a streaming query each, into folders of files, or printed as micro-batches are committed."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from penstock.algebra.relations import Query
from penstock.cli.monitoring import Monitoring, monitored
from penstock.cli.outputs import refuse_names
from penstock.cli.page_of_run import shown
from penstock.cli.progress import Counts, ProgressLine
from penstock.cli.run import adaptive, forgetting
from penstock.cli.stopping import INTERRUPTED, Stop, stopping, terminable
from penstock.cli.watched import WatchedQuery
from penstock.engines.java import find_java
from penstock.engines.planning import plan_of
from penstock.engines.scratch import scratch_prefix
from penstock.engines.sinks import Sink, open_sink
from penstock.engines.spark.committed import Committed
from penstock.engines.spark.declared import frames_of
from penstock.engines.spark.lost_java import silent_about_lost_java
from penstock.engines.spark.query import RunningQuery, start
from penstock.engines.spark.reports import SparkDied
from penstock.engines.spark.session import spark_session, stderr_to
from penstock.errors import PenstockError
from penstock.plan.fragments import Plan
from penstock.register import Verdict
from penstock.sql import Script

_POLL_SECONDS = 0.5


@dataclass(slots=True)
class _Started:
    running: RunningQuery
    #: The committed results and the sink that prints them, if they are printed.
    shown: tuple[Committed, Sink] | None
    planned: Plan
    #: The last micro-batch whose metrics were shown.
    given: int = -1

    def tell(self, monitoring: Monitoring) -> None:
        """Shows the observers of the run the micro-batches that are new."""
        lines = self.running.operators(after=self.given)
        for batch, of_batch in groupby(lines, key=lambda line: line.step):
            monitoring.take(list(of_batch))
            self.given = batch
        if not lines:
            monitoring.waits()

    def show(self, progress: ProgressLine) -> None:
        if self.shown is not None:
            for rows in self.shown[0].new():
                progress.counts.rows_out = (progress.counts.rows_out or 0) + rows.num_rows
                progress.clear()
                self.shown[1].write(rows)


def run_spark(
    script: Script,
    queries: Sequence[tuple[Query, str]],
    args: argparse.Namespace,
    verdicts: Sequence[Verdict],
    watched: Sequence[WatchedQuery],
) -> int:
    """Runs queries, each with the target of its results; those that watch run in this process."""
    find_java()
    refuse_names([q for q, _ in queries], "give the query a name without a slash: Spark keeps a folder for it")
    for _, output in queries:
        _refuse_other_results(output, args.checkpoint)
    is_printed = all(output == "-" for _, output in queries)
    progress = ProgressLine(Counts(rows_out=0 if is_printed else None))
    titled = len(queries) > 1 or any(each.output == "-" for each in watched)
    with ExitStack() as stack:
        stack.enter_context(nullcontext() if args.debug else silent_about_lost_java())
        monitoring = stack.enter_context(monitored(args, watched, progress))
        temporary = tempfile.TemporaryDirectory(prefix=scratch_prefix(), ignore_cleanup_errors=True)
        scratch = Path(stack.enter_context(temporary))
        started: list[_Started] = []
        with terminable(), progress.waiting("starting Spark"):
            for (query, output), verdict in zip(queries, verdicts, strict=True):
                most = verdict.bound.size
                started.append(_start(script, query, output, args, progress, most, scratch=scratch, titled=titled))
                stack.callback(started[-1].running.stop)
        monitoring.prove(verdicts, [each.planned for each in started])
        controls = stack.enter_context(monitoring.adjusting([each.running for each in started]))
        planned = [(query, each.planned) for (query, _), each in zip(queries, started, strict=True)]
        stack.enter_context(shown(args, script, planned, verdicts, monitoring, controls))

        def tick() -> None:
            controls.apply()
            for each in started:
                each.show(progress)
                each.tell(monitoring)
            if progress.due:
                _count(started, progress)
                progress.draw("running the first micro-batch")

        code = _awaited(started, args.until_done, tick)
        tick()
        _count(started, progress)
        for sink in monitoring.finish():
            sink.finish()
            sink.publish()
    progress.finish()
    if code:
        again = "run it again with the same --checkpoint" if args.checkpoint else "--checkpoint lets a run go on"
        print(f"stopped before the end: {again}", file=sys.stderr)
    return code


def _start(
    script: Script,
    query: Query,
    output: str,
    args: argparse.Namespace,
    progress: ProgressLine,
    most_rows: int | None,
    *,
    scratch: Path,
    titled: bool,
) -> _Started:
    with nullcontext() if args.debug else stderr_to(scratch / "spark.log"):
        spark = spark_session(args.master, time_zone=args.time_zone)
    cells = args.cells or spark.sparkContext.defaultParallelism
    planned = plan_of(query, script.catalog, cells, forgetting(args), adaptive(args))
    streams, tables = frames_of(planned, script.catalog, spark, slowly=args.memory is not None)
    folder = str(scratch / f"{query.name}.parquet") if output == "-" else output
    checkpoint = str(Path(args.checkpoint) / query.name if args.checkpoint else scratch / f"{query.name}.checkpoint")
    running = start(
        query,
        script.catalog,
        streams,
        tables,
        spark=spark,
        out=folder,
        checkpoint=checkpoint,
        cells=cells,
        horizon=args.horizon,
        until_done=args.until_done,
        forgetting=forgetting(args),
        planned=planned,
        warn=progress.warn,
        idle=args.idle,
        memory=args.memory,
        most_rows=most_rows,
    )
    printed = (
        (Committed(Path(folder)), open_sink("-", query, query.name if titled else None)) if output == "-" else None
    )
    return _Started(running, printed, planned)


def _awaited(started: list[_Started], until_done: bool, tick: Callable[[], None]) -> int:
    stop = Stop()

    def tick_or_stop() -> None:
        tick()
        if stop.asked:  # here, and not while results are printed
            raise KeyboardInterrupt

    try:
        with stopping(stop):
            while not until_done and all(each.running.is_running for each in started):
                time.sleep(_POLL_SECONDS)
                tick_or_stop()
            for each in started:
                each.running.await_done(tick_or_stop)
    except (KeyboardInterrupt, SparkDied) as error:
        # A signal to the whole process group has stopped Spark's process, too.
        if isinstance(error, SparkDied) and not stop.asked:
            raise
        for each in started:
            each.running.stop()
        return INTERRUPTED if until_done else 0
    return 0


def _count(started: list[_Started], progress: ProgressLine) -> None:
    reports = [(each.running.progress(), each.running.before()) for each in started]
    # A stream that several queries read counts once; so does what was read before this start.
    before = {name: stream for _, of_query in reports for name, stream in of_query.items()}
    progress.counts.update([report for report, _ in reports if report is not None], before)


def _refuse_other_results(output: str, checkpoint: str | None) -> None:
    """Refuses a folder with results: Spark would take the batches of a new run for those and skip them."""
    folder = Path(output)
    if checkpoint is not None or output == "-" or not folder.exists():
        return
    hint = "choose another --out, remove the folder, or go on with the --checkpoint of that run"
    if (folder / "_spark_metadata").exists():
        raise PenstockError(f"{output}: it holds the results of another run", hint)
    if not folder.is_dir():
        raise PenstockError(f"{output}: it is a file, and Spark writes a folder", "choose another --out")
    if any(folder.iterdir()):
        raise PenstockError(f"{output}: it holds files already", "choose another --out, or empty the folder")
