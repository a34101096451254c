"""Who looks at a run: a file of metrics, a page, a report. Nothing is measured for those that nobody asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from penstock.algebra.relations import Query
from penstock.cli.files import shown_name
from penstock.cli.metrics_file import MetricsFile
from penstock.elimination import eliminated
from penstock.engines.drafts import existing
from penstock.engines.metrics import OperatorMetrics
from penstock.monitor.page.address import address_of
from penstock.monitor.page.following import Running, take_new
from penstock.monitor.page.plan_document import Asked, plan_document
from penstock.monitor.page.recorder import Recorder, Settings
from penstock.monitor.page.report import write_plan, write_report
from penstock.monitor.page.serving import PageServer
from penstock.plan.fragments import Plan
from penstock.register import check_query
from penstock.sql import Script


class Watching:
    """Passes the metrics of each step on. It is opened before a run, so that what cannot be written fails early."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        if args.report is not None and Path(args.report).exists() and not args.overwrite:
            raise existing(args.report)
        self._file = MetricsFile(args.metrics, overwrite=args.overwrite)
        self._server = None if args.ui is None else PageServer(*address_of(args.ui))
        self._recorder: Recorder | None = None

    def begin(self, script: Script, queries: Sequence[Query], plans: Sequence[Plan], controls: Settings | None) -> None:
        """Takes what is known before the first step."""
        args = self._args
        if args.metrics is None and args.ui is None and args.report is None:
            return
        asked = [asked_of(script, query, planned) for query, planned in zip(queries, plans, strict=True)]
        document = plan_document(shown_name(args.file), args.engine, asked)
        if args.metrics is not None:
            write_plan(document, args.metrics)
        if self._server is not None or args.report is not None:
            self._recorder = Recorder(document, controls=controls)
        if self._server is not None and self._recorder is not None:
            self._server.show(self._recorder)
            self._server.start()
            print(f"page: {self._server.address}", file=sys.stderr, flush=True)

    @property
    def is_shown(self) -> bool:
        """Returns whether a page or a report wants metrics while the query runs."""
        return self._recorder is not None

    def write(self, metrics: Callable[[], Iterable[OperatorMetrics]]) -> None:
        """Takes the metrics of a step, which are computed if somebody wants them."""
        if self._recorder is None:
            self._file.write(metrics)
            return
        lines = list(metrics())
        self._file.write(lambda: lines)
        self._recorder.take(lines)

    def follow(self, running: Running, last: int) -> int:
        """Takes the micro-batches of a query on Spark after the last one, for the page and the report."""
        return last if self._recorder is None else take_new(running, self._recorder, last)

    def log(self, metrics: Callable[[], Iterable[OperatorMetrics]]) -> None:
        """Takes metrics for the file alone."""
        self._file.write(metrics)

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.__exit__()
        if self._recorder is not None:
            self._recorder.end()
        try:
            if self._args.report is not None and self._recorder is not None:
                write_report(self._recorder, self._args.report, overwrite=self._args.overwrite)
        finally:
            if self._server is not None:
                self._server.close()


def asked_of(script: Script, query: Query, planned: Plan) -> Asked:
    """Returns a query of a file with its plan and its verdict."""
    without, eliminations = eliminated(query, script.catalog)
    origin = script.origin(query)
    verdict = check_query(without, script.catalog, origin)
    return Asked(query, planned, verdict, origin, tuple(map(str, eliminations)))
