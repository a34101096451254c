"""penstock prove: show what the declarations of a file imply of its assertions

For each assertion: do the other declarations imply it? The answer is implied, with a proof; not implied, with rows that
satisfy all other declarations and break it; or unknown. With --query: what a query that says APPROXIMATE leans on to
count instead of joining, with proofs, or why it joins.
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
from penstock.elimination.counting import Counting, counting
from penstock.errors import PenstockError
from penstock.sql import Script


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="SQL statements; - for standard input")
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--assertion", metavar="NAME", help="only this assertion")
    asked.add_argument("--query", metavar="NAME", help="what an APPROXIMATE query leans on to count instead of joining")
    parser.add_argument("--json", action="store_true", help="print the answers as JSON")
    add_functions(parser)
    add_time_zone(parser)
    add_effort(parser)


def run(args: argparse.Namespace) -> int:
    with limited(args.effort):
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    script = bound_script(args)
    if args.query is not None and not script.errors:
        return _prove_query(script, args.query, args.json)
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


def _prove_query(script: Script, name: str, as_json: bool) -> int:
    """Shows the conditions under which a query counts instead of joining, each with its proof."""
    counted = _counting(script, name)
    if as_json:
        conditions: list[Json] = [
            {"claim": each.claim, "leans_on": list(each.leans_on), "proof": list[Json](each.text().splitlines()[1:])}
            for each in counted.shown
        ]
        report: dict[str, Json] = {"name": counted.query.name, "counts": counted.relation is not None}
        report |= {"exact": counted.is_exact, "conditions": conditions, "reason": counted.reason}
        say(json.dumps({"schema": JSON_SCHEMA, "errors": [], "query": report}, indent=2, ensure_ascii=False))
    else:
        blocks = [f"{counted.query.name}: {counted.lines()[0].partition(':')[0]}", *(e.text() for e in counted.shown)]
        say("\n\n".join(blocks if counted.relation is not None else [f"{counted.query.name}: {counted.lines()[0]}"]))
    return 0 if counted.relation is not None else 1


def _counting(script: Script, name: str) -> Counting:
    query = next((query for query in script.queries if query.name.lower() == name.lower()), None)
    if query is None:
        known = ", ".join(query.name for query in script.queries)
        raise PenstockError(f"there is no query {name}", f"the file has {known}" if known else None)
    counted = counting(query, script.catalog)
    if counted is None:
        raise PenstockError(f"{query.name} is exact: it does not say APPROXIMATE", "write SELECT ... APPROXIMATE")
    return counted


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
