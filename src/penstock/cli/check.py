"""penstock check: find out what is wrong with the statements of a file, and which queries have bounded state

Binds every statement and reports all errors at once. Each query gets a verdict: how much it keeps at most, or which
piece of its state may grow without bound, why, and what would make it safe.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from glob import glob

from penstock.algebra.printing import Json
from penstock.algebra.relations import streams
from penstock.cli.arguments import add_effort, add_functions, add_time_zone, at_least_one
from penstock.cli.files import JSON_SCHEMA, NO_QUERY, bound_script, error_json, print_errors
from penstock.cli.printing import say
from penstock.cli.witness import print_written, write_witness
from penstock.effort import limited, pooled
from penstock.elimination import AssertionNotice, Contradictory, assertion_notices, notice_json, verdict_of
from penstock.register import Verdict, verdict_json, verdict_text
from penstock.sql import Script


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="SQL statements, each file by itself; may be a pattern; - for standard input",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--explain", action="store_true", help="print the proof of every bound")
    parser.add_argument(
        "--witness", metavar="N", type=at_least_one, help="write input of N rows that defeats every plan, as csv files"
    )
    add_time_zone(parser)
    add_functions(parser)
    add_effort(parser)


def run(args: argparse.Namespace) -> int:
    """Checks each file, and returns the worst of their exit codes."""
    files = [file for given in args.files for file in _matching(given)]
    reports: list[dict[str, Json]] = []
    worst = 0
    for number, file in enumerate(files):
        if len(files) > 1 and not args.json:
            say(f"{'' if number == 0 else chr(10)}{file}:")
        with limited(args.effort), pooled():
            worst = max(worst, _run(argparse.Namespace(**{**vars(args), "file": file}), reports))
    if args.json:
        whole = reports[0] if len(files) == 1 else {"schema": JSON_SCHEMA, "files": [*_named(files, reports)]}
        say(json.dumps(whole, indent=2, ensure_ascii=False))
    return worst


def _named(files: list[str], reports: list[dict[str, Json]]) -> list[Json]:
    """Returns the reports of several files, each with its name."""
    return [{"file": file, **report} for file, report in zip(files, reports, strict=True)]


def _matching(given: str) -> list[str]:
    """Returns the files of a pattern in order, or what was given if it is none, or none match."""
    return sorted(glob(given, recursive=True)) or [given] if any(mark in given for mark in "*?[") else [given]


def _run(args: argparse.Namespace, reports: list[dict[str, Json]]) -> int:
    script = bound_script(args)
    catalog, queries = script.catalog, script.queries
    verdicts = [verdict_of(query, catalog, script.origin(query)) for query in queries]
    read = [frozenset(stream.name for stream in streams(query.relation)) for query in script.queries]
    notices = () if script.errors else assertion_notices(script.catalog, read)
    if args.json:
        reports.append(report(script, verdicts, notices))
    else:
        for before, verdict in zip([None, *verdicts], verdicts, strict=False):
            if before is not None and not (before.safe and verdict.safe):
                print()
            say(verdict_text(verdict, explain=args.explain))
            for warning in verdict.warnings:
                say(f"warning: {warning}")
        if not script.queries and not script.errors:
            print(NO_QUERY)
        for notice in notices:
            say(f"{'warning' if isinstance(notice, Contradictory) else 'note'}: {notice}")
        print_errors(script)
    if args.witness is not None:
        for verdict in verdicts:
            print_written(write_witness(verdict, args.witness))
    if script.errors:
        return 2
    is_contradictory = any(isinstance(notice, Contradictory) for notice in notices)
    return 0 if all(verdict.safe for verdict in verdicts) and not is_contradictory else 1


def report(script: Script, verdicts: list[Verdict], notices: Sequence[AssertionNotice]) -> dict[str, Json]:
    """Returns the report as JSON: design section 7."""
    return {
        "schema": JSON_SCHEMA,
        "errors": [error_json(error) for error in script.errors],
        "queries": [verdict_json(verdict) for verdict in verdicts],
        "assertions": [notice_json(notice) for notice in notices],
    }
