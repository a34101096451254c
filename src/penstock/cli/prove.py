"""penstock prove: show what the declarations of a file imply of its assertions

For each assertion: do the other declarations imply it? The answer is implied, with a proof; not implied, with rows that
satisfy all other declarations and break it; or unknown.
"""

from __future__ import annotations

import argparse
import json

from penstock.algebra.printing import Json
from penstock.catalog import AssertionDef
from penstock.cli.arguments import add_effort, add_functions, add_time_zone
from penstock.cli.files import JSON_SCHEMA, bound_script, error_json, print_errors
from penstock.cli.printing import say
from penstock.effort import limited
from penstock.elimination import Answer, Implication, implication, implication_json
from penstock.errors import PenstockError
from penstock.sql import Script


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="SQL statements; - for standard input")
    parser.add_argument("--assertion", metavar="NAME", help="only this assertion")
    parser.add_argument("--json", action="store_true", help="print the answers as JSON")
    add_functions(parser)
    add_time_zone(parser)
    add_effort(parser)


def run(args: argparse.Namespace) -> int:
    with limited(args.effort):
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    script = bound_script(args)
    asked = [] if script.errors else _chosen(script, args.assertion)
    answers = [implication(assertion, script.catalog) for assertion in asked]
    if args.json:
        say(json.dumps(_report(script, answers), indent=2, ensure_ascii=False))
    else:
        if answers:
            say("\n\n".join(map(str, answers)))
        print_errors(script)
    if script.errors:
        return 2
    return 0 if all(answer.answer is Answer.IMPLIED for answer in answers) else 1


def _chosen(script: Script, name: str | None) -> list[AssertionDef]:
    assertions = [d for d in script.catalog.definitions.values() if isinstance(d, AssertionDef)]
    chosen = [each for each in assertions if name is None or each.name.lower() == name.lower()]
    if not chosen:
        known = ", ".join(each.name for each in assertions)
        message = "there is no assertion" if name is None else f"there is no assertion {name}"
        raise PenstockError(
            message, f"the file has {known}" if known else "write CREATE ASSERTION name FOR ... THEN ..."
        )
    return chosen


def _report(script: Script, answers: list[Implication]) -> dict[str, Json]:
    return {
        "schema": JSON_SCHEMA,
        "errors": [error_json(error) for error in script.errors],
        "assertions": [implication_json(answer) for answer in answers],
    }
