"""No: values of rows that a filter left out are remembered where that takes less than rows that wait (thesis 6.10)."""

from __future__ import annotations

from random import Random

import pytest

from penstock.retention.no_components import NoComponents
from tests.engines.comparing import Log, bound, embedded, expected
from tests.generators import Case
from tests.purging.varying import Data, Run, run

#: A tenth of t passes the filter.
QUERY = "SELECT s.a FROM s, t WHERE s.a = t.a AND t.a % 10 = 0 ALLOW UNBOUNDED"


def ddl(k: int) -> str:
    return f"""
    CREATE STREAM s (
      a BIGINT, ts BIGINT, CLUSTERED BY a WITHIN 20 ROWS, FOREIGN KEY (a) REFERENCES t (a) WITHIN {k} ROWS
    ) TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, ts BIGINT, UNIQUE (a)) TIMESTAMP BY ts;
    """


def followed(count: int, seed: int = 0) -> Data:
    """Rows of t, and two rows of s soon after each."""
    random = Random(seed)
    parents = sorted((10_000 * n + random.randint(1, 50_000), n) for n in range(count) for _ in range(2))
    return {"t": [(n, 10_000 * n) for n in range(count)], "s": [(n, ts) for ts, n in parents]}


def results(data: Data) -> Log:
    return Log((ts, "+", n) for n, ts in data["s"] if n % 10 == 0)


def average(done: Run) -> float:
    late = done.state_rows[len(done.state_rows) // 2 :]
    return sum(late) / len(late)


def chosen(done: Run) -> bool:
    (used,) = [each.used for each in done.steps[-1][1] if each.constraint == "t: No of (a)"]
    return used


@pytest.mark.parametrize(("k", "is_kept"), [(3, False), (2000, True)])
def test_what_is_smaller_is_chosen(k: int, is_kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.retention.evidence_purge.FEW", 64)
    monkeypatch.setattr("penstock.retention.no_components.FEW_KEYS", 64)
    monkeypatch.setattr("penstock.synopsis.firsts.FEW", 64)
    data = followed(4000)
    done = run(ddl(k), QUERY, data, 200_000)
    assert done.log == results(data)
    assert chosen(done) is is_kept
    sizes = {}
    for keeps in (False, True):
        monkeypatch.setattr(NoComponents, "_keeps", lambda self, number, keeps=keeps: keeps)
        other = run(ddl(k), QUERY, data, 200_000)
        assert other.log == results(data)
        sizes[keeps] = average(other)
    assert sizes[is_kept] < sizes[not is_kept]
    assert average(done) < 1.1 * sizes[is_kept]


@pytest.mark.parametrize("seed", range(12))
def test_the_answer_is_the_reference_s(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.retention.no_components.PANE", 1 + seed % 3)
    monkeypatch.setattr("penstock.retention.evidence_purge.FEW", 2)
    random = Random(seed)
    k = random.choice((0, 2, 50))
    data = {
        "t": [(n, 10 * n) for n in range(30)],
        "s": sorted(((n, 10 * n + random.randint(1, 35)) for n in range(30) for _ in range(2)), key=lambda row: row[1]),
    }
    case = Case(ddl(k), QUERY.replace("% 10", "% 3"), data, None, "")
    query, catalog = bound(case)
    for cells, cuts in ((1, 0), (1, random), (3, random)):
        assert embedded(case, query, catalog, cells, cuts) == expected(case, query, catalog)
