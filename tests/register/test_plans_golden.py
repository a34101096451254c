"""Golden cases in `tests/golden/plans/*.yaml`: for streams, predicates and schemes, which plans are safe and why not.

`PENSTOCK_GOLDEN=rewrite` writes what is said now; read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from penstock.closing.punctuation import (
    NotPurgeable,
    PunctuatedJoin,
    Scheme,
    TreeJoin,
    TreeLeaf,
    check_plan,
    safe_plans,
)
from tests.reference.punctuation import punctuation_graph
from tests.register.punctuation.futures import Instance

FILE = Path(__file__).parents[1] / "golden" / "plans" / "punctuations.yaml"
GIVEN = ("name", "streams", "equal", "schemes")


def plans(streams: list[str]) -> Iterator[TreeJoin]:
    """The MJoin of all, and each tree of binary joins over three."""
    yield TreeJoin(tuple(map(TreeLeaf, streams)))
    for last in reversed(streams):
        first, second = (TreeLeaf(name) for name in streams if name != last)
        yield TreeJoin((TreeJoin((first, second)), TreeLeaf(last)))


def said(case: dict[str, Any]) -> dict[str, Any]:
    query = Instance(case["streams"], [tuple(each.split(" = ")) for each in case["equal"]]).query
    schemes = [scheme(text) for text in case["schemes"]]
    edges = punctuation_graph(query, schemes).edges
    return {
        "graph": [f"{' and '.join(sorted(' or '.join(sorted(s)) for s in e.sources))} -> {e.target}" for e in edges],
        "plans": {str(plan): judged(query, schemes, plan) for plan in plans(list(case["streams"]))},
        "safe plans": [str(plan) for plan in safe_plans(query, schemes)],
    }


def judged(query: PunctuatedJoin, schemes: list[Scheme], plan: TreeJoin) -> list[str]:
    return [
        f"{join.join}: "
        + ("safe" if join.safe else "; ".join(why(s) for s in join.states if isinstance(s, NotPurgeable)))
        for join in check_plan(query, schemes, plan).joins
    ]


def why(state: NotPurgeable) -> str:
    blocked = ", ".join(map(str, state.blocked))
    return f"rows of {' and '.join(state.streams)} stay" + (f", {blocked}" if blocked else ", no scheme helps")


def scheme(text: str) -> Scheme:
    stream, _, attributes = text.removesuffix(")").partition("(")
    return Scheme(stream, tuple(attributes.split(", ")))


def rewrite() -> None:
    lines = FILE.read_text().splitlines()
    cases = [{key: case[key] for key in GIVEN} | said(case) for case in yaml.safe_load(FILE.read_text())["cases"]]
    text = yaml.safe_dump({"cases": cases}, sort_keys=False, width=118, allow_unicode=True)
    FILE.write_text(f"{lines[0]}\n{text}")


if os.environ.get("PENSTOCK_GOLDEN") == "rewrite":
    rewrite()

CASES = yaml.safe_load(FILE.read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_plans_are_said_as_they_are_written(case: dict[str, Any]) -> None:
    assert said(case) == {key: value for key, value in case.items() if key not in GIVEN}, "`make golden` rewrites this"
