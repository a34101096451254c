"""Golden cases in `tests/golden/*.yaml`: SQL with verdict, bound, proof and actions side by side.

`PENSTOCK_GOLDEN=rewrite` writes what is said now; read the diff.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from penstock.register import Verdict, check_query
from penstock.register.report import action_texts
from penstock.sql import Script, bind_text

GOLDEN = Path(__file__).parents[1] / "golden"


@dataclass(frozen=True, slots=True)
class Case:
    file: Path
    name: str
    declarations: str
    sql: str
    expected: dict[str, Any]

    @property
    def id(self) -> str:
        return f"{self.file.stem}: {self.name}"

    @property
    def script(self) -> Script:
        return bind_text(f"{self.declarations}\nCREATE QUERY q AS {self.sql};", self.file.name).checked()

    @property
    def verdict(self) -> Verdict:
        script = self.script
        return check_query(script.queries[0], script.catalog, script.origin(script.queries[0]))


def cases() -> Iterator[Case]:
    for file in sorted(GOLDEN.glob("*.yaml")):
        content = yaml.safe_load(file.read_text())
        for case in content["cases"]:
            expected = {key: value for key, value in case.items() if key not in ("name", "sql")}
            yield Case(file, case["name"], content["declarations"], case["sql"].strip(), expected)


def said(verdict: Verdict) -> dict[str, Any]:
    """What a case holds: the verdict, the bound of each piece of state, the proofs, and the actions."""
    found: dict[str, Any] = {
        "verdict": "safe" if verdict.safe else "not safe",
        "bound": [f"{_operator(state)}: {state.bound.kind.value}, {state.bound.words}" for state in verdict.states],
        "proof": verdict.explanation().splitlines(),
    }
    if not verdict.safe:
        found["hint"] = verdict.hint
        found["actions"] = [list(statements) for statements in action_texts(verdict)]
    return found


def rewrite() -> None:
    """Writes all cases with what is said of them now; comments at the top of a file stay."""
    for file in sorted({case.file for case in cases()}):
        own = [case for case in cases() if case.file == file]
        title = next(line for line in file.read_text().splitlines() if line.startswith("#"))
        content = {
            "declarations": own[0].declarations,
            "cases": [{"name": case.name, "sql": case.sql, **said(case.verdict)} for case in own],
        }
        file.write_text(
            f"{title}\n{yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=118, allow_unicode=True)}"
        )


def _operator(state: Any) -> str:
    return f"{state.operator.value} of {state.stream}" if state.stream else str(state.operator.value)


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Texts of several lines stand as they are."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)
