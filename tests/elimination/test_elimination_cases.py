"""Before and after each elimination: the plans of tests/fixtures/eliminations, and that results stay the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from penstock.algebra.printing import plan_text
from penstock.algebra.relations import Query, streams
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog, NotNull, Unique
from penstock.elimination import RULES, eliminated, rules
from penstock.sql import bind_text
from tests import generators
from tests.algebra.cases import REWRITE, Case, CaseFile, read_cases
from tests.algebra.data import random_data
from tests.engines.comparing import embedded, expected
from tests.reference.interpreter import run
from tests.reference.values import Row

FIXTURES = Path(__file__).parents[1] / "fixtures" / "eliminations"
FILES = {path.stem: read_cases(path) for path in sorted(FIXTURES.glob("*.sql"))}
CASES = [(name, case) for name, file in FILES.items() for case in file.cases]
IDS = [f"{name}: {case.title}" for name, case in CASES]

ROWS = 8

each_case = pytest.mark.parametrize(("name", "case"), CASES, ids=IDS)


def bound(file: CaseFile, sql: str) -> tuple[Query, Catalog]:
    script = bind_text(f"{file.declarations}\n{sql}", file=file.path.name).checked()
    return script.queries[0], script.catalog


def shown(name: str, case: Case) -> Case:
    """The case with the plans that there are now, and what was left out."""
    query, catalog = bound(FILES[name], case.sql)
    after, eliminations = eliminated(query, catalog)
    lines = [plan_text(normalise(after).root), *map(str, eliminations)]
    return replace(case, before=plan_text(normalise(query).root), after="\n".join(lines))


def keeping_to(catalog: Catalog, data: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """The data without rows that break what is declared: each bid has its item, if that is asserted."""
    kept = _keeping_keys(data, catalog)
    if catalog.get("offered") is not None:
        offered = [(row[0], row[-1]) for row in kept["item"] if row[0] is not None]
        kept["bid"] = [row for row in kept["bid"] if any(row[0] == id_ and at <= row[-1] for id_, at in offered)]
    return kept


def _keeping_keys(data: dict[str, list[Row]], catalog: Catalog) -> dict[str, list[Row]]:
    """The data without rows that break a key, or lack a value. Two NULLs agree."""
    kept = {}
    for definition in (*catalog.streams, *catalog.tables):
        names = [attribute.name for attribute in definition.attributes]
        keys = [[names.index(c) for c in each.columns] for each in definition.constraints if isinstance(each, Unique)]
        filled = [names.index(c) for each in definition.constraints if isinstance(each, NotNull) for c in each.columns]
        rows: list[Row] = []
        for row in data[definition.name]:
            is_new = all(all([row[i] for i in key] != [other[i] for i in key] for other in rows) for key in keys)
            if is_new and all(row[i] is not None for i in filled):
                rows.append(row)
        kept[definition.name] = rows
    return kept


def test_every_rule_is_a_file_with_cases() -> None:
    files = {path.stem for path in Path(rules.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == {rule.__name__ for rule in RULES} == FILES.keys()


if REWRITE:

    @pytest.mark.parametrize(("name", "file"), FILES.items(), ids=FILES.keys())
    def test_write_the_plans_down(name: str, file: CaseFile) -> None:
        file.write(tuple(shown(name, case) for case in file.cases))

else:

    @each_case
    def test_the_plans_are_as_shown(name: str, case: Case) -> None:
        assert shown(name, case) == case


@each_case
def test_an_elimination_keeps_the_result(name: str, case: Case) -> None:
    query, catalog = bound(FILES[name], case.sql)
    after, _ = eliminated(query, catalog)
    assert after.schema == query.schema
    for seed in range(6):
        data = keeping_to(catalog, random_data(catalog, Random(seed), rows=ROWS))
        assert repr(run(after, catalog, data)) == repr(run(query, catalog, data)), f"with {data}"


@each_case
def test_an_elimination_is_done_at_once(name: str, case: Case) -> None:
    query, catalog = bound(FILES[name], case.sql)
    after, _ = eliminated(query, catalog)
    assert eliminated(after, catalog) == (after, ())


@pytest.mark.parametrize("cells", [1, 3])
@each_case
def test_a_run_without_the_join_gives_the_same(name: str, case: Case, cells: int) -> None:
    query, catalog = bound(FILES[name], case.sql)
    for seed in (5, 6):
        data = keeping_to(catalog, random_data(catalog, Random(seed), rows=ROWS))
        asked = generators.Case(FILES[name].declarations, case.sql, data, None, "")
        assert embedded(asked, query, catalog, cells, Random(seed)) == expected(asked, query, catalog), f"with {data}"


WINDOWS = ("", "[UNBOUNDED]", "[ROWS 1]", "[ROWS 3]", "[RANGE 1 SECOND]", "[RANGE 4 SECONDS]", "[NOW]")
WINDOWS += ("[RANGE 2 SECONDS SLIDE 2 SECONDS]", "[PARTITION BY auction ROWS 1]")
PAIRS = ("x.id = y.id", "x.auction = y.auction", "x.part = y.part", "x.ts <= y.ts", "x.price >= y.price")
PAIRS += ("x.auction <=> y.auction", "x.price < y.price", "x.auction = y.price")
FILTERS = ("{}.price > 1", "{}.part IS NOT NULL", "{}.auction = 2")


def random_query(random: Random) -> str:
    on = [*random.sample(PAIRS, random.choice((1, 1, 2, 3)))]
    windows = [random.choice(WINDOWS), random.choice(WINDOWS)]
    if random.random() < 0.4:
        windows[1] = windows[0]
    filters = random.sample(FILTERS, random.choice((0, 0, 1)))
    own = [each.format("x") for each in filters]
    other = [each.format("y") for each in (filters if random.random() < 0.7 else random.sample(FILTERS, 1))]
    to = random.choice(("", "", "ISTREAM", "RSTREAM"))
    is_join = random.random() < 0.5
    outputs = "x.id, x.price, y.auction AS there" if is_join else "x.id, x.price"
    selected = f"{to}({outputs})" if to else outputs
    if is_join:
        both = " AND ".join([*on, *own, *other])
        return f"SELECT {selected} FROM bid {windows[0]} x, bid {windows[1]} y WHERE {both}"
    no = random.choice(("", "NOT "))
    inner = f"SELECT * FROM bid {windows[1]} y WHERE {' AND '.join([*on, *other])}"
    where = " AND ".join([*own, f"{no}EXISTS ({inner})"])
    return f"SELECT {selected} FROM bid {windows[0]} x WHERE {where}"


def test_random_self_joins_keep_their_results() -> None:
    file = FILES["self_joins"]
    left_out = 0
    for seed in range(150):
        random = Random(seed)
        sql = random_query(random)
        query, catalog = bound(file, sql)
        after, eliminations = eliminated(query, catalog)
        left_out += bool(eliminations)
        assert len(streams(after.relation)) == len(streams(query.relation)) - len(eliminations)
        data = keeping_to(catalog, random_data(catalog, random, rows=ROWS))
        assert repr(run(after, catalog, data)) == repr(run(query, catalog, data)), f"{sql}\nwith {data}"
    assert left_out > 30
