"""Outer joins: the engine says what their definition says, n of them in a row take n anti-joins, and users see the
names that they wrote.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock import bind_text, check, plan_text
from penstock.algebra.copies import MARK
from penstock.algebra.relations import AntiJoin, Join, OuterJoin, walk_relations
from penstock.algebra.rewrites import normalise
from penstock.elimination.running import running
from penstock.plan.explain import fragments_text
from penstock.plan.planner import plan
from penstock.register.report import action_texts
from tests.engines.comparing import bound, embedded, expected
from tests.generators import Case

NAMES = "abcde"
DDL = "".join(
    f"CREATE STREAM {name} (id BIGINT, x BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 2 MICROSECONDS;" for name in NAMES
)
SIDES = ("LEFT", "LEFT", "RIGHT", "FULL", "")
WINDOWS = ("", "[RANGE 3 MICROSECONDS]", "[RANGE 4 MICROSECONDS SLIDE 2 MICROSECONDS]", "[ROWS 2]", "[NOW]")


def rows(random: Random) -> list[tuple[Any, ...]]:
    times = sorted(random.randint(0, 8) for _ in range(random.randint(0, 5)))
    return [(random.choice([1, 2, None]), random.choice([0, 1, 2, None]), ts) for ts in times]


def condition(random: Random, before: str, name: str) -> str:
    """Mostly equalities with some relation that came before, and others beside them or in their place."""
    other = random.choice(before)
    options = [f"{other}.id = {name}.id"] * 4
    options += [f"{other}.x < {name}.x", f"{other}.id = {name}.id AND {other}.x > 0", f"{other}.id IS NULL"]
    options += [f"{other}.id = {name}.id AND {name}.x IS NOT NULL", f"{other}.id <=> {name}.id"]
    return random.choice(options)


def chain(random: Random) -> str:
    """Three to five relations, joined one after the other, some of them under a condition or in a subquery."""
    names = NAMES[: random.randint(3, 5)]
    from_ = f"a {random.choice(WINDOWS)}"
    for place, name in enumerate(names[1:], 1):
        side = random.choice(SIDES)
        from_ += f" {side} JOIN {name} {random.choice(WINDOWS)} ON {condition(random, names[:place], name)}"
    columns = ", ".join(f"{name}.id AS {name}_id, {name}.x AS {name}_x" for name in names)
    wheres = ["", "", "", " WHERE a.x > 0", " WHERE b.x IS NULL OR a.id = 1", " WHERE c.x >= 1", " WHERE b.x = c.x"]
    text = f"SELECT {columns} FROM {from_}{random.choice(wheres)}"
    if random.random() < 0.3:
        return f"SELECT q.a_x, COUNT(*) AS n, SUM(q.c_x) AS s FROM ({text}) q GROUP BY q.a_x"
    return text


def test_an_anti_join_without_equalities_of_what_is_shared_sees_rows_leave() -> None:
    query = "SELECT a.x AS y, c.x FROM a [NOW] LEFT JOIN b ON a.id = b.id RIGHT JOIN c [ROWS 2] ON b.id IS NULL"
    data = {"a": [(2, 1, 2), (1, 1, 4), (None, None, 6)], "b": [(None, 1, 3)], "c": [(None, 2, 0), (None, None, 3)]}
    case = Case(DDL, query, {"d": [], "e": []} | data, 12, "")
    bound_query, catalog = bound(case)
    wanted = expected(case, bound_query, catalog)
    for cells in (1, 3):
        assert embedded(case, bound_query, catalog, cells, 0) == wanted


@pytest.mark.parametrize("seed", range(12))
def test_chains_of_outer_joins_are_what_their_definition_says(seed: int) -> None:
    random = Random(seed)
    case = Case(DDL, chain(random), {name: rows(random) for name in NAMES}, 12, "")
    query, catalog = bound(case)
    wanted = expected(case, query, catalog)
    for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed))):
        assert embedded(case, query, catalog, cells, cuts) == wanted, repr(case)


def left_joins(number: int, window: str = "[RANGE 1 HOUR]") -> str:
    names = [f"s{place}" for place in range(number + 1)]
    ddl = "".join(f"CREATE STREAM {name} (id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;" for name in names)
    joins = "".join(f" LEFT JOIN {name} {window} ON s0.id = {name}.id" for name in names[1:])
    columns = ", ".join(f"{name}.ts AS {name}" for name in names)
    return f"{ddl} CREATE QUERY q AS SELECT {columns} FROM s0 {window}{joins};"


def test_n_outer_joins_have_n_anti_joins() -> None:
    for number in (1, 4, 12):
        script = bind_text(left_joins(number))
        nodes = list(walk_relations(normalise(script.queries[0]).relation))
        assert sum(isinstance(node, AntiJoin) for node in nodes) == number
        assert sum(isinstance(node, Join) for node in nodes) == number
        fragments = plan(normalise(script.queries[0]), 1, script.catalog).fragments
        assert len(fragments) == number  # each is computed once, for all that read it


def test_the_bound_of_outer_joins_in_a_row_is_a_short_text() -> None:
    (verdict,) = check(left_joins(12))
    assert verdict.safe
    assert len(verdict.message) < 2000


@pytest.mark.parametrize("window", ["", "[RANGE 1 HOUR]"])
@pytest.mark.parametrize("side", ["LEFT", "RIGHT", "FULL"])
def test_users_read_the_names_that_they_wrote(side: str, window: str) -> None:
    from_ = f"a {window} o {side} JOIN b {window} p ON o.id = p.id LEFT JOIN c {window} ON p.id = c.id"
    text = f"{DDL} CREATE QUERY q AS SELECT o.x, p.x AS y, c.x AS z FROM {from_};"
    (verdict,) = check(text)
    query, catalog = bind_text(text).queries[0], bind_text(text).catalog
    shown = [str(verdict), verdict.explanation(), plan_text(running(query, catalog).shown), *verdict.warnings]
    shown += [line for action in action_texts(verdict) for line in action]
    shown.append(fragments_text(plan(normalise(query), 2, catalog)))
    assert not any(MARK in each for each in shown)
    assert any(f"{side.capitalize()}OuterJoin on o.id = p.id" in each for each in shown)


@pytest.mark.parametrize("side", ["LEFT", "RIGHT", "FULL"])
def test_advice_for_an_outer_join_can_be_run(side: str) -> None:
    text = f"{DDL} CREATE QUERY q AS SELECT o.x, b.x AS y FROM a o {side} JOIN b ON o.id = b.id;"
    (verdict,) = check(text)
    assert not verdict.safe
    actions = action_texts(verdict)
    assert any("BETWEEN" in statement for action in actions for statement in action)
    assert any("[RANGE" in statement for action in actions for statement in action)
    for action in actions:
        (then,) = check("\n".join((text, *action)))
        assert then.safe, action


WHERE = {
    "b.x > 1": Join,
    "a.x > 1": OuterJoin,
    "b.x IS NULL": OuterJoin,
    "b.x IS NOT NULL": Join,
    "b.x > 1 OR a.x > 1": OuterJoin,
}


@pytest.mark.parametrize("where", WHERE)
def test_a_condition_that_no_null_satisfies_makes_an_inner_join(where: str) -> None:
    script = bind_text(f"{DDL} SELECT a.x, b.x AS y FROM a LEFT JOIN b ON a.id = b.id WHERE {where}")
    nodes = walk_relations(normalise(script.queries[0], for_readers=True).relation)
    assert [type(node) for node in nodes if isinstance(node, Join | OuterJoin)] == [WHERE[where]]
