"""penstock explain: show how a query is understood

Prints each query's plan in normal form: which windows it reads, what it joins on which predicates, its output, and
whether it is safe. With --cells also the fragments in which it runs, and how rows find their cells.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.algebra.printing import Json, plan_json, plan_text
from penstock.algebra.relations import Query, streams
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog
from penstock.cli.arguments import add_effort, add_functions, add_time_zone, at_least_one
from penstock.cli.files import JSON_SCHEMA, NO_QUERY, bound_script, error_json, print_errors
from penstock.cli.printing import say
from penstock.effort import limited
from penstock.elimination import Elimination, Running, running, verdict_of
from penstock.elimination.counting import Counting
from penstock.engines.idleness import timeouts
from penstock.errors import PenstockError
from penstock.plan.cache_decisions import cache_decisions_text
from penstock.plan.decisions import decisions_text, latest_decisions
from penstock.plan.early import Early, with_early
from penstock.plan.explain import fragments_json, fragments_text
from penstock.plan.join_statistics import NOTHING_GIVEN, JoinStatistics
from penstock.plan.planner import plan
from penstock.plan.tree_plans import JoinPlans, plans_of
from penstock.register import Verdict
from penstock.sql import Script
from penstock.types import duration_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="SQL statements; - for standard input")
    parser.add_argument("--query", metavar="NAME", help="explain this query only")
    parser.add_argument("--cells", metavar="N", type=at_least_one, help="show its fragments, with so many cells each")
    parser.add_argument("--early", action="store_true", help="say whether results can come before the watermark")
    parser.add_argument("--json", action="store_true", help="print the plans as JSON")
    parser.add_argument(
        "--live", metavar="METRICS", help="show what a run decided while it adapted, of its file of metrics"
    )
    parser.add_argument("--plans", action="store_true", help="list the trees by which joins could run, by their cost")
    parser.add_argument(
        "--statistics", metavar="FILE", help="rates, rows and numbers of values for --plans, as a file of JSON"
    )
    add_time_zone(parser)
    add_functions(parser)
    add_effort(parser)


def run(args: argparse.Namespace) -> int:
    with limited(args.effort):
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    script = bound_script(args)
    given = None if args.statistics is None else _statistics(args.statistics)
    if given is not None and not args.plans:
        raise PenstockError("--statistics goes with --plans", "add --plans, or leave --statistics out")
    plans = (given or NOTHING_GIVEN) if args.plans else None
    chosen = [with_early(query, early=args.early) for query in _chosen(script, args.query)]
    queries = [_Explained.of(query, script.catalog, plans) for query in chosen]
    if args.json:
        say(json.dumps(_report(script, queries, args.cells), indent=2, ensure_ascii=False))
    else:
        if queries:
            say("\n\n".join(_shown(query, script.catalog, args.cells) for query in queries))
        elif not script.errors:
            print(NO_QUERY)
        print_errors(script)
        if args.live is not None:
            say(_live(args.live, {each.query.name for each in queries}))
    return 2 if script.errors else 0


def _live(path: str, names: set[str]) -> str:
    """Returns the decisions that a file of metrics reports of some queries."""
    lines = [line for line in _metrics(path) if line.get("query") in names]
    decided = [decisions_text(latest_decisions(lines)), cache_decisions_text(lines)]
    return "\ndecided while it ran:\n" + "\n".join(filter(None, decided))


def _metrics(path: str) -> list[dict[str, Any]]:
    try:
        lines = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        said = os.strerror(error.errno) if error.errno else str(error)
        raise PenstockError(f"{path}: {said}", "give the file that penstock run --metrics writes") from error
    except ValueError as error:
        raise PenstockError(
            f"{path} is not a file of metrics", "give the one that penstock run --metrics writes"
        ) from error
    if not all(isinstance(line, dict) for line in lines):
        raise PenstockError(f"{path} is not a file of metrics", "give the one that penstock run --metrics writes")
    return lines


def _chosen(script: Script, name: str | None) -> list[Query]:
    if name is None:
        return list(script.queries)
    chosen = [query for query in script.queries if query.name.lower() == name.lower()]
    if not chosen and not script.errors:
        known = ", ".join(query.name for query in script.queries)
        raise PenstockError(f"there is no query {name}", f"the file has {known}" if known else None)
    return chosen


@dataclass(frozen=True, slots=True)
class _Explained:
    """A query, how it runs, and whether it is safe."""

    query: Query
    running: Running
    verdict: Verdict
    #: The plans of its joins, if they were asked for.
    plans: tuple[JoinPlans, ...] | None
    #: Whether results come early, if that was asked for.
    early: Early | None

    @classmethod
    def of(cls, query: Query, catalog: Catalog, given: JoinStatistics | None) -> _Explained:
        plans = None if given is None else plans_of(query, catalog, given)
        early = plan(normalise(query), 1, catalog).last.early if query.early else None
        return cls(query, running(query, catalog), verdict_of(query, catalog), plans, early)


def _shown(explained: _Explained, catalog: Catalog, cells: int | None) -> str:
    query, runs = explained.query, explained.running
    output = ", ".join(f"{column.name} {column.type}" for column in query.schema)
    left_out = "".join(f"\n{line}" for line in runs.lines())
    idle = "".join(f"\nidle: {name}, after {duration_text(after)}" for name, after in _idle(runs, catalog).items())
    early = f"\nresults: {explained.early}" if explained.early else ""
    picture = f"{plan_text(runs.shown)}{left_out}\noutput: {output}{idle}{early}\nstate: {explained.verdict.message}"
    if explained.plans is not None:
        picture = "\n\n".join([picture, *("\n".join(each.lines()) for each in explained.plans)])
    return picture if cells is None else f"{picture}\n\n{fragments_text(plan(normalise(query), cells, catalog))}"


def _idle(runs: Running, catalog: Catalog) -> dict[str, int]:
    """Returns the streams that time goes on without, each with the time that others wait for it."""
    read = {stream.name for stream in streams(runs.shown.relation)}
    return timeouts(stream for stream in catalog.streams if stream.name in read)


def _report(script: Script, queries: list[_Explained], cells: int | None) -> dict[str, Json]:
    return {
        "schema": JSON_SCHEMA,
        "errors": [error_json(error) for error in script.errors],
        "queries": [
            plan_json(each.running.shown)
            | {"safe": each.verdict.safe, "message": each.verdict.message}
            | {"eliminations": [_elimination_json(elimination) for elimination in each.running.eliminations]}
            | _idle_json(each.running, script.catalog)
            | ({} if each.early is None else {"early": each.early.json()})
            | _counting_json(each.running.counting)
            | ({} if each.plans is None else {"plans": [join.json() for join in each.plans]})
            | _fragments(normalise(each.query), script.catalog, cells)
            for each in queries
        ],
    }


def _statistics(path: str) -> JoinStatistics:
    try:
        return JoinStatistics.read(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        said = os.strerror(error.errno) if error.errno else str(error)
        raise PenstockError(f"{path}: {said}", "give a file of JSON with rates, rows or values") from error
    except ValueError as error:
        raise PenstockError(
            f"{path} has no statistics: {error}", 'write {"rates": {"bid": 500}, "values": {"bid.auction": 40}}'
        ) from error


def _idle_json(runs: Running, catalog: Catalog) -> dict[str, Json]:
    idle: dict[str, Json] = {**_idle(runs, catalog)}
    return {"idle_after": idle} if idle else {}


def _counting_json(counting: Counting | None) -> dict[str, Json]:
    """How an APPROXIMATE query runs."""
    if counting is None:
        return {}
    shown: list[Json] = [{"claim": each.claim, "leans_on": list(each.leans_on)} for each in counting.shown]
    how = "exact join" if counting.relation is None else "exact count" if counting.is_exact else "counters"
    return {"approximation": {"runs": how, "conditions": shown, "reason": counting.reason}}


def _elimination_json(elimination: Elimination) -> dict[str, Json]:
    return {
        "occurrence": elimination.occurrence,
        "message": elimination.message,
        "leans_on": list(elimination.leans_on),
    }


def _fragments(query: Query, catalog: Catalog, cells: int | None) -> dict[str, Json]:
    return {} if cells is None else {"fragments": fragments_json(plan(normalise(query), cells, catalog))}
