"""What is purged is not missed: with data that keeps its declarations, the answer is the reference's."""

from __future__ import annotations

from random import Random

import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.operators import machine
from penstock.retention import evidence_purge
from penstock.synopsis import recent
from tests.engines.comparing import Log, batch, bound, embedded, expected, logged
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.purging.cases import COUNTED, SLIDING, purging_case
from tests.purging.stepping import steps
from tests.seeds import seeds


@pytest.mark.parametrize("block", range(4))
def test_the_answer_is_the_reference_s(block: int) -> None:
    for seed in seeds(20, start=block * 400):
        found = purging_case(seed)
        want = expected(found.case, found.query, found.catalog)
        for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
            assert embedded(found.case, found.query, found.catalog, cells, cuts) == want, (seed, found.case.script)


@pytest.mark.parametrize("seed", seeds(30))
def test_the_answer_is_the_reference_s_where_windows_count_or_slide(seed: int) -> None:
    found = purging_case(6000 + seed, windows=(*COUNTED, *SLIDING))
    want = expected(found.case, found.query, found.catalog)
    for cells, cuts in ((1, 0), (1, Random(seed)), (2, Random(seed + 1))):
        assert embedded(found.case, found.query, found.catalog, cells, cuts) == want, (seed, found.case.script)
    assert restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed)) == want


@pytest.mark.parametrize("seed", seeds(15))
def test_a_purge_goes_on_from_its_pages(seed: int) -> None:
    found = purging_case(1000 + seed)
    got = restarted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed))
    assert got == expected(found.case, found.query, found.catalog)


@pytest.mark.parametrize("seed", seeds(10))
def test_spark_s_tasks_and_retries_do_not_matter(seed: int) -> None:
    found = purging_case(2000 + seed)
    got = pretended(found.case, found.query, found.catalog, 1 + seed % 3, Random(seed))
    assert got == expected(found.case, found.query, found.catalog)


@pytest.mark.parametrize("seed", seeds(15))
def test_slices_of_a_step_do_not_matter(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SLICE", 4)
    found = purging_case(3000 + seed)
    got = embedded(found.case, found.query, found.catalog, 1, 0)
    assert got == expected(found.case, found.query, found.catalog)


#: Five clusters come in a step, and are looked through when there are more than eight. Besides, the monitor remembers
#: at most sixteen.
CLUSTERS, MONITORED = 8 + 5, 16


@pytest.mark.parametrize(
    ("then", "limit"), [("", CLUSTERS + MONITORED), (" ON VIOLATION IGNORE", CLUSTERS)], ids=["monitored", "believed"]
)
def test_clusters_that_are_done_are_forgotten(then: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value of t comes twice in a row, and its row of s before it; s waits for nothing else."""
    monkeypatch.setattr(evidence_purge, "FEW", 8)
    monkeypatch.setattr(recent, "ROOM", MONITORED)
    ddl = f"""
    CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, ts BIGINT, CLUSTERED BY a WITHIN 3 ROWS{then}) TIMESTAMP BY ts;
    """
    data = {
        "s": [(n, 10 * n) for n in range(300)],
        "t": [(n, 10 * n + more) for n in range(300) for more in (1, 2)],
    }
    case = Case(ddl, "SELECT s.a FROM s, t WHERE s.a = t.a ALLOW UNBOUNDED", data, None, "")
    query, catalog = bound(case)
    engine = EmbeddedEngine(query, catalog)
    most, log = 0, Log()
    for out in steps(engine, catalog, data, 50):
        log += logged(out, query)
        most = max(most, sum(line.state_rows for line in engine.metrics() if line.operator.startswith("join")))
    log += logged(engine.finish(), query)
    assert log == Log((10 * n + more, "+", n) for n in range(300) for more in (1, 2))
    assert most <= limit


def test_a_cluster_stays_open_for_just_k_other_rows() -> None:
    """The value 1 of t comes again after two others, as WITHIN 2 ROWS allows, and its row of s is still there."""
    ddl = """
    CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, ts BIGINT, CLUSTERED BY a WITHIN 2 ROWS) TIMESTAMP BY ts;
    """
    data = {"s": [(1, 1), (9, 50)], "t": [(1, 10), (2, 20), (3, 30), (1, 40), (4, 50), (5, 60)]}
    case = Case(ddl, "SELECT s.a FROM s, t WHERE s.a = t.a ALLOW UNBOUNDED", data, None, "")
    query, catalog = bound(case)
    engine = EmbeddedEngine(query, catalog)
    log = Log()
    for until in range(10, 71, 10):
        for stream in catalog.streams:
            rows = [row for row in data[stream.name] if until - 10 < row[-1] <= until] or [(0, until)]
            engine.push(stream.name, batch(stream, rows))
        log += logged(engine.advance(), query)
    assert log[10, "+", 1] == log[40, "+", 1] == 1
