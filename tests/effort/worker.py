"""Answers texts of SQL in a process of its own, which dies at a limit of processor time or of memory.

Reads lines of JSON, each a text with what is asked of it, and writes a line for each answer. `pool.py` starts it.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
from collections.abc import Callable

from penstock.algebra.printing import plan_json, plan_text
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog
from penstock.effort import pooled
from penstock.errors import PenstockError, SqlError
from penstock.plan.planner import plan
from penstock.register import check_query, verdict_json, verdict_text
from penstock.sql import Script, bind_text
from penstock.sql.formatting import format_text
from tests.sql.mutations import numbered_mutant


def check(script: Script) -> str:
    said = []
    with pooled():
        for query in script.queries:
            verdict = check_query(query, script.catalog, script.origin(query))
            verdict_text(verdict, explain=True)
            verdict_json(verdict)
            said.append(verdict.message)
    return _shown(said)


def explain(script: Script) -> str:
    for query in script.queries:
        normal = normalise(query)
        plan_text(normal)
        plan_json(normal)
        check_query(query, script.catalog).message  # noqa: B018
    return "explained"


def planned(script: Script) -> str:
    for query in script.queries:
        normal = normalise(query)
        for cells in (1, 4):
            plan(normal, cells, script.catalog)
    return "planned"


ASKED: dict[str, Callable[[Script], str]] = {"check": check, "explain": explain, "plan": planned}


def answers(text: str, asked: list[str], catalog: Catalog | None = None) -> dict[str, tuple[str, float]]:
    """What is said of a text, and the seconds of the processor that each answer took."""
    said: dict[str, tuple[str, float]] = {}
    start = time.process_time()
    script = bind_text(text, "text.sql", catalog)
    for error in script.errors:
        _require_place(error, text)
    found = _shown([error.message for error in script.errors]) if script.errors else "bound"
    bound = time.process_time() - start
    said["bind"] = found, bound
    for name in asked:
        start = time.process_time()
        try:
            answer = format_text(text, "text.sql") and "formatted" if name == "fmt" else ASKED[name](script)
        except PenstockError as error:
            answer = f"refused: {str(error)[:400]}"
        said[name] = answer, time.process_time() - start + bound * (name != "fmt")
    return said


def _shown(said: list[str]) -> str:
    return f"{len(said)}: {said[0][:400]}" if said else "nothing"


def _require_place(error: SqlError, text: str) -> None:
    assert 0 <= error.span.start <= error.span.end <= len(text), "an error has a place"
    assert error.__cause__ is None, "sqlglot, or we, met it with an exception"
    assert error.message
    assert "^" in str(error)


def main(seconds: float, mebibytes: int) -> None:
    limit = mebibytes << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        request = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # SIGPROF ends the process
        try:
            text, catalog = request.get("text"), None
            if text is None:
                text, catalog = numbered_mutant(request["mutant"])
            answer = {"answers": answers(text, request["asked"], catalog)}
        except Exception as error:
            answer = {"failure": f"{type(error).__name__}: {str(error)[:400]}"}
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
