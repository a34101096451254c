"""The page of a run: shown while it runs, written when it is over, and its plan beside the file of metrics.

Nothing is recorded for a page that nobody asked for.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from penstock.algebra.relations import Query
from penstock.cli.files import shown_name
from penstock.cli.monitoring import Monitoring
from penstock.elimination import running
from penstock.monitor.control import Controls
from penstock.monitor.page.address import address_of
from penstock.monitor.page.asked import Asked
from penstock.monitor.page.plan_document import plan_document
from penstock.monitor.page.recorder import Recorder
from penstock.monitor.page.report import write_plan, write_report
from penstock.monitor.page.serving import PageServer
from penstock.plan.fragments import Plan
from penstock.register import Verdict
from penstock.sql import Script


@contextmanager
def shown(
    args: argparse.Namespace,
    script: Script,
    planned: Sequence[tuple[Query, Plan]],
    verdicts: Sequence[Verdict],
    monitoring: Monitoring,
    controls: Controls,
) -> Iterator[None]:
    """Shows a run as a page for as long as it lasts, and writes its report."""
    if args.metrics is None and args.ui is None and args.report is None:
        yield
        return
    asked = [_asked(script, query, plan, verdict) for (query, plan), verdict in zip(planned, verdicts, strict=True)]
    document = plan_document(shown_name(args.file), args.engine, asked)
    if args.metrics is not None:
        write_plan(document, args.metrics, overwrite=args.overwrite)
    if args.ui is None and args.report is None:
        yield
        return
    recorder = Recorder(document, controls=controls, bounds=monitoring.live.bounds)
    monitoring.observers.add(recorder)
    server = None if args.ui is None else PageServer(*address_of(args.ui))
    if server is not None:
        server.show(recorder)
        server.start()
        print(f"page: {server.address}", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        recorder.end()
        try:
            if args.report is not None:
                write_report(recorder, args.report, overwrite=args.overwrite)
        finally:
            if server is not None:
                server.close()


def _asked(script: Script, query: Query, planned: Plan, verdict: Verdict) -> Asked:
    left_out = tuple(map(str, running(query, script.catalog).eliminations))
    return Asked(query, planned, verdict, script.origin(query), left_out)
