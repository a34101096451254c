"""Queries that run together store the windows that they have in common once, and say what each says alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.relations import Query
from penstock.catalog import Catalog
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.embedded_run import EmbeddedRun, open_engines
from penstock.engines.planning import plan_of
from penstock.operators import machine
from penstock.sql import bind_text
from tests.engines.comparing import Log, batches_of, expected, logged, table
from tests.generators import Case, Features, several_cases
from tests.purging.cases import purging_case

#: Few columns and short times, so that queries often have windows in common.
ALIKE = Features(columns=("k", "n", "w", "x", "m"), max_streams=2, max_time=6)


def bound_together(cases: Sequence[Case]) -> tuple[Sequence[Query], Catalog]:
    text = "".join(f"\nCREATE QUERY q{number} AS {case.query};" for number, case in enumerate(cases))
    script = bind_text(cases[0].ddl + text).checked()
    return script.queries, script.catalog


@settings(max_examples=30)
@given(several_cases(2, 4, ALIKE), st.integers(0, 2**32))
def test_each_query_says_what_it_says_alone_and_no_later(cases: list[Case], seed: int) -> None:
    queries, catalog = bound_together(cases)
    tables = {t.name: table(t, cases[0].data.get(t.name, ())) for t in catalog.tables}
    want = [expected(case, query, catalog) for case, query in zip(cases, queries, strict=True)]
    for cuts in (0, 1, Random(seed)):
        together = open_engines([plan_of(query, catalog) for query in queries], catalog, tables, cases[0].horizon)
        alone = [EmbeddedEngine(query, catalog, tables, horizon=cases[0].horizon) for query in queries]
        logs = [Log() for _ in queries]
        for name, rows in batches_of(cases[0], list(catalog.streams), cuts):
            for number, (one, other) in enumerate(zip(together, alone, strict=True)):
                if name in one.streams:
                    one.push(name, rows)
                    other.push(name, rows)
                    log = logged(one.advance(), queries[number])
                    assert log == logged(other.advance(), queries[number])
                    logs[number] += log
            # What a query that lags has in flight alone, a window that it shares keeps for it.
            assert kept(together) <= kept(alone) + in_flight(alone)
        ends = [logged(engine.finish(), query) for engine, query in zip(together, queries, strict=True)]
        assert [log + end for log, end in zip(logs, ends, strict=True)] == want


@settings(max_examples=30)
@given(several_cases(2, 3, ALIKE), st.sampled_from([0, 1, 3]))
def test_so_does_the_loop_that_reads_streams_side_by_side(cases: list[Case], cuts: int) -> None:
    queries, catalog = bound_together(cases)
    tables = {t.name: table(t, cases[0].data.get(t.name, ())) for t in catalog.tables}
    engines = open_engines([plan_of(query, catalog) for query in queries], catalog, tables, cases[0].horizon)
    read = [stream for stream in catalog.streams if any(stream.name in engine.streams for engine in engines)]
    batches = batches_of(cases[0], read, cuts)
    run = EmbeddedRun(engines, {s.name: iter([rows for name, rows in batches if name == s.name]) for s in read})
    logs = {query.name: Log() for query in queries}
    for result in run.results():
        assert result is not None
        logs[result.engine.query.name] += logged(result.rows, result.engine.query)
    for case, query in zip(cases, queries, strict=True):
        assert logs[query.name] == expected(case, query, catalog)


@pytest.mark.parametrize("seed", range(20))
def test_what_one_of_two_forgets_the_other_keeps(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows whose rows are forgotten are not shared; other windows of the same joins are."""
    monkeypatch.setattr(machine, "SLICE", 4)
    found = purging_case(4000 + seed)
    queries = [replace(found.query, name=name) for name in ("one", "other")]
    engines = open_engines([plan_of(query, found.catalog) for query in queries], found.catalog, {})
    logs = [Log(), Log()]
    for name, rows in batches_of(found.case, list(found.catalog.streams), Random(seed)):
        for log, engine in zip(logs, engines, strict=True):
            if name in engine.streams:
                engine.push(name, rows)
                log.update(logged(engine.advance(), engine.query))
    for log, engine in zip(logs, engines, strict=True):
        log.update(logged(engine.finish(), engine.query))
        assert log == expected(found.case, found.query, found.catalog)


