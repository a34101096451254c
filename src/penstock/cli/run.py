"""penstock run: run the queries of a file

On Spark, or with --engine embedded in this process. A result is a log of changes: `_ts`, `_op`, then the select list.
"""

from __future__ import annotations

import argparse
import sys

from penstock.algebra.relations import ADAPTIVE_MODES, Query
from penstock.cli.arguments import (
    add_effort,
    add_functions,
    add_time_zone,
    at_least_one,
    duration,
    instant,
    memory_size,
    rows_or_time,
)
from penstock.cli.files import bound_script
from penstock.cli.outputs import refuse_what_is_read, targets
from penstock.cli.printing import say
from penstock.effort import limited
from penstock.elimination import eliminated
from penstock.errors import PenstockError
from penstock.plan.adaptivity import Adaptive
from penstock.plan.forgetting import Forgetting
from penstock.register import check_query, refuse_unsafe
from penstock.sql import Script
from penstock.sql.diagnostics import did_you_mean, listed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="SQL statements; - for standard input")
    parser.add_argument(
        "--engine", choices=("spark", "embedded"), default="spark", help="where to run (default: spark)"
    )
    parser.add_argument("--query", metavar="NAME", help="run this query only")
    parser.add_argument("--out", metavar="PATH", default="-", help="a path that ends in csv, json or parquet; - prints")
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the files of --out and --metrics if they exist"
    )
    parser.add_argument("--until-done", action="store_true", help="read what there is, close all instants, and stop")
    parser.add_argument("--horizon", metavar="MICROSECONDS", type=instant, help="the last instant, with --until-done")
    parser.add_argument("--metrics", metavar="PATH", help="write a JSON line per step and operator")
    parser.add_argument("--cells", metavar="N", type=at_least_one, help="cells per fragment")
    parser.add_argument(
        "--purge-every",
        metavar="ROWS|TIME",
        type=rows_or_time,
        help="purge less often: after so many rows, or such a time",
    )
    parser.add_argument(
        "--wait-timeout", metavar="TIME", type=duration, help="drop rows that wait longer for their punctuation"
    )
    parser.add_argument(
        "--spill", action="store_true", help="put rows that are probably unnecessary on disk, so that nothing is lost"
    )
    parser.add_argument(
        "--adaptive",
        choices=ADAPTIVE_MODES,
        default="full",
        help="what may change as the data does: nothing, the orders of evaluation, or all (default: full)",
    )
    parser.add_argument(
        "--cache-memory",
        metavar="SIZE",
        type=memory_size,
        help="what the caches of a join may take, as 64MB; 0 is none (default: half of what its rows take)",
    )
    add_time_zone(parser)
    parser.add_argument("--checkpoint", metavar="DIR", help="where Spark keeps what it needs to go on after a stop")
    parser.add_argument("--master", metavar="URL", help="Spark's master (default: local[*])")
    parser.add_argument("--ui", metavar="PORT", type=int, help=argparse.SUPPRESS)  # refused: it is not there yet
    add_functions(parser)
    add_effort(parser)
    parser.add_argument("--allow-unbounded", action="store_true", help="run even if memory may grow indefinitely")


def run(args: argparse.Namespace) -> int:
    with limited(args.effort):
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    script = bound_script(args).checked()
    queries = chosen(script, args.query)
    if args.ui is not None:
        raise PenstockError("there is no web page yet", "leave --ui out; --metrics writes what it would show")
    if args.horizon is not None and not args.until_done:
        raise PenstockError("--horizon goes with --until-done", "add --until-done, or leave --horizon out")
    outputs = targets(args.out, queries)
    refuse_what_is_read([*outputs, *([args.metrics] if args.metrics else [])], args.file, script)
    if not args.allow_unbounded:
        for query in queries:
            verdict = check_query(eliminated(query, script.catalog)[0], script.catalog, script.origin(query))
            refuse_unsafe(verdict)
            for warning in verdict.warnings:
                say(warning, sys.stderr)
    # Engines load libraries for data, which the other commands do without.
    if args.engine == "embedded":
        from penstock.cli.run_embedded import run_embedded  # noqa: PLC0415

        return run_embedded(script, queries, outputs, args)
    from penstock.cli.run_spark import run_spark  # noqa: PLC0415

    return run_spark(script, queries, outputs, args)


def forgetting(args: argparse.Namespace) -> Forgetting:
    rows, time = args.purge_every or (None, None)
    return Forgetting(rows, time, args.wait_timeout, args.spill)


def adaptive(args: argparse.Namespace) -> Adaptive:
    return Adaptive(mode=args.adaptive, cache_memory=args.cache_memory)


def chosen(script: Script, name: str | None) -> list[Query]:
    """Returns the queries that are to run."""
    names = [query.name for query in script.queries]
    if not names:
        raise PenstockError("the file has no query", "write CREATE QUERY name AS SELECT ...")
    if name is None:
        return list(script.queries)
    found = [query for query in script.queries if query.name.lower() == name.lower()]
    if not found:
        raise PenstockError(f"there is no query {name}", did_you_mean(name, names) or f"the file has {listed(names)}")
    return found
