"""Rows that break a declaration are counted, stop the run, or widen k; and no results are lost silently."""

from __future__ import annotations

from random import Random

import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.errors import PenstockError
from penstock.plan.constraint_report import together
from penstock.sql import bind_text
from tests.engines.comparing import Log, batches, expected, logged
from tests.profiling import definitions
from tests.purging.cases import purging_case
from tests.purging.test_monitors import CONSTRAINTS, DDL, MAKES, QUERY, ddl
from tests.purging.varying import Data, Run, as_defined, clusters, joined, references, run
from tests.seeds import seeds


def required(kind: str, data: Data, in_time: bool) -> list[int]:
    stream, constraint = CONSTRAINTS[kind]
    return [k[in_time] for k in definitions.required(constraint, stream, as_defined(data)) if k is not None]


def told(done: Run) -> tuple[int, float]:
    """Rows that broke the one constraint, and results that may be missing, at the end."""
    (reports,) = together(done.steps[-1][1])
    return reports.broken, reports.false_negatives


@pytest.mark.parametrize("kind", DDL)
@pytest.mark.parametrize("in_time", [False, True])
@pytest.mark.parametrize(("cells", "every"), [(1, 700), (1, 12_345), (3, 5_000), (1, 10**9)])
def test_rows_that_break_a_declaration_are_counted(kind: str, in_time: bool, cells: int, every: int) -> None:
    data = MAKES[kind](150, lambda n: 9)
    needs = required(kind, data, in_time)
    k = sorted(needs)[-12]
    within = f"WITHIN {k} MICROSECONDS" if in_time else f"WITHIN {k} ROWS"
    done = run(ddl(kind, within), QUERY, data, every, cells)
    broken = sum(each > k for each in needs)
    # Of an order each cell sees only the values that it has.
    assert told(done)[0] == broken or (kind == "OA" and cells > 1 and told(done)[0] < broken)


@pytest.mark.parametrize("kind", DDL)
@pytest.mark.parametrize("restarts", [False, True])
def test_what_is_lost_is_reported(kind: str, restarts: bool) -> None:
    data = MAKES[kind](2000, lambda n: 100)
    done = run(ddl(kind, "WITHIN 60 ROWS"), QUERY, data, 20_000, 1, restarts)
    lost = sum((joined(data) - done.log).values())
    assert lost > 100
    assert 0.8 * lost < told(done)[1] < 1.25 * lost


@pytest.mark.parametrize("kind", DDL)
def test_what_holds_is_not_reported(kind: str) -> None:
    data = MAKES[kind](400, lambda n: 20)
    k = max(required(kind, data, in_time=False))
    done = run(ddl(kind, f"WITHIN {k} ROWS"), QUERY, data, 3_000)
    assert told(done) == (0, 0.0)
    assert done.log == joined(data)


@pytest.mark.parametrize("every", [1_000, 20_000, 10**9])
def test_a_row_that_is_there_is_not_missed(every: int) -> None:
    """Rows of one step join before any goes; and there is one at most that refers to a row."""
    data = references(400, lambda n: 6, each=1)
    statements = """
    CREATE STREAM s (a BIGINT, ts BIGINT, UNIQUE (a), FOREIGN KEY (a) REFERENCES t (a) WITHIN 0 ROWS) TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
    """
    done = run(statements, QUERY, data, every)
    lost = sum((joined(data) - done.log).values())
    assert told(done)[1] == lost
    assert lost > 300 or every > 1_000


@pytest.mark.parametrize(("window", "is_lost"), [("150 MILLISECONDS", False), ("20 MILLISECONDS", True)])
def test_rows_of_a_cluster_miss_nothing_while_its_first_is_in_its_window(window: str, is_lost: bool) -> None:
    """What joins the first row stays as long as that result, and so do those that join it later."""
    data = clusters(800, lambda n: 100)
    data = {"s": [(a, ts + 30_000) for a, ts in data["s"]], "t": data["t"]}
    query = QUERY.replace("s, t", f"s, t [RANGE {window}]")
    done = run(ddl("CA", "WITHIN 0 MILLISECONDS"), query, data, 1_000)
    whole = run(ddl("CA", "WITHIN 1 HOUR"), query, data, 1_000)
    lost = sum((whole.log - done.log).values())
    broken, missing = told(done)
    assert broken > 100
    assert (lost > 0, missing > 0) == (is_lost, is_lost)


def test_false_negatives_of_a_k_that_grows_are_those_that_are_lost() -> None:
    data = references(6000, lambda n: 100 if n < 2500 else 400)
    done = run(ddl("RIDS", "INFERRED (w 300)"), QUERY, data, 20_000)
    lost = sum((joined(data) - done.log).values())
    assert lost > 0
    assert told(done) == (0, pytest.approx(lost, rel=0.1))


