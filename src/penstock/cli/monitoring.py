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
from penstock.monitor.observing import Observer, Observers
from penstock.monitor.prometheus import exposition
from penstock.monitor.prometheus_server import PrometheusServer
from penstock.monitor.publishing import SysStream
from penstock.monitor.requests import answered
from penstock.monitor.run_socket import RunSocket
from penstock.register import Verdict
from penstock.sql.system_streams import SYSSTREAM


class Monitoring:
    """All that looks at one run, from its start to its end."""

    def __init__(
        self,
        observers: Observers,
        sysstream: SysStream,
        sinks: dict[str, Sink],
        controls: Controls,
        progress: ProgressLine,
    ) -> None:
        self._observers, self._sysstream, self._sinks = observers, sysstream, sinks
        self.controls = controls
        self._progress = progress

    def watch(self, observer: Observer) -> None:
        """Lets somebody else look at the run from now on."""
        self._observers.add(observer)

    def stepped(self, metrics: Callable[[], Iterable[OperatorMetrics]]) -> None:
        """Shows a step that is complete to all who look."""
        self._observers.stepped(metrics)
        self._show()

    def waits(self) -> None:
        """Says that there is no input for now."""
        self._observers.waits()
        self._sysstream.beat()
        self._show()

    def finish(self) -> list[Sink]:
        """Shows all that there is, and returns what is to be published."""
        self._observers.waits()
        self._show(is_last=True)
        return list(self._sinks.values())

    def _show(self, *, is_last: bool = False) -> None:
        for query, rows in self._sysstream.changes(is_last=is_last):
            self._progress.clear()
            self._sinks[query.name].write(rows)


@contextmanager
def monitored(
    args: argparse.Namespace,
    queries: Sequence[Adjustable],
    verdicts: Sequence[Verdict],
    watched: Sequence[WatchedQuery],
    progress: ProgressLine,
) -> Iterator[Monitoring]:
    """Opens what the arguments of a run ask for. A run without a socket cannot be adjusted, and runs all the same."""
    with ExitStack() as stack:
        bounds = {verdict.name: live_bounds(verdict) for verdict in verdicts}
        metrics = stack.enter_context(MetricsFile(args.metrics, overwrite=args.overwrite))
        sysstream = SysStream([Watch(each.query, each.catalog, SYSSTREAM) for each in watched])
        stack.callback(sysstream.close)
        sysstream.prove(bounds)
        sinks: dict[str, Sink] = {}
        for each in watched:
            sinks[each.query.name] = open_sink(each.output, each.query, each.query.name, overwrite=args.overwrite)
            stack.callback(sinks[each.query.name].abandon)
        live = Live(bounds)
        controls = Controls(queries)
        name = Path(args.file).stem if args.file != "-" else "stdin"
        try:
            socket = RunSocket(name, partial(answered, name, controls, live))
            stack.callback(socket.close)
        except PenstockError as error:
            say(f"the run cannot be adjusted: {error.message}", sys.stderr)
        if args.prometheus is not None:
            server = PrometheusServer(args.prometheus, lambda: exposition(live.totals(), bounds, {"run": name}))
            stack.callback(server.close)
            say(f"metrics for Prometheus are at {server.address}", sys.stderr)
        yield Monitoring(Observers([metrics, sysstream, live]), sysstream, sinks, controls, progress)
