"""penstock lint: run PySpark jobs up to their streaming queries, and judge these in place of starting them

A job is a Python script, which is not changed. Each streaming query that it would start is judged in its output mode:
whether its state is bounded, whether Spark refuses it, and what Spark does wrongly in silence. Arguments behind the
files are the job's own.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from penstock.algebra.printing import Json
from penstock.cli.files import JSON_SCHEMA
from penstock.cli.printing import say
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.engines.spark.lint.jobs import JobError, JudgedJob, JudgedQuery

FORMATS = ("text", "json", "sarif", "github")
_NONE = "no streaming query was started"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="Python scripts, and then, behind --, arguments that each of them gets"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="of the report (default: text)")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    parser.add_argument(
        "--finite",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column that takes few values; may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    files, arguments = _split([*args.files, *args.behind])
    if not files:
        raise PenstockError(f"{arguments[0]} is not a Python script", "give the path of a file that ends in .py")
    from penstock.engines.spark.lint.jobs import judge_job  # noqa: PLC0415 - only this needs Spark

    jobs = [judge_job(file, arguments, args.finite) for file in files]
    _PRINT[args.format](jobs)
    if any(job.error is not None for job in jobs):
        return 2
    return 0 if all(query.verdict.safe for job in jobs for query in job.queries) else 1


def behind_dashes(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Returns the arguments of the command, and those of a job behind `--`, whatever they look like.

    >>> behind_dashes(["lint", "job.py", "--json", "--", "--json", "1"])
    (['lint', 'job.py', '--json'], ['--json', '1'])
    """
    if "lint" not in arguments[:2] or "--" not in arguments:
        return arguments, []
    place = arguments.index("--")
    return arguments[:place], arguments[place + 1 :]


def _split(given: list[str]) -> tuple[list[str], list[str]]:
    """Returns the scripts, and the arguments behind them.

    >>> _split(["a.py", "b.py", "--date", "x.py"])
    (['a.py', 'b.py'], ['--date', 'x.py'])
    """
    scripts = next((place for place, each in enumerate(given) if not each.endswith(".py")), len(given))
    return given[:scripts], given[scripts:]


def _print_text(jobs: list[JudgedJob]) -> None:
    for number, query in enumerate(query for job in jobs for query in job.queries):
        if number:
            print()
        say(f"{query.file}:{query.line}: {query.verdict}")
    for job in jobs:
        if job.error is not None:
            say(f"{job.error.file}:{job.error.line}: {job.error.message}")
            say(f"hint: {job.error.hint}")
    if not any(job.queries or job.error for job in jobs):
        print(_NONE)


def _print_json(jobs: list[JudgedJob]) -> None:
    errors: list[Json] = [
        {"file": e.file, "line": e.line, "column": None, "message": e.message, "hint": e.hint} for e in _errors(jobs)
    ]
    queries: list[Json] = [{"file": q.file, "line": q.line, **q.verdict.to_json()} for q in _queries(jobs)]
    say(json.dumps({"schema": JSON_SCHEMA, "errors": errors, "queries": queries}, indent=2, ensure_ascii=False))


def _print_github(jobs: list[JudgedJob]) -> None:
    """Prints commands that a GitHub workflow shows beside the lines that they are about."""
    for query in _queries(jobs):
        if not query.verdict.safe:
            say(_command("error", query.file, query.line, query.verdict.name, str(query.verdict)))
        for warning in query.verdict.warnings:
            say(_command("warning", query.file, query.line, query.verdict.name, warning))
    for error in _errors(jobs):
        say(_command("error", error.file, error.line, "penstock lint", error.message))


def _command(level: str, file: str, line: int, title: str, message: str) -> str:
    escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return f"::{level} file={file},line={line},title={title}::{escaped}"


_RULES = {
    "unbounded-state": "The state of a streaming query grows without bound",
    "refused": "Spark refuses a streaming query",
    "silent-loss": "Spark runs a streaming query otherwise than its author may expect",
    "job-failed": "A job did not run to its end",
}


def _print_sarif(jobs: list[JudgedJob]) -> None:
    """Prints the report in SARIF 2.1.0, which code scanners read."""
    results: list[Json] = []
    for query in _queries(jobs):
        if not query.verdict.safe:
            rule = "unbounded-state" if query.verdict.refusal is None else "refused"
            results.append(_result(rule, "error", str(query.verdict), query.file, query.line))
        results += [_result("silent-loss", "warning", text, query.file, query.line) for text in query.verdict.warnings]
    results += [_result("job-failed", "error", error.message, error.file, error.line) for error in _errors(jobs)]
    rules: list[Json] = [{"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()]
    tool: Json = {"driver": {"name": "penstock lint", "rules": rules}}
    report: dict[str, Json] = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": tool, "results": results}],
    }
    say(json.dumps(report, indent=2, ensure_ascii=False))


def _result(rule: str, level: str, text: str, file: str, line: int) -> Json:
    place: Json = {"artifactLocation": {"uri": file}, "region": {"startLine": line}}
    return {"ruleId": rule, "level": level, "message": {"text": text}, "locations": [{"physicalLocation": place}]}


def _queries(jobs: list[JudgedJob]) -> list[JudgedQuery]:
    return [query for job in jobs for query in job.queries]


def _errors(jobs: list[JudgedJob]) -> list[JobError]:
    return [job.error for job in jobs if job.error is not None]


_PRINT = {"text": _print_text, "json": _print_json, "github": _print_github, "sarif": _print_sarif}
