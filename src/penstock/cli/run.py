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
    memory_budget,
    memory_size,
    rows_or_time,
)
from penstock.cli.files import bound_script
from penstock.cli.outputs import refuse_existing, refuse_what_is_read, targets
from penstock.cli.printing import say
from penstock.cli.watched import watched_queries
from penstock.effort import limited
from penstock.elimination import PLANS, verdict_of, with_join_plan, with_plan
from penstock.errors import PenstockError
from penstock.monitor.page.address import address_of, require_extra
from penstock.monitor.page.plan_document import plan_path
from penstock.plan.adaptivity import Adaptive
from penstock.plan.early import with_early
from penstock.plan.forgetting import Forgetting
from penstock.register import Verdict, refuse_unsafe
from penstock.sql import Script, bind_text
from penstock.sql.diagnostics import did_you_mean, listed
from penstock.sql.system_streams import reads_sysstream


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
    parser.add_argument(
        "--watch",
        metavar="SELECT",
        action="append",
        default=[],
        help="a query over sysstream, which prints what the run does; may be given several times",
    )
    parser.add_argument(
        "--prometheus", metavar="PORT", type=instant, help="serve metrics to Prometheus on this port of this machine"
    )
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
        "--idle", metavar="TIME", type=duration, help="go on without a stream that has been quiet for so long"
    )
    parser.add_argument(
        "--early", action="store_true", help="give results as soon as their rows are there, if they can"
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
    parser.add_argument(
        "--plan",
        choices=PLANS,
        help="how APPROXIMATE queries run: by exact joins, or by counters even where WITHIN asks for exact joins",
    )
    parser.add_argument(
        "--join-plan",
        metavar="TREE",
        help="run the join by this tree, as ((a b) c); with several queries, each that has such a join",
    )
    parser.add_argument(
        "--monitor",
        metavar="N",
        type=at_least_one,
        help="of APPROXIMATE queries, watch the assertions on one key in N (default: 64; 1: on all)",
    )
    parser.add_argument(
        "--memory",
        metavar="BYTES",
        type=memory_budget,
        help="what rows may take, as 512MB: reading slows where they take more",
    )
    add_time_zone(parser)
    parser.add_argument("--checkpoint", metavar="DIR", help="where Spark keeps what it needs to go on after a stop")
    parser.add_argument("--master", metavar="URL", help="Spark's master (default: local[*])")
    parser.add_argument(
        "--ui",
        metavar="[ADDRESS:]PORT",
        nargs="?",
        const="0",
        help="show the run as a page at a port of this machine, any by default; needs penstock[ui]",
    )
    parser.add_argument("--report", metavar="PATH", help="write the page of the run, when it is over, as an html file")
    add_functions(parser)
    add_effort(parser)
    parser.add_argument("--allow-unbounded", action="store_true", help="run even if memory may grow indefinitely")


def run(args: argparse.Namespace) -> int:
    with limited(args.effort):
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    script = bound_script(args).checked()
    queries = with_join_plan(chosen(script, args.query), args.join_plan)
    queries = [with_plan(query, args.plan, args.monitor) for query in queries]
    queries = [with_early(query, early=args.early) for query in queries]
    if args.ui is not None:
        address_of(args.ui)
        require_extra()
    if args.horizon is not None and not args.until_done:
        raise PenstockError("--horizon goes with --until-done", "add --until-done, or leave --horizon out")
    if args.idle is not None and args.until_done:
        message = "--idle is for runs that wait for new rows, and --until-done reads what there is"
        raise PenstockError(message, "leave one of them out")
    outputs = targets(args.out, queries)
    beside = [path for path in (args.metrics, args.metrics and plan_path(args.metrics), args.report) if path]
    refuse_what_is_read([*outputs, *beside], args.file, script)
    if not args.overwrite:
        refuse_existing(beside)
    watches = [bind_text(text, "--watch", script.catalog, args.time_zone).checked() for text in args.watch]
    verdicts = _judged(script, queries, watches, args)
    pairs = list(zip(queries, outputs, strict=True))
    watched = watched_queries(script, pairs, watches)
    pairs = [(query, output) for query, output in pairs if not reads_sysstream(query)]
    # Engines load libraries for data, which the other commands do without.
    if args.engine == "embedded":
        from penstock.cli.run_embedded import run_embedded  # noqa: PLC0415

        return run_embedded(script, pairs, args, verdicts, watched)
    from penstock.cli.run_spark import run_spark  # noqa: PLC0415

    return run_spark(script, pairs, args, verdicts, watched)


def _judged(script: Script, queries: list[Query], watches: list[Script], args: argparse.Namespace) -> list[Verdict]:
    """Returns the verdicts on queries that do not watch, after refusing what is unsafe, and warning."""
    verdicts = [verdict_of(query, script.catalog, script.origin(query)) for query in queries]
    of_watches = [verdict_of(q, bound.catalog, bound.origin(q)) for bound in watches for q in bound.queries]
    if not args.allow_unbounded:
        for verdict in (*verdicts, *of_watches):
            refuse_unsafe(verdict)
            for warning in verdict.warnings:
                say(warning, sys.stderr)
    return [verdict for verdict in verdicts if not reads_sysstream(verdict.query)]


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
