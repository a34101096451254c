"""Graphs that are any query over sysstream: the run steps them within limits, and refuses what is not such a query."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from penstock import PenstockError
from penstock.monitor.page import query_graphs
from penstock.monitor.page.query_graphs import MOST_GRAPHS, MOST_LINES, MOST_POINTS, QueryGraphs
from tests.monitor.page.conftest import watched

BY_STREAM = """SELECT entity, SUM(value) AS n FROM sysstream [RANGE 1 HOUR]
WHERE kind = 'source' AND property = 'rows_in' GROUP BY entity"""
TABLE = "CREATE TABLE t (a BIGINT) USING csv OPTIONS (path '/etc/passwd');"


def graphs_of(*texts: str) -> list[dict[str, Any]]:
    """What queries said of the small run."""
    run = watched()
    ticks = count(1_000_000_000, 300_000)
    run.recorder.graphs = QueryGraphs(clock=lambda: next(ticks))
    for text in texts:
        run.recorder.graphs.add(text)
    found: list[dict[str, Any]] = run.finish().document()["graphs"]
    return found


def test_any_query_over_sysstream_is_a_line_for_each_name() -> None:
    (graph,) = graphs_of(BY_STREAM + ";")
    assert (graph["text"], graph["drawn"], graph["message"]) == (BY_STREAM, "n", None)
    last = {line["name"]: line["points"][-1][1] for line in graph["lines"]}
    # Both queries read bid, and each reports it.
    assert last == {"bid": 8000, "item": 400}
    for line in graph["lines"]:
        times = [at for at, _ in line["points"]]
        assert times == sorted(times)


def test_views_and_streams_of_rows_are_drawn_too() -> None:
    of_view, of_stream = graphs_of(
        "SELECT query, entity, state_rows FROM sys.state WHERE cell = 0",
        "SELECT ISTREAM(value) FROM sysstream [NOW] WHERE kind = 'query' AND property = 'rows_in' AND query = 'dear'",
    )
    assert any(line["name"].startswith("dear 0.") for line in of_view["lines"])
    assert sum(value for _, value in of_stream["lines"][0]["points"]) == 4400


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT a FROM s [NOW]", "s"),
        ("SELECT entity, COUNT(*) AS n FROM sysstream GROUP BY entity", "window"),
        ("SELECT entity, COUNT(*) AS n FROM sysstream GROUP BY entity ALLOW UNBOUNDED", "window"),
        ("SELECT entity FROM sysstream [NOW]", "no column that is a number"),
        ("SELECT value FROM sysstream [NOW]; SELECT value FROM sysstream [ROWS 1]", "name"),
        (f"{TABLE} SELECT t.a FROM t, sysstream [NOW]", "one query"),
        ("CREATE STREAM s (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts; SELECT a FROM s [NOW]", "one query"),
        ("DROP", ""),
        ("SELECT value FROM sysstream [NOW] WHERE text = '" + "x" * 4000 + "'", "too long"),
    ],
)
def test_what_is_no_such_query_is_refused(text: str, said: str) -> None:
    with pytest.raises(PenstockError) as refused:
        QueryGraphs().add(text)
    assert said in f"{refused.value}"


def test_there_are_only_so_many_and_one_can_be_removed() -> None:
    graphs = QueryGraphs()
    texts = [f"SELECT value FROM sysstream [ROWS {n + 1}]" for n in range(MOST_GRAPHS)]
    for text in (*texts, *texts):
        graphs.add(text)
    with pytest.raises(PenstockError, match="are drawn already"):
        graphs.add(BY_STREAM)
    graphs.remove(texts[0])
    graphs.add(BY_STREAM)
    assert [each["text"] for each in graphs.as_json()] == [*texts[1:], BY_STREAM]


def test_lines_and_points_are_limited_and_the_page_says_so() -> None:
    (graph,) = graphs_of("SELECT query, entity, kind, property, value FROM sysstream [NOW]")
    assert len(graph["lines"]) == MOST_LINES
    assert graph["message"] == f"only the first {MOST_LINES} lines are drawn"
    assert all(len(line["points"]) <= MOST_POINTS for line in graph["lines"])


def test_a_query_that_is_slow_or_large_is_stopped_and_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_graphs, "MOST_SECONDS", -1.0)
    (slow,) = graphs_of(BY_STREAM)
    assert slow["message"].startswith("stopped: a step of it took more than")
    monkeypatch.setattr(query_graphs, "MOST_SECONDS", 60.0)
    monkeypatch.setattr(query_graphs, "MOST_BYTES", 0)
    (large,) = graphs_of(BY_STREAM)
    assert large["message"].startswith("stopped: it kept more than")
