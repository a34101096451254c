"""Assertions that exact eliminations lean on are watched: violations are counted, or stop the run, or are ignored."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from penstock.algebra.relations import Query
from penstock.catalog import Catalog
from penstock.elimination.running import running, with_plan
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.planning import plan_of
from penstock.errors import PenstockError
from penstock.plan.explain import fragments_text
from tests.engines.comparing import batches, bound, embedded, expected
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.seeds import seeds

DDL = """
CREATE STREAM item (ts BIGINT, id BIGINT, v BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM bid (ts BIGINT, auction BIGINT, price BIGINT) TIMESTAMP BY ts;
CREATE ASSERTION offered FOR bid b THEN EXISTS item i WHERE i.id = b.auction AND i.ts <= b.ts{};
"""
PARENT = "SELECT b.price FROM bid b, item i WHERE i.id = b.auction"
EXISTS = "SELECT b.price FROM bid b WHERE EXISTS (SELECT * FROM item i WHERE i.id = b.auction)"
NOT_EXISTS = "SELECT b.price FROM bid b WHERE NOT EXISTS (SELECT * FROM item i WHERE i.id = b.auction)"
WINDOW = "SELECT b.price FROM bid [ROWS 2] b, item i WHERE i.id = b.auction"
GROUPS = "SELECT b.auction, SUM(b.price) FROM bid b, item i WHERE i.id = b.auction GROUP BY b.auction"
QUERIES = (PARENT, EXISTS, NOT_EXISTS, WINDOW, GROUPS)

SOUND = {"item": [(1, 1, 0), (2, 2, 0)], "bid": [(1, 1, 10), (3, 2, 20), (4, 1, 30)]}
BROKEN = {"item": [(1, 1, 0), (9, 2, 0)], "bid": [(1, 1, 10), (3, 2, 20), (4, 3, 30)]}


def case_of(query: str, data: dict[str, list[tuple[int, ...]]], on_violation: str = "") -> Case:
    return Case(DDL.format(on_violation and f" ON VIOLATION {on_violation}"), query, data, None, "")


def watching(case: Case, one_in: int = 1) -> tuple[Query, Catalog]:
    query, catalog = bound(case)
    return with_plan(query, None, one_in=one_in), catalog


def violations(case: Case, cells: int = 1, one_in: int = 1) -> dict[str, int]:
    query, catalog = watching(case, one_in)
    engine = EmbeddedEngine(query, catalog, {}, cells, None)
    for name, rows in batches(case, engine, catalog, 0):
        engine.push(name, rows)
    engine.finish()
    reports = [each for line in engine.metrics() for each in line.constraints if each.violations]
    return {each.constraint: each.broken for each in reports}


@pytest.mark.parametrize("cells", [1, 3])
@pytest.mark.parametrize("query", QUERIES)
def test_rows_without_the_partner_that_an_assertion_promises_are_counted(query: str, cells: int) -> None:
    assert violations(case_of(query, BROKEN), cells)["offered: each b has a i"] == 2
    assert violations(case_of(query, SOUND), cells) == {}


@pytest.mark.parametrize(("item", "bid"), [("INT", "BIGINT"), ("BIGINT", "INT")])
@pytest.mark.parametrize("query", [PARENT, EXISTS, NOT_EXISTS])
@pytest.mark.parametrize("cells", [1, 3])
def test_whole_numbers_are_the_same_keys_whatever_their_widths(item: str, bid: str, query: str, cells: int) -> None:
    ddl = DDL.replace("id BIGINT", f"id {item}").replace("auction BIGINT", f"auction {bid}").format("")
    broken = replace(case_of(query, BROKEN), ddl=ddl)
    assert violations(broken, cells)["offered: each b has a i"] == 2
    many = {"item": [(1, n - 50, 0) for n in range(100)], "bid": [(2, n - 50, n) for n in range(100)]}
    assert violations(replace(broken, data=many), cells, one_in=3) == {}, "both streams sample the same keys"
    assert violations(replace(broken, data={**many, "item": []}), cells, one_in=3)["offered: each b has a i"] > 9


def test_a_second_partner_is_counted_for_the_key() -> None:
    twice = {**SOUND, "item": [(1, 1, 0), (2, 2, 0), (2, 1, 5)]}
    assert violations(case_of(PARENT, twice)) == {"item: UNIQUE (id): one i per b": 2}
    assert violations(case_of(EXISTS, twice)) == {}, "one of them is enough"


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("seed", seeds(2))
def test_what_watches_changes_no_answer(query: str, seed: int) -> None:
    random = Random(seed)
    items = [(random.randint(0, 9), number, 0) for number in range(6)]
    bids = [(random.randint(9, 30), random.randrange(6), n) for n in range(20)]
    case = case_of(query, {"item": sorted(items), "bid": sorted(bids)})
    query_, catalog = watching(case)
    assert running(query_, catalog).monitors
    exact = expected(case, query_, catalog)
    assert embedded(case, query_, catalog, 1, random) == exact
    assert embedded(case, query_, catalog, 3, random) == exact
    assert pretended(case, query_, catalog, 2, random) == exact


@pytest.mark.parametrize("query", [PARENT, NOT_EXISTS])
def test_error_stops_the_run_and_names_the_assertion(query: str) -> None:
    case = case_of(query, BROKEN, "ERROR")
    with pytest.raises(PenstockError, match="a row at 3 breaks offered: each b has a i"):
        embedded(case, *watching(case), 1, 0)


def test_what_is_ignored_is_not_read() -> None:
    assert running(*watching(case_of(PARENT, BROKEN, "IGNORE"))).monitors == ()
    assert violations(case_of(PARENT, BROKEN, "IGNORE")) == {}


def test_explain_says_what_is_watched() -> None:
    query, catalog = bound(case_of(PARENT, SOUND))
    assert running(query, catalog).lines() == [
        "left out: i is not joined: each row of b always has one partner there [offered; item: UNIQUE (id)]",
        "watched on one key in 64: offered: each b has a i",
    ]


def test_a_sample_is_watched_in_one_cell_of_its_own() -> None:
    query, catalog = bound(case_of(PARENT, SOUND))
    text = fragments_text(plan_of(query, catalog, 2))
    assert "fragment 0: 1 cell, counts violations" in text
    assert "fragment 1: 2 cells, gives the change log" in text
    assert "fragment 0: 2 cells" in fragments_text(plan_of(with_plan(query, None, one_in=1), catalog, 2))
