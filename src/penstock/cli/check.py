"""penstock check: find out what is wrong with the statements of a file

Binds every statement and reports all errors at once. What memory a query needs is not judged yet: `safe` is null.
"""

from __future__ import annotations

import argparse
import json

from penstock.algebra.printing import Json, plan_text
from penstock.algebra.relations import Query, Table, Window, walk_relations
from penstock.cli.files import JSON_SCHEMA, NO_QUERY, error_json, print_errors, read_sql, shown_name
from penstock.sql import Script, bind_text

_MESSAGE = "well formed; its memory is not judged yet"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="SQL statements; - for standard input")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    script = bind_text(read_sql(args.file), shown_name(args.file))
    if args.json:
        print(json.dumps(report(script), indent=2, ensure_ascii=False))
    else:
        for query in script.queries:
            print(f"{query.name}: well formed; reads {', '.join(_sources(query))}")
        if not script.queries and not script.errors:
            print(NO_QUERY)
        print_errors(script)
    return 2 if script.errors else 0


def _sources(query: Query) -> list[str]:
    """The windows and tables that a query reads, as they are written."""
    return [plan_text(node) for node in walk_relations(query.relation) if isinstance(node, (Window, Table))]


def report(script: Script) -> dict[str, Json]:
    """The report as JSON: design section 7."""
    return {
        "schema": JSON_SCHEMA,
        "errors": [error_json(error) for error in script.errors],
        "queries": [
            {"name": query.name, "safe": None, "state": [], "actions": [], "message": _MESSAGE, "hint": None}
            for query in script.queries
        ],
    }
