"""Before and after each rule: the plans that tests/fixtures/rewrites show, and that they give the same results."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.algebra import rewrites
from penstock.algebra.printing import plan_text
from penstock.algebra.relations import Query, Relation, ToStream
from penstock.algebra.rewrites import EXPANSIONS, RULES, normalise
from penstock.catalog import Catalog
from penstock.sql import bind_text
from tests.algebra.cases import REWRITE, Case, CaseFile, read_cases
from tests.algebra.data import random_data
from tests.reference.interpreter import run

FIXTURES = Path(__file__).parents[1] / "fixtures" / "rewrites"
FILES = {path.stem: read_cases(path) for path in sorted(FIXTURES.glob("*.sql"))}
CASES = [(name, case) for name, file in FILES.items() for case in file.cases]
IDS = [f"{name}: {case.title}" for name, case in CASES]


def applied(rule: Callable[[Relation], Relation]) -> Callable[[Query], Query]:
    def apply(query: Query) -> Query:
        relation = rule(query.relation)
        root = replace(query.root, input=relation) if isinstance(query.root, ToStream) else relation
        return replace(query, root=root)

    return apply


REWRITES = {"normalise": normalise} | {rule.__name__: applied(rule) for rule in (*RULES, *EXPANSIONS)}


def bound(file: CaseFile, case: Case) -> tuple[Query, Catalog]:
    script = bind_text(f"{file.declarations}\n{case.sql}", file=file.path.name).checked()
    return script.queries[0], script.catalog


def test_every_rule_has_a_file_of_cases() -> None:
    assert FILES.keys() == REWRITES.keys()


def test_every_rule_is_a_file_named_after_it() -> None:
    files = {path.stem for path in Path(rewrites.__file__).parent.glob("*.py")}
    assert files - {"__init__"} == {rule.__name__ for rule in (*RULES, *EXPANSIONS)}


def shown(name: str, case: Case) -> Case:
    """The case with the plans that there are now."""
    query, _ = bound(FILES[name], case)
    return replace(case, before=plan_text(query.root), after=plan_text(REWRITES[name](query).root))


if REWRITE:

    @pytest.mark.parametrize(("name", "file"), FILES.items(), ids=FILES.keys())
    def test_write_the_plans_down(name: str, file: CaseFile) -> None:
        file.write(tuple(shown(name, case) for case in file.cases))

else:

    @pytest.mark.parametrize(("name", "case"), CASES, ids=IDS)
    def test_the_plans_are_as_shown(name: str, case: Case) -> None:
        assert shown(name, case) == case


@pytest.mark.parametrize(("name", "case"), CASES, ids=IDS)
def test_a_rewrite_keeps_the_result(name: str, case: Case) -> None:
    query, catalog = bound(FILES[name], case)
    after = REWRITES[name](query)
    assert after.schema == query.schema
    for seed in range(4):
        data = random_data(catalog, random.Random(seed))
        assert repr(run(after, catalog, data)) == repr(run(query, catalog, data)), f"with {data}"


@pytest.mark.parametrize(("name", "case"), CASES, ids=IDS)
def test_a_rewrite_is_done_at_once(name: str, case: Case) -> None:
    query, _ = bound(FILES[name], case)
    after = REWRITES[name](query)
    assert REWRITES[name](after) == after