@pytest.mark.parametrize("first", [0, 1])
def test_what_a_semi_join_drops_a_join_beside_it_keeps(first: int) -> None:
    semi = "SELECT s.a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.a = s.a AND t.ts BETWEEN s.ts AND s.ts + 3)"
    selects = (semi, "SELECT s.a, t.ts AS at FROM s, t WHERE s.a = t.a")
    random = Random(0)
    data: dict[str, list[tuple[object, ...]]] = {
        "s": [(random.randint(0, 4), "x", 0, at) for at in range(30)],
        "t": [(random.randint(0, 4), at) for at in range(30)],
    }
    cases = [Case(DDL, f"{select} ALLOW UNBOUNDED", data, None, "") for select in (selects[first], selects[1 - first])]
    queries, catalog = bound_together(cases)
    engines = open_engines([plan_of(query, catalog) for query in queries], catalog, {})
    logs = [Log() for _ in queries]
    for name, rows in batches_of(cases[0], list(catalog.streams), 5):
        for log, engine in zip(logs, engines, strict=True):
            engine.push(name, rows)
            log.update(logged(engine.advance(), engine.query))
    for log, engine, case in zip(logs, engines, cases, strict=True):
        log.update(logged(engine.finish(), engine.query))
        assert log == expected(case, engine.query, catalog)


def kept(engines: Sequence[EmbeddedEngine]) -> int:
    return sum(engine.state()[0] for engine in engines)


def in_flight(engines: Sequence[EmbeddedEngine]) -> int:
    return sum(engine.totals().in_flight_rows for engine in engines)


DDL = """
CREATE STREAM s (a BIGINT, b STRING, c BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM t (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
"""


def opened(*selects: str, cells: int = 1) -> list[EmbeddedEngine]:
    text = "".join(f"CREATE QUERY q{number} AS {select} ALLOW UNBOUNDED;" for number, select in enumerate(selects))
    script = bind_text(DDL + text).checked()
    return open_engines([plan_of(query, script.catalog, cells) for query in script.queries], script.catalog, {})


def pushed(engines: list[EmbeddedEngine], numbers: Sequence[int]) -> list[Log]:
    """What comes of rows of s with these timestamps."""
    texts = [f"text {number}" for number in numbers]
    rows = pa.record_batch({"a": numbers, "b": texts, "c": numbers, "ts": numbers})
    logs = []
    for engine in engines:
        engine.push("s", rows)
        logs.append(logged(engine.advance(), engine.query))
    return logs


def rows_kept(*selects: str, cells: int = 1) -> int:
    """The rows that all operators keep after ten rows of s came."""
    engines = opened(*selects, cells=cells)
    pushed(engines, range(10))
    for engine in engines:
        engine.finish()
    return kept(engines)


@pytest.mark.parametrize(
    "window", ["RANGE 1 HOUR", "RANGE 1 HOUR SLIDE 1 MICROSECOND", "ROWS 10", "PARTITION BY a ROWS 10"]
)
def test_a_window_of_two_queries_is_stored_once(window: str) -> None:
    assert rows_kept(f"SELECT a FROM s [{window}]", f"SELECT x.a FROM s [{window}] x") == 10


@pytest.mark.parametrize("window", ["RANGE 1 HOUR", "ROWS 10", "PARTITION BY a ROWS 10"])
def test_also_if_they_read_other_columns(window: str) -> None:
    selects = [f"SELECT {columns} FROM s [{window}]" for columns in ("b", "ts", "c + 1, c", "a, b, b || 'x'")]
    assert rows_kept(*selects) == 10


def test_joins_of_several_queries_look_into_one_store() -> None:
    join = "FROM s [RANGE 1 HOUR] x, s [RANGE 1 HOUR] y WHERE x.a = y.c"
    semi_join = "FROM s [RANGE 1 HOUR] x WHERE NOT EXISTS (SELECT 1 FROM t [ROWS 1] WHERE t.a = x.c)"
    assert rows_kept(f"SELECT x.b {join}", f"SELECT x.b, y.ts {join}", f"SELECT ISTREAM(b) {semi_join}") == 10
    assert rows_kept(f"SELECT x.b {join}") == 20


def test_rows_that_pass_are_not_stored() -> None:
    """All rows so far are stored only where they are joined."""
    passing, joining = "SELECT a FROM s", "SELECT x.b FROM s x, t WHERE x.a = t.a"
    assert rows_kept(passing, passing) == 0
    assert rows_kept(passing, joining, "SELECT x.c FROM s x, t WHERE x.a = t.a") == 10


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[RANGE 1 HOUR]", "[RANGE 2 HOURS]"),
        ("[RANGE 1 HOUR]", "[ROWS 10]"),
        ("[PARTITION BY a ROWS 10]", "[PARTITION BY c ROWS 10]"),
        ("[RANGE 1 HOUR] WHERE a >= 0", "[RANGE 1 HOUR] WHERE a > -1"),
    ],
)
def test_windows_that_differ_are_not_shared(one: str, other: str) -> None:
    assert rows_kept(f"SELECT a FROM s {one}", f"SELECT a FROM s {other}") == 20


def test_filters_may_stand_in_any_order() -> None:
    filters = ("a >= 0 AND c < 99", "c < 99 AND a >= 0")
    assert rows_kept(*(f"SELECT b FROM s [RANGE 1 HOUR] WHERE {filter_}" for filter_ in filters)) == 10


