"""penstock top: watch the runs of this user: rates, lag, state beside its bound, violations, decisions

The picture is redrawn every second until Ctrl-C; with --once, or where standard output is no terminal, it is printed
once.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.cli.ctl import found
from penstock.cli.printing import say
from penstock.cli.progress import bytes_text
from penstock.errors import PenstockError
from penstock.masking import masked, printable

_SECONDS_BETWEEN = 1.0

#: Goes to the corner of the screen, and clears what is behind the cursor.
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"

#: Decisions of a query that are shown.
_DECISIONS = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="RUN", nargs="?", help="show this run only")
    parser.add_argument("--once", action="store_true", help="print one picture, and stop")


def run(args: argparse.Namespace) -> int:
    if args.once or not sys.stdout.isatty():
        say("\n".join(_frame(args.name)))
        return 0
    sys.stdout.write("\x1b[2J")
    while True:
        size = shutil.get_terminal_size()
        lines = [printable(masked(line))[: size.columns] for line in _frame(args.name)][: size.lines - 1]
        sys.stdout.write(_HOME + "".join(f"{line}{_CLEAR_LINE}\n" for line in lines) + _CLEAR_BELOW)
        sys.stdout.flush()
        time.sleep(_SECONDS_BETWEEN)


def _frame(name: str | None) -> list[str]:
    """Returns the lines of a picture of one run, or of all."""
    # Only what talks to a run needs sockets.
    from penstock.monitor.run_socket import ask, running  # noqa: PLC0415

    paths: list[Path] = list(running().values()) if name is None else [found(name)]
    lines: list[str] = []
    for path in paths:
        try:
            lines += [*picture(ask(path, {"command": "show"})), ""]
        except PenstockError as error:
            if name is not None:
                raise
            lines += [f"{path.stem}: {error.message}", ""]
    return lines or ["nothing runs"]


def picture(shown: dict[str, Any]) -> Iterator[str]:
    """Yields the lines that show a run, of what it answers."""
    yield f"{shown['run']}  process {shown['pid']}"
    if not shown["queries"]:
        yield "  no step is complete yet"
    for query in shown["queries"]:
        yield from _query(query)


def _query(query: dict[str, Any]) -> Iterator[str]:
    lag = "unknown" if query["lag"] is None else f"{query['lag']:,.3g} s"
    yield (
        f"  {query['query']}  step {query['step']:,}  {query['rows_in']:,} rows  {query['rows_per_second']:,.0f} rows/s"
        f"  lag {lag}"
    )
    state = f"{query['state_rows']:,} rows {bytes_text(query['state_bytes'])}"
    slowest = f"  slowest {query['slowest']}" if query["slowest"] else ""
    yield f"    state {state}  in flight {query['in_flight_rows']:,} rows{slowest}"
    yield (
        f"    late {query['late_rows']:,}  bad {query['bad_rows']:,}  after punctuation {query['violations']:,}"
        f"  timed out {query['timed_out_rows']:,}"
    )
    for each in query["state"]:
        of = f" of {each['stream']}" if each["stream"] else ""
        bound = f"  at most {each['bound']}" if each["bound"] else ""
        yield f"    {each['entity'] + of:<24} {each['rows']:>12,} rows {bytes_text(each['bytes']):>9}{bound}"
    for each in query["constraints"]:
        k = "unknown" if each["k"] is None else f"{each['k']:,}"
        used = "" if each["used"] else " (not used)"
        yield f"    {each['constraint']}  k {k}{used}  broken by {each['violations']:,}"
    for each in query["decisions"][-_DECISIONS:]:
        yield f"    {each['place']}: {each['reason']} after {each['at']:,} rows: {' AND '.join(each['filters'])}"
