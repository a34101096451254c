"""Every golden case is said as it is written, and what is said of it holds."""

from __future__ import annotations

import os
from itertools import combinations

import pytest

from penstock.register import check_query
from penstock.register.report import action_texts
from penstock.register.steps import Action
from penstock.sql import bind_text
from tests.register.golden import Case, cases, rewrite, said

if os.environ.get("PENSTOCK_GOLDEN") == "rewrite":
    rewrite()

CASES = list(cases())
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
each_unsafe = pytest.mark.parametrize(
    "case", [case for case in CASES if case.expected.get("verdict") == "not safe"], ids=lambda case: case.id
)


@each_case
def test_a_case_is_said_as_it_is_written(case: Case) -> None:
    assert said(case.verdict) == case.expected, "`make golden` rewrites this"


@each_unsafe
def test_every_action_makes_it_safe_and_no_part_of_it_does(case: Case) -> None:
    verdict = case.verdict
    for action in verdict.actions:
        assert check_query(*action.apply(verdict.query, verdict.catalog)).safe, action
        for size in range(len(action.steps)):
            for some in combinations(action.steps, size):
                assert not check_query(*Action(some).apply(verdict.query, verdict.catalog)).safe, some


@each_unsafe
def test_every_action_is_sql_that_can_be_put_behind_the_query(case: Case) -> None:
    for statements in action_texts(case.verdict):
        if all(statement.startswith(("ALTER", "CREATE")) for statement in statements):
            text = f"{case.declarations}\nCREATE QUERY q AS {case.sql};\n" + "\n".join(statements)
            script = bind_text(text).checked()
            assert check_query(script.queries[0], script.catalog).safe, statements
