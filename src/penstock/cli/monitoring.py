"""What looks at a run of `penstock run`, and may change it: the file of metrics, queries over `sysstream`, the run's
socket for `penstock ctl` and `penstock top`, and Prometheus.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from penstock.cli.metrics_file import MetricsFile
from penstock.cli.printing import say
from penstock.cli.progress import ProgressLine
from penstock.cli.watched import WatchedQuery
from penstock.engines.metrics import OperatorMetrics
from penstock.engines.sinks import Sink, open_sink
from penstock.engines.watching import Watch
from penstock.errors import PenstockError
from penstock.monitor.bounds import live_bounds
from penstock.monitor.control import Adjustable, Controls
from penstock.monitor.live import Live
from penstock.monitor.observing import Observers
from penstock.monitor.prometheus import exposition
from penstock.monitor.prometheus_server import PrometheusServer
from penstock.monitor.publishing import SysStream
from penstock.monitor.requests import answered
from penstock.monitor.run_socket import RunSocket
from penstock.plan.fragments import Plan
from penstock.register import Verdict
from penstock.sql.system_streams import SYSSTREAM


class Monitoring:
    """All that looks at one run, from its start to its end. The run is adjusted through `controls`."""

    def __init__(self, args: argparse.Namespace, progress: ProgressLine) -> None:
        self._name = Path(args.file).stem if args.file != "-" else "stdin"
        self._progress = progress
        self._sysstream = SysStream()
        self._sinks: dict[str, Sink] = {}
        self.live = Live()
        self.observers = Observers([self._sysstream, self.live])
        self.controls = Controls(())

    def prove(self, verdicts: Iterable[Verdict], plans: Iterable[Plan]) -> None:
        """Takes what was proved of the queries, each of which runs by its plan, to show it beside what they keep."""
        self.live.bounds = {
            verdict.name: live_bounds(verdict, plan) for verdict, plan in zip(verdicts, plans, strict=True)
        }
        self._sysstream.prove(self.live.bounds)

    def watch(self, watched: WatchedQuery, *, overwrite: bool) -> Callable[[], None]:
        """Adds a query over `sysstream`, and returns what gives it up."""
        query = watched.query
        watch = Watch(query, watched.catalog, SYSSTREAM)
        self._sysstream.watches.append(watch)
        self._sinks[query.name] = sink = open_sink(watched.output, query, query.name, overwrite=overwrite)

        def abandon() -> None:
            sink.abandon()
            watch.close()

        return abandon

    def serve(self, port: int) -> PrometheusServer:
        """Serves metrics to Prometheus."""
        live = self.live
        server = PrometheusServer(port, lambda: exposition(live.totals(), live.bounds, {"run": self._name}))
        say(f"metrics for Prometheus are at {server.address}", sys.stderr)
        return server

    @contextmanager
    def adjusting(self, queries: Sequence[Adjustable]) -> Iterator[Controls]:
        """Lets queries be adjusted inside of the block. Without a socket the run goes on all the same."""
        self.controls = Controls(queries)
        try:
            socket = RunSocket(self._name, partial(answered, self._name, self.controls, self.live))
        except PenstockError as error:
            say(f"the run cannot be adjusted: {error.message}", sys.stderr)
            yield self.controls
            return
        try:
            yield self.controls
        finally:
            socket.close()

    def stepped(self, metrics: Callable[[], Iterable[OperatorMetrics]]) -> None:
        """Shows a step that is complete to all who look."""
        self.observers.stepped(metrics)
        self._show()

    def take(self, lines: Sequence[OperatorMetrics]) -> None:
        """Shows the metrics of a micro-batch to all who look."""
        self.observers.take(lines)
        self._show()

    def waits(self) -> None:
        """Says that there is no input for now."""
        self.observers.waits()
        self._sysstream.beat()
        self._show()

    def finish(self) -> list[Sink]:
        """Shows all that there is, and returns what is to be published."""
        self.observers.waits()
        self._show(is_last=True)
        return list(self._sinks.values())

    def _show(self, *, is_last: bool = False) -> None:
        for query, rows in self._sysstream.changes(is_last=is_last):
            self._progress.clear()
            self._sinks[query.name].write(rows)


@contextmanager
def monitored(
    args: argparse.Namespace, watched: Sequence[WatchedQuery], progress: ProgressLine
) -> Iterator[Monitoring]:
    """Opens what the arguments of a run ask for, before it starts: what cannot be opened fails early."""
    with ExitStack() as stack:
        monitoring = Monitoring(args, progress)
        monitoring.observers.add(stack.enter_context(MetricsFile(args.metrics, overwrite=args.overwrite)))
        for each in watched:
            stack.callback(monitoring.watch(each, overwrite=args.overwrite))
        if args.prometheus is not None:
            stack.callback(monitoring.serve(args.prometheus).close)
        yield monitoring
