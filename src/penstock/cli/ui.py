"""penstock ui: show a run that is over

Replays the metrics of a run as the page that `penstock run --ui` shows while it runs, until Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
from threading import Event

from penstock.cli.stopping import Stop, stopping
from penstock.monitor.page.address import address_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("metrics", metavar="METRICS", help="the file that penstock run --metrics wrote")
    parser.add_argument(
        "--port", metavar="[ADDRESS:]PORT", default="0", help="where to show it (default: any free port)"
    )
    parser.add_argument("--report", metavar="PATH", help="write the page as an html file instead of showing it")
    parser.add_argument("--overwrite", action="store_true", help="replace the file of --report if it exists")


def run(args: argparse.Namespace) -> int:
    # Engines load libraries for data, which the other commands do without.
    from penstock.monitor.page.report import recorded, write_report  # noqa: PLC0415
    from penstock.monitor.page.serving import PageServer  # noqa: PLC0415

    recorder = recorded(args.metrics)
    if args.report is not None:
        write_report(recorder, args.report, overwrite=args.overwrite)
        return 0
    stop = Stop()
    server = PageServer(*address_of(args.port))
    server.show(recorder)
    with stopping(stop), server:
        print(f"page: {server.address}", file=sys.stderr, flush=True)
        while not stop.asked:
            Event().wait(0.2)
    return 0
