"""Fixture files of rewrites: SQL with the plans before and after, which PENSTOCK_GOLDEN=rewrite brings up to date.

A file opens with what it is about and its declarations. Then come cases: a title, `-- # so`, a query, and in comments
the plan as it is bound and the plan as it is afterwards.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

REWRITE = os.environ.get("PENSTOCK_GOLDEN") == "rewrite"

_TITLE, _BEFORE, _AFTER, _SAME, _MARGIN = "-- # ", "-- before", "-- after", "-- after: the same", "--   "


@dataclass(frozen=True, slots=True)
class Case:
    title: str
    sql: str
    before: str
    after: str

    def text(self) -> str:
        lines = [_TITLE + self.title, self.sql, _BEFORE, *_commented(self.before)]
        lines += [_SAME] if self.after == self.before else [_AFTER, *_commented(self.after)]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class CaseFile:
    path: Path
    declarations: str
    cases: tuple[Case, ...]

    def write(self, cases: tuple[Case, ...]) -> None:
        self.path.write_text("\n".join([self.declarations + "\n", *(case.text() for case in cases)]))


def read_cases(path: Path) -> CaseFile:
    declarations, *cases = path.read_text().split(f"\n{_TITLE}")
    return CaseFile(path, declarations.strip("\n"), tuple(map(_read_case, cases)))


def _read_case(text: str) -> Case:
    title, *lines = text.strip("\n").split("\n")
    sql, _, plans = "\n".join(lines).partition(f"\n{_BEFORE}\n")
    before, _, after = plans.partition(f"\n{_AFTER}")
    same = not after.strip("\n") or after.startswith(_SAME.removeprefix(_AFTER))
    return Case(title, sql, _uncommented(before), _uncommented(before if same else after))


def _commented(plan: str) -> list[str]:
    return [_MARGIN + line for line in plan.split("\n")]


def _uncommented(text: str) -> str:
    return "\n".join(line.removeprefix(_MARGIN) for line in text.strip("\n").split("\n"))
