"""The default horizon is the largest timestamp of the query's own streams, however the input is cut into batches.

A stream that is read for its punctuations may go on long after that. It drives no instant past the horizon, in neither
engine and for none of the queries that run together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.relations import Query
from penstock.catalog import Catalog
from penstock.engines import planning
from penstock.engines.embedded_run import EmbeddedRun, open_engines, open_run
from penstock.engines.handed import Handed
from penstock.engines.lateness import Progress
from penstock.engines.planning import plan_of
from penstock.engines.spark.clock import Clock
from penstock.engines.spark.packing import Segment
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Plan
from penstock.plan.planner import plan
from penstock.sql import Script, bind_text
from tests.cli.conftest import Penstock, penstock  # noqa: F401
from tests.engines.comparing import Log, batch, expected, logged
from tests.engines.spark.pretending import pretended
from tests.generators import Case

DDL = """\
CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT, PUNCTUATED BY (a) FROM z (a)) TIMESTAMP BY ts DELAY 2 MICROSECONDS;
CREATE STREAM t (a BIGINT, ts BIGINT, PUNCTUATED BY (a) FROM z (a)) TIMESTAMP BY ts;
CREATE STREAM z (a BIGINT, ts BIGINT) TIMESTAMP BY ts DELAY 1 MICROSECOND;
"""
QUERIES = (
    "SELECT a, COUNT(*) AS n FROM s GROUP BY a EMIT ON CLOSE",
    "SELECT s.a, b FROM s [RANGE 6 MICROSECONDS SLIDE 4 MICROSECONDS], t [RANGE 9 MICROSECONDS] WHERE s.a = t.a",
    "SELECT a, SUM(b) AS n FROM s [RANGE 5 MICROSECONDS SLIDE 3 MICROSECONDS] GROUP BY a",
    "SELECT DSTREAM(s.a, b) FROM s [RANGE 3 MICROSECONDS], t [RANGE 8 MICROSECONDS] WHERE s.a = t.a",
    "SELECT RSTREAM(a) FROM s [RANGE 4 MICROSECONDS] WHERE a IN (SELECT a FROM t)",
    "SELECT a FROM z [RANGE 2 MICROSECONDS]",
)
Rows = list[tuple[Any, ...]]


@st.composite
def inputs(draw: st.DrawFn) -> dict[str, Rows]:
    """Rows that keep their punctuations. Those of z may be late, and come long after all others."""
    own = {
        name: draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), max_size=8).map(_in_order))
        for name in "st"
    }
    last = {a: max((ts for rows in own.values() for b, ts in rows if a == b), default=0) for a in range(4)}
    closed = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 25)), max_size=6))
    z: Rows = [(a, last[a] + after) for a, after in closed]
    return {"s": [(a, a * ts % 5, ts) for a, ts in own["s"]], "t": list(own["t"]), "z": z}


def _in_order(rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted(rows, key=lambda row: row[1])


def bound_queries(texts: Sequence[str]) -> Script:
    named = "".join(f"CREATE QUERY q{n} AS {text} ALLOW UNBOUNDED;\n" for n, text in enumerate(texts))
    return bind_text(DDL + named).checked()


def cut(case: Case, script: Script, random: Random) -> dict[str, Iterator[pa.RecordBatch]]:
    """The rows of each stream in batches of random sizes."""
    cuts: dict[str, list[pa.RecordBatch]] = {}
    for stream in script.catalog.streams:
        rows, cuts[stream.name] = list(case.data[stream.name]), []
        while rows:
            count = random.randint(1, len(rows))
            cuts[stream.name].append(batch(stream, rows[:count]))
            rows = rows[count:]
    return {name: iter(batches) for name, batches in cuts.items()}


def embedded(script: Script, case: Case, cells: int, forgetting: Forgetting, random: Random) -> list[Log]:
    """What each query gives, of all that run together."""
    plans = [plan_of(query, script.catalog, cells, forgetting) for query in script.queries]
    engines = open_engines(plans, script.catalog, {}, case.horizon)
    read = {name: rows for name, rows in cut(case, script, random).items() if any(name in e.streams for e in engines)}
    logs = {query.name: Log() for query in script.queries}
    for result in EmbeddedRun(engines, read).results():
        assert result is not None
        logs[result.engine.query.name] += logged(result.rows, result.engine.query)
    return list(logs.values())


@settings(max_examples=150)
@given(
    inputs(),
    st.lists(st.sampled_from(QUERIES), min_size=1, max_size=3),
    st.sampled_from([None, None, 7]),
    st.integers(1, 2),
    st.sampled_from([EAGER, Forgetting(spill=True)]),
    st.randoms(use_true_random=False),
)
def test_results_end_at_the_horizon_however_streams_are_cut(
    data: dict[str, Rows], texts: list[str], horizon: int | None, cells: int, forgetting: Forgetting, random: Random
) -> None:
    script = bound_queries(texts)
    case = Case(DDL, "", data, horizon, "")
    want = [expected(case, query, script.catalog) for query in script.queries]
    assert embedded(script, case, cells, forgetting, random) == want


@settings(max_examples=30)
@given(inputs(), st.sampled_from(QUERIES), st.integers(1, 2), st.integers(0, 1000))
def test_spark_ends_at_the_same_horizon(data: dict[str, Rows], text: str, cells: int, seed: int) -> None:
    script = bound_queries([text])
    case, query = Case(DDL, "", data, None, ""), script.queries[0]
    assert pretended(case, query, script.catalog, cells, Random(seed)) == expected(case, query, script.catalog)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from("stz"), st.integers(0, 50)), max_size=12))
def test_the_clock_on_spark_passes_no_timestamp_of_the_own_streams(brought: list[tuple[str, int]]) -> None:
    clock = Clock({name: Progress() for name in "stz"})
    newest = dict.fromkeys("stz", 0)
    for number, (stream, ts) in enumerate(brought):
        clock.read([(Segment(stream, f"{number}", 0), Progress(newest=ts, rows=1))], dict.fromkeys("stz", 0))
        newest[stream] = max(newest[stream], ts)
        assert clock.until <= min(newest["s"], newest["t"])
    clock.close(None, {"s", "t"})
    assert clock.until == max(newest["s"], newest["t"]) + 1


def test_punctuations_past_the_horizon_exist_and_make_others_late() -> None:
    script = bound_queries(QUERIES[:1])
    data: dict[str, Rows] = {"s": [(0, 1, 3), (1, 1, 9)], "t": [], "z": [(1, 30), (0, 5)]}
    case, query = Case(DDL, "", data, None, ""), script.queries[0]
    assert embedded(script, case, 1, EAGER, Random(1)) == [Log()]
    assert pretended(case, query, script.catalog, 1, Random(1)) == expected(case, query, script.catalog) == Log()


@pytest.mark.parametrize("forgetting", [EAGER, Forgetting(spill=True)])
def test_a_run_plans_each_query_once(monkeypatch: pytest.MonkeyPatch, forgetting: Forgetting) -> None:
    planned = []

    def noted(query: Query, cells: int, catalog: Catalog, forgetting: Forgetting) -> Plan:
        planned.append((query.name, cells, forgetting))
        return plan(query, cells, catalog, forgetting)

    monkeypatch.setattr(planning, "plan", noted)
    script = bound_queries(QUERIES)
    handed = {name: Handed(name, pa.table({"a": [1], "b": [1], "ts": [1]})) for name in "stz"}
    running = open_run(script.queries, script.catalog, handed, cells=2, forgetting=forgetting)
    assert sum(1 for _ in running.results()) > 0
    assert planned == [(query.name, 2, forgetting) for query in script.queries]


SCRIPT = """\
CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT, PUNCTUATED BY (a) FROM z (a)) TIMESTAMP BY ts
USING csv OPTIONS (path 's.csv');
CREATE STREAM t (a BIGINT, ts BIGINT, PUNCTUATED BY (a) FROM z (a)) TIMESTAMP BY ts
USING csv OPTIONS (path 't.csv');
CREATE STREAM z (a BIGINT, ts BIGINT) TIMESTAMP BY ts USING csv OPTIONS (path 'z');
CREATE QUERY q AS
SELECT s.a, b FROM s [RANGE 6 MICROSECONDS SLIDE 4 MICROSECONDS], t [RANGE 6 MICROSECONDS] WHERE s.a = t.a;
"""


@pytest.fixture
def punctuated(penstock: Penstock) -> Penstock:  # noqa: F811
    penstock.file("q.sql", SCRIPT)
    penstock.file("s.csv", "1,10,1\n2,20,2\n3,30,9\n")
    penstock.file("t.csv", "1,1\n2,2\n3,9\n")
    (penstock.folder / "z").mkdir()
    return penstock


@pytest.mark.parametrize("files", [["1,3\n2,30\n3,40\n4,50\n"], ["1,3\n", "2,30\n", "3,40\n", "4,50\n"]])
@pytest.mark.parametrize("spill", [[], ["--spill"]])
def test_files_of_punctuations_may_be_cut_anywhere(punctuated: Penstock, files: list[str], spill: list[str]) -> None:
    """With `--spill` the query does not read z: its window's rows go by no punctuation then."""
    for number, text in enumerate(files):
        (Path("z") / f"{number}.csv").write_text(text)
    done = punctuated("run", "q.sql", "--engine", "embedded", "--until-done", *spill)
    assert done.code == 0
    assert done.out == "_ts,_op,a,b\n4,+,1,10\n4,+,2,20\n8,-,1,10\n9,-,2,20\n"
