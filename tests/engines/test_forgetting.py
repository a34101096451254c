"""Strings and long decimals that nobody stores any more are forgotten: answers stay the same, and memory stays flat."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engines.embedded import EmbeddedEngine
from penstock.operators.machine import Machine
from penstock.sql import bind_text
from penstock.synopsis.dictionary import Dictionary, Page
from penstock.synopsis.memory import Memory
from tests.engines.comparing import Log, batches, bound, embedded, expected, logged, table
from tests.generators import Case, cases

DDL = """
CREATE STREAM s (k BIGINT, w STRING, b BINARY, d DECIMAL(18, 2), e DECIMAL(30, 5), ts TIMESTAMP)
TIMESTAMP BY ts DELAY 1 SECOND;
CREATE TABLE t (w STRING, v STRING);
"""

#: Queries that need few values at a time.
QUERIES = {
    "window": "SELECT w, b FROM s [RANGE 5 SECONDS]",
    "rows": "SELECT w || 'x' AS x FROM s [ROWS 20]",
    "partitions": "SELECT w FROM s [PARTITION BY k ROWS 3]",
    "groups": "SELECT w, COUNT(*) FROM s [RANGE 5 SECONDS] GROUP BY w",
    "distinct": "SELECT DISTINCT UPPER(w) FROM s [RANGE 5 SECONDS]",
    "sums": "SELECT k, SUM(d), AVG(e) FROM s [RANGE 5 SECONDS] GROUP BY k",
    "least and greatest": "SELECT k, MIN(w), MAX(b), MIN(e), MAX(d) FROM s [RANGE 5 SECONDS] GROUP BY k",
    "distinct values": "SELECT COUNT(DISTINCT w), SUM(DISTINCT e), COUNT(DISTINCT k) FROM s [RANGE 5 SECONDS]",
    "sums that join": "SELECT t, w FROM (SELECT k, SUM(d) AS t FROM s [ROWS 9] GROUP BY k) x JOIN s [ROWS 5] USING (k)",
    "union": "SELECT w FROM s [RANGE 5 SECONDS] UNION SELECT w FROM s [ROWS 30]",
    "except": "SELECT w FROM s [RANGE 5 SECONDS] EXCEPT ALL SELECT w FROM s [ROWS 30]",
    "intersect": "SELECT w FROM s [RANGE 5 SECONDS] INTERSECT SELECT w FROM s [ROWS 30]",
    "semi-join": "SELECT w FROM s [RANGE 5 SECONDS] a WHERE EXISTS (SELECT 1 FROM s [ROWS 30] c WHERE c.w = a.w)",
    "anti-join": "SELECT w FROM s [RANGE 5 SECONDS] a WHERE w NOT IN (SELECT w FROM s [ROWS 30])",
    "join": "SELECT a.w, c.b FROM s [RANGE 5 SECONDS] a, s [ROWS 30] c WHERE c.w = a.w",
    "table": "SELECT s.w, v FROM s [ROWS 5], t WHERE s.w > t.w",
    "istream": "SELECT ISTREAM(LOWER(w)) FROM s WHERE w LIKE '%7'",
    "dstream": "SELECT DSTREAM(w) FROM s [RANGE 2 SECONDS SLIDE 1 SECOND]",
    "rstream": "SELECT RSTREAM(w) FROM s [ROWS 3]",
    "rstream of sums": "SELECT RSTREAM(k, SUM(d)) FROM s [ROWS 30] GROUP BY k",
    "distinct computed": "SELECT DISTINCT SUBSTRING(w, 9, 1) FROM s",
    "distinct values computed": "SELECT COUNT(DISTINCT SUBSTRING(w, 9, 1)) FROM s",
    "least computed": "SELECT MIN(x.w || y.w), MAX(x.k) FROM s [ROWS 9] x, s [ROWS 5] y WHERE x.k = y.k",
    "extremes of all": "SELECT MIN(w), MAX(b), MIN(e) FROM s",
    "extremes of groups": "SELECT k, MAX(w), MIN(w) FROM s WHERE w <> 'x' GROUP BY k",
}  # fmt: skip


def case_of(query: str, count: int) -> Case:
    """Ever-new values, a few of them twice, ten a second, and some late by less than the delay."""
    random = Random(count)
    rows = []
    for i in range(count):
        number = i if i % 5 else max(0, i - 5)
        decimals = random.randrange(-(10**17), 10**17), random.randrange(-(10**29), 10**29)
        d, e = Decimal(decimals[0]).scaleb(-2), Decimal(decimals[1]).scaleb(-5)
        late = 900_000 if i % 4 == 3 else 0
        rows.append((i % 7, f"w{number:08d}", b"b%08d" % number, d, e, max(0, i * 100_000 - late)))
    table_rows = [("w00000004", "low"), ("w00000040", "middle"), (None, "none")]
    return Case(DDL, query, {"s": rows, "t": table_rows}, None, "")


@contextmanager
def sweeps_after(new_values: int) -> Iterator[None]:
    """So few new values make a sweep due; 0: there is one after every step."""
    before = Dictionary.least_new, Dictionary.words_per_new, Dictionary.is_sweep_due
    try:
        Dictionary.least_new, Dictionary.words_per_new = new_values, 10**9
        if new_values == 0:
            Dictionary.is_sweep_due = True  # type: ignore[assignment, method-assign]
        yield
    finally:
        Dictionary.least_new, Dictionary.words_per_new, Dictionary.is_sweep_due = before  # type: ignore[method-assign]


@pytest.mark.parametrize("name", QUERIES)
def test_answers_are_those_of_the_reference(name: str) -> None:
    case = case_of(QUERIES[name], 40)
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    with sweeps_after(0):
        for cells, cuts in ((1, 1), (3, Random(1))):
            assert embedded(case, query, catalog, cells, cuts) == want
        assert restarted(case, 2, 1) == want


@pytest.mark.parametrize(("name", "cells"), [*((name, 1) for name in QUERIES), ("sums that join", 3), ("table", 3)])
def test_memory_is_flat(name: str, cells: int) -> None:
    """The most that is held in the last third of a run is no more than in the third before it."""
    case = case_of(QUERIES[name], 1800)
    script = bind_text(case.script).checked()
    tables = {t.name: table(t, case.data[t.name]) for t in script.catalog.tables}
    rows = table(script.catalog.streams[0], case.data["s"]).combine_chunks()
    with sweeps_after(100):
        engine = EmbeddedEngine(script.queries[0], script.catalog, tables, cells)
        held = [_held(engine, rows.slice(start, 20)) for start in range(0, 1800, 20)]
    values, value_bytes, array_bytes = ((max(column[30:60]), max(column[60:])) for column in zip(*held, strict=True))
    assert array_bytes[1] <= array_bytes[0]
    for before, later in (values, value_bytes):
        # A sweep comes after a step: at times one more step comes before it.
        assert later <= before * 1.15
    assert max(values for values, _, _ in held) <= 600


def _held(engine: EmbeddedEngine, rows: pa.Table) -> tuple[int, int, int]:
    """Values, their bytes, and the bytes of all arrays, after these rows."""
    engine.push("s", rows.to_batches()[0])
    engine.advance()
    dictionary = engine.metrics()[-1]
    assert dictionary.operator == "dictionary"
    return dictionary.state_rows, dictionary.state_bytes, engine.state()[1] - dictionary.state_bytes


def restarted(case: Case, cells: int, seed: int) -> Log:
    """What comes out if all is made again from its pages after every step."""
    query, catalog = bound(case)
    tables = {t.name: table(t, case.data.get(t.name, ())) for t in catalog.tables}
    engine = EmbeddedEngine(query, catalog, tables, cells, case.horizon)
    memories: dict[tuple[int, int], dict[str, bytes]] = {}
    values: dict[int, Page] = {}
    log: Log = Log()
    for name, rows in batches(case, engine, catalog, Random(seed)):
        engine.push(name, rows)
        log += logged(engine.advance(), query)
        _restart(engine, memories, values)
    return log + logged(engine.finish(), query)


def _restart(
    engine: EmbeddedEngine, memories: dict[tuple[int, int], dict[str, bytes]], values: dict[int, Page]
) -> None:
    values |= engine._dictionary.changes()
    engine._dictionary = Dictionary()
    engine._dictionary.restore(values)
    for ingest in engine.streams.values():
        ingest._dictionary = engine._dictionary
    for number, machines in enumerate(engine._machines):
        for cell, machine in enumerate(machines):
            saved = memories.setdefault((number, cell), {})
            saved.update(machine._memory.changes())
            memory = Memory()
            memory.restore(saved)
            machines[cell] = Machine(engine.plan, machine.fragment, memory, engine._dictionary)


@settings(max_examples=settings().max_examples // 3)
@given(cases(), st.sampled_from([1, 2, 5]), st.integers(0, 2**32))
def test_sweeps_do_not_show(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    with sweeps_after(0):
        assert embedded(case, query, catalog, cells, Random(seed)) == expected(case, query, catalog)


@settings(max_examples=settings().max_examples // 3)
@given(cases(), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_sweeps_and_restarts_do_not_show(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    with sweeps_after(0):
        assert restarted(case, cells, seed) == expected(case, query, catalog)


@settings(max_examples=settings().max_examples // 10)
@given(cases(), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_sweeps_on_pretended_spark_do_not_show(case: Case, cells: int, seed: int) -> None:
    from tests.engines.spark.pretending import pretended

    query, catalog = bound(case)
    with sweeps_after(0):
        assert pretended(case, query, catalog, cells, Random(seed)) == expected(case, query, catalog)