@pytest.mark.parametrize("kind", DDL)
@pytest.mark.parametrize("in_time", [False, True])
def test_widen_lets_k_grow(kind: str, in_time: bool) -> None:
    """After a while nothing is lost any more, and rows still go."""
    data = MAKES[kind](3000, lambda n: 50)
    within = "WITHIN 20 MILLISECONDS" if in_time else "WITHIN 30 ROWS"
    done = run(ddl(kind, f"{within} ON VIOLATION WIDEN"), QUERY, data, 10_000)
    lost = joined(data) - done.log
    broken, missing = told(done)
    assert broken > 0
    assert max((ts for ts, *_ in lost), default=0) < 200_000
    assert (missing > 0) == bool(lost)
    assert done.steps[-1][1][0].used


@pytest.mark.parametrize("kind", DDL)
def test_widen_changes_nothing_where_the_declaration_holds(kind: str) -> None:
    data = MAKES[kind](400, lambda n: 20)
    k = max(required(kind, data, in_time=False))
    believed = run(ddl(kind, f"WITHIN {k} ROWS"), QUERY, data, 3_000)
    widened = run(ddl(kind, f"WITHIN {k} ROWS ON VIOLATION WIDEN"), QUERY, data, 3_000)
    assert widened.log == believed.log == joined(data)
    # Of a k that may grow the monitor remembers W rows, which are more than there are. Of an order that are the values
    # above all before them; of the others so few are not looked through anyway.
    values = [a for a, _ in data["t"]]
    records = sum(all(a > before for before in values[:n]) for n, a in enumerate(values))
    assert max(widened.state_rows) - max(believed.state_rows) <= (records if kind == "OA" else 0)


@pytest.mark.parametrize(
    ("kind", "rows", "message"),
    [
        (
            "RIDS",
            {"s": [(7, 5)], "t": [(1, 10), (2, 20), (7, 30)]},
            "a row with a = 7 at 30 breaks s: FOREIGN KEY (a) REFERENCES t (a) WITHIN 2 ROWS ON VIOLATION ERROR",
        ),
        (
            "CA",
            {"s": [(7, 5)], "t": [(7, 10), (1, 20), (2, 30), (3, 40), (7, 50)]},
            "a row with a = 7 at 50 breaks t: CLUSTERED BY (a) WITHIN 2 ROWS ON VIOLATION ERROR",
        ),
        (
            "OA",
            {"s": [(7, 5)], "t": [(8, 10), (9, 20), (9, 30), (7, 50)]},
            "a row with a = 7 at 50 breaks t: ORDERED BY a WITHIN 2 ROWS ON VIOLATION ERROR",
        ),
    ],
)
def test_error_stops_the_run(kind: str, rows: Data, message: str) -> None:
    with pytest.raises(PenstockError) as stopped:
        run(ddl(kind, "WITHIN 2 ROWS ON VIOLATION ERROR"), QUERY, rows, 10)
    assert stopped.value.message == message


def test_a_row_after_its_punctuation_may_stop_the_run() -> None:
    statements = """
    CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, ts BIGINT, PUNCTUATED BY a WHEN ts = 20 ON VIOLATION ERROR) TIMESTAMP BY ts;
    """
    with pytest.raises(PenstockError) as stopped:
        run(statements, QUERY, {"s": [(7, 5), (8, 60)], "t": [(7, 10), (7, 20), (7, 40)]}, 10)
    said = "a row with a = 7 at 40 breaks t: PUNCTUATED BY (a) WHEN ts = 20 ON VIOLATION ERROR"
    assert stopped.value.message == said


@pytest.mark.parametrize("block", range(3))
def test_nothing_is_lost_silently(block: int) -> None:
    """Random joins whose k is found much too soon: who loses results says so."""
    for seed in seeds(10, start=block * 200):
        found = purging_case(5000 + seed)
        script = found.case.script
        for k in range(5):
            script = script.replace(f"WITHIN {k} ROWS", "INFERRED (w 2, c 1)")
        if script == found.case.script or "ISTREAM" in script or "[" in script or "COUNT" in script:
            continue
        bound = bind_text(script).checked()
        query, catalog = bound.queries[0], bound.catalog
        engine = EmbeddedEngine(query, catalog)
        log = Log()
        for name, rows in batches(found.case, engine, catalog, Random(seed)):
            engine.push(name, rows)
            log += logged(engine.advance(), query)
        log += logged(engine.finish(), query)
        want = expected(found.case, found.query, found.catalog)
        assert not log - want, seed
        if want - log:
            assert sum(each.false_negatives for each in engine.totals().constraints) > 0, (seed, script, want - log)
