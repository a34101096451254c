"""UNIQUE spares a plan exchanges, netting and deletions, and changes no result: true keys give the reference's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog, StreamDef, TableDef
from penstock.plan.explain import fragments_text
from penstock.plan.fragments import Plan
from penstock.plan.planner import plan
from penstock.sql import bind_text
from tests.engines.comparing import bound, comparable, embedded, expected
from tests.generators import Case, cases


def with_keys(case: Case, *, true: bool) -> Case:
    """The case with all keys of up to two columns declared, those that its rows have or those that they break."""
    catalog = bind_text(case.script).checked().catalog
    ddl = case.ddl
    for stream in catalog.streams:
        ddl += "".join(f"\nALTER STREAM {stream.name} ADD UNIQUE {key};" for key in _keys(case, stream, true=true))
    for table in catalog.tables:
        head, rest = ddl.split(f"CREATE TABLE {table.name} (", 1)
        columns, rest = rest.split(");", 1)
        keys = "".join(f", UNIQUE {key}" for key in _keys(case, table, true=true))
        ddl = f"{head}CREATE TABLE {table.name} ({columns}{keys});{rest}"
    return replace(case, ddl=ddl)


def _keys(case: Case, definition: StreamDef | TableDef, *, true: bool) -> Iterator[str]:
    names = [attribute.name for attribute in definition.attributes]
    rows = [tuple(map(comparable, row)) for row in case.data.get(definition.name, ())]
    for size in (1, 2):
        for key in combinations(range(len(names)), size):
            if (len({tuple(row[i] for i in key) for row in rows}) == len(rows)) == true:
                yield f"({', '.join(names[i] for i in key)})"


@given(cases(), st.integers(0, 2**32))
def test_true_keys_change_nothing(case: Case, seed: int) -> None:
    keyed = with_keys(case, true=True)
    query, catalog = bound(keyed)
    want = expected(keyed, query, catalog)
    for cells in (1, 2, 5):
        assert embedded(keyed, query, catalog, cells, Random(seed)) == want


@given(cases(), st.sampled_from([1, 2, 5]), st.integers(0, 2**32))
def test_broken_keys_stop_nothing(case: Case, cells: int, seed: int) -> None:
    broken = with_keys(case, true=False)
    query, catalog = bound(broken)
    embedded(broken, query, catalog, cells, Random(seed))


WINDOWS = ("[ROWS 1]", "[ROWS 3]", "[RANGE 2 MICROSECONDS]", "[NOW]", "[RANGE 3 MICROSECONDS SLIDE 2 MICROSECONDS]", "")
SELECTED = (
    "hub.id AS h, r.id AS i, s.id AS j",
    "hub.id AS h, r.id AS i",
    "hub.id AS h",
    "hub.id AS h, r.k AS k, s.id AS j",
    "s.id AS j",
    "r.id AS i",
)


def star(random: Random) -> Case:
    """A join of a hub with two satellites, many rows of which come and go at one instant."""
    ddl = (
        "CREATE STREAM hub (id BIGINT, r BIGINT, s BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;\n"
        "CREATE STREAM r (id BIGINT, k BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;\n"
        "CREATE STREAM s (id BIGINT, k BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;"
    )
    data = {}
    for name, keys in (("hub", 2), ("r", 1), ("s", 1)):
        ids = random.sample([None, *range(9)], 8)
        times = sorted(random.randint(0, 5) for _ in ids)
        data[name] = [(i, *random.choices([1, 2, 1, 2, None], k=keys), t) for i, t in zip(ids, times, strict=True)]
    sources = ", ".join(f"{name} {random.choice(WINDOWS)}" for name in data)
    where = f"hub.r = r.k AND hub.s = s.k{random.choice(('', '', ' AND hub.id <= r.id'))}"
    kind = random.choice(("ISTREAM", "ISTREAM", "", "DSTREAM", "RSTREAM"))
    return Case(ddl, f"SELECT {kind} {random.choice(SELECTED)} FROM {sources} WHERE {where}", data, 9, "")


@pytest.mark.parametrize("seed", range(150))
def test_keyed_stars_give_the_reference(seed: int) -> None:
    case = star(Random(seed))
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    for cells in (1, 2, 5):
        for cuts in (0, Random(seed)):
            assert embedded(case, query, catalog, cells, cuts) == want, case


DDL = """
CREATE STREAM a (id BIGINT, x BIGINT, ts TIMESTAMP, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM b (id BIGINT, x BIGINT, ts TIMESTAMP, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM c (id BIGINT, x BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE TABLE d (id BIGINT, name STRING, UNIQUE (id));
"""


def planned(select: str) -> Plan:
    script = bind_text(f"{DDL}CREATE QUERY q AS {select};").checked()
    return plan(normalise(script.queries[0]), 4, script.catalog)


@pytest.mark.parametrize(
    ("select", "once"),
    [
        ("SELECT a.id, b.id AS other FROM a [ROWS 9], b [RANGE 1 HOUR] WHERE a.x = b.x", True),
        ("SELECT a.id, b.x FROM a [ROWS 9], b [RANGE 1 HOUR] WHERE a.x = b.x", False),
        ("SELECT a.id FROM a [ROWS 9], b [RANGE 1 HOUR] WHERE a.x = b.id", True),
        ("SELECT b.id FROM a [ROWS 9], b [RANGE 1 HOUR] WHERE a.x = b.id", False),
        ("SELECT a.id, name FROM a [RANGE 1 HOUR], d WHERE a.x = d.id", True),
        ("SELECT a.id + 0 AS id FROM a [RANGE 1 HOUR]", False),
        ("SELECT c.id FROM c [RANGE 1 HOUR]", False),
        ("SELECT DISTINCT a.id FROM a [RANGE 1 HOUR]", False),
        ("SELECT a.id FROM a [RANGE 1 HOUR] WHERE EXISTS (SELECT * FROM b [NOW] WHERE b.x = a.x)", False),
    ],
)
def test_rows_come_once_where_the_output_names_its_combination(select: str, once: bool) -> None:
    assert planned(select).comes_once is once


@pytest.mark.parametrize(
    ("select", "fragments"),
    [
        # Nothing nets, so nothing is exchanged.
        ("SELECT a.id, b.id AS other FROM a [RANGE 1 HOUR], b [RANGE 1 HOUR] WHERE a.x = b.x", 1),
        # a.id decides a.x, by which rows were joined.
        ("SELECT a.id FROM a [RANGE 1 HOUR], c [RANGE 1 HOUR] WHERE a.x = c.x", 1),
        ("SELECT a.id, COUNT(*) AS n FROM a [RANGE 1 HOUR], c [RANGE 1 HOUR] WHERE a.x = c.x GROUP BY a.id", 1),
        ("SELECT c.id FROM a [RANGE 1 HOUR], c [RANGE 1 HOUR] WHERE a.x = c.x", 2),
        ("SELECT c.id, COUNT(*) AS n FROM a [RANGE 1 HOUR], c [RANGE 1 HOUR] WHERE a.x = c.x GROUP BY c.id", 2),
    ],
)
def test_keys_spare_exchanges(select: str, fragments: int) -> None:
    assert len(planned(select).fragments) == fragments


def test_explain_says_that_each_row_comes_once() -> None:
    shown = fragments_text(planned("SELECT ISTREAM(a.id, b.id AS other) FROM a [ROWS 9], b [NOW] WHERE a.x = b.x"))
    assert "gives ISTREAM, each row comes once\n" in shown


def test_without_a_catalog_nothing_is_known() -> None:
    script = bind_text(f"{DDL}CREATE QUERY q AS SELECT id FROM a [NOW];").checked()
    query = normalise(script.queries[0])
    assert plan(query, 4, script.catalog).comes_once
    assert not plan(query, 4, Catalog()).comes_once