def test_in_several_cells_nothing_is_shared() -> None:
    assert rows_kept("SELECT a FROM s [RANGE 1 HOUR]", "SELECT a FROM s [RANGE 1 HOUR]", cells=2) == 20


def test_a_query_that_waits_holds_no_other_up() -> None:
    """The second waits for t, and rows that it has not seen go stay for it."""
    select = "SELECT {} FROM s [RANGE 2 MICROSECONDS] x"
    engines = opened(select.format("b"), f"{select.format('x.c')}, t [RANGE 1 HOUR] WHERE x.a = t.a")
    alone = opened(select.format("b"))
    for start in range(0, 1000, 100):
        numbers = range(start, start + 100)
        logs = pushed(engines, numbers)
        assert logs == [*pushed(alone, numbers), Log()]
        assert (kept(engines), in_flight(engines)) == (start + 99, 1)
    engines[1].push("t", pa.record_batch({"a": [996, 0], "ts": [997, 999]}))
    assert logged(engines[1].advance(), engines[1].query) == Log([(997, "+", 996)])
    # The instant 999 is open: a row of s waits, and one of t. Three of s are in the window, and one of t.
    assert (kept(engines), in_flight(engines)) == (4, 2)


def test_what_is_shared_is_counted_for_the_first_who_reads_it() -> None:
    engines = opened("SELECT b FROM s [ROWS 5]", "SELECT b, c FROM s [ROWS 5]", "SELECT a FROM s [ROWS 6]")
    pushed(engines, range(10))
    first, second, third = (
        {line.operator: line for line in engine.metrics() if line.operator != "source"} for engine in engines
    )
    assert {line.query for line in (*first.values(), *second.values())} == {"q0", "q1"}
    assert [(lines["scan0"].rows_in, lines["scan0"].state_rows) for lines in (first, second, third)] == [
        (10, 5),
        (0, 0),
        (9, 6),
    ]
    assert [lines["scan0"].in_flight_rows for lines in (first, second, third)] == [1, 0, 1]
    assert first["scan0"].rows_out == second["scan0"].rows_out == 13
    assert second["scan0"].state_bytes == 0 < first["scan0"].state_bytes
    assert second["dictionary"].state_bytes == 0 < first["dictionary"].state_bytes
    assert [line.rows_in for engine in engines for line in engine.metrics() if line.operator == "source"] == [0, 0, 0]


def test_values_that_nobody_stores_are_forgotten_and_those_of_others_are_not() -> None:
    """The second query keeps texts that the first, which comes to each sweep before it, does not."""
    engines = opened("SELECT b FROM s [ROWS 5]", "SELECT b, x.a FROM s [ROWS 5] x, t [ROWS 1] WHERE x.a = t.a")
    engines[1].push("t", pa.record_batch({"a": [3], "ts": [0]}))
    for start in range(0, 40_000, 4_000):
        pushed(engines, range(start, start + 4_000))
    texts = next(line.state_rows for line in engines[0].metrics() if line.operator == "dictionary")
    assert texts >= 40_000
    engines[1].push("t", pa.record_batch({"a": [39_998, 39_999], "ts": [39_998, 39_999]}))
    log = logged(engines[1].advance(), engines[1].query)
    assert log[39_998, "+", "text 39998", 39_998] == 1
    for start in range(40_000, 80_000, 4_000):
        pushed(engines, range(start, start + 4_000))
        engines[1].push("t", pa.record_batch({"a": [start], "ts": [start + 3_999]}))
        engines[1].advance()
    texts = next(line.state_rows for line in engines[0].metrics() if line.operator == "dictionary")
    assert texts < 40_000


def test_panes_are_not_windows_of_others() -> None:
    """Two aggregates of one sliding window, and a join that stores its rows."""
    ddl = "CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;"
    window = "s [RANGE 6 MICROSECONDS SLIDE 2 MICROSECONDS]"
    selects = [
        f"SELECT a, SUM(b) AS n FROM {window} GROUP BY a",
        f"SELECT COUNT(*) AS n FROM {window}",
        f"SELECT x.a, y.b FROM {window} x, {window} y WHERE x.a = y.b",
    ]
    script = bind_text(ddl + "".join(f"CREATE QUERY q{n} AS {select};" for n, select in enumerate(selects))).checked()
    numbers = list(range(20))
    rows = pa.record_batch({"a": [n % 3 for n in numbers], "b": [n % 4 for n in numbers], "ts": numbers})

    def results(queries: Sequence[Query]) -> dict[str, list[dict[str, object]]]:
        engines = open_engines([plan_of(query, script.catalog) for query in queries], script.catalog, {})
        for engine in engines:
            engine.push("s", rows)
        for engine in engines:
            engine.end("s")
        return {engine.query.name: engine.finish().to_pylist() for engine in engines}

    together = results(script.queries)
    alone = [results([query]) for query in script.queries]
    assert all(together[name] == rows for each in alone for name, rows in each.items())
    assert all(together.values())
