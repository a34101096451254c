"""penstock warm: compile the kernels into the cache, so that no query waits for them

The first query of a kind on a machine compiles the kernels that it calls. This command compiles those of most queries,
in several processes; run it when an image is built or a machine is set up.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time

from penstock.cli.arguments import at_least_one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--processes", metavar="N", type=at_least_one, help="compile in so many processes (default: one per core)"
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing")


def run(args: argparse.Namespace) -> int:
    # Libraries for data are loaded here, since other commands do without.
    from penstock.engines.warming import BATCHES, warm  # noqa: PLC0415

    begun, ready = time.monotonic(), 0

    def show(line: str, end: str = "") -> None:
        if sys.stderr.isatty() and not args.quiet:
            sys.stderr.write("\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1] + end)
            sys.stderr.flush()

    def done(title: str) -> None:
        nonlocal ready
        ready += 1
        show(f"{bar(ready, len(BATCHES))}  {title} done")

    show(f"{bar(0, len(BATCHES))}  compiling kernels")
    folder = warm(args.processes or os.cpu_count() or 1, done)
    show("")
    if not args.quiet:
        print(f"kernels are compiled, after {time.monotonic() - begun:.1f} s, in {folder}")
    return 0


def bar(ready: int, total: int) -> str:
    """Returns the bar of so many batches.

    >>> bar(1, 4)
    '[#####...............] 1/4'
    """
    width = 20 * ready // total
    return f"[{'#' * width}{'.' * (20 - width)}] {ready}/{total}"
