"""A history holds a whole run in a bounded number of frames, and loses no row when they become coarser."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.monitor.page.history import PROPERTIES, History
from penstock.monitor.page.recorder import Recorder

ROWS, KEPT, SKEW = (PROPERTIES.index(name) for name in ("rows_in", "state_rows", "skew"))


def line(step: int, rows: int, kept: int, cell: int = 0, operator: str = "scan0", query: str = "q") -> dict[str, Any]:
    where: dict[str, Any] = {"query": query, "operator": operator, "fragment": 0, "stream": "s", "cell": cell}
    if operator == "source":
        where |= {"fragment": None, "cell": None}
    return {**where, "step": step, "watermark": step, "rows_in": rows, "state_rows": kept}


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000), st.floats(0, 3)), min_size=1, max_size=200))
def test_frames_are_few_add_up_and_keep_the_last_level(steps: list[tuple[int, int, float]]) -> None:
    history = History(0.0, seconds=0.5, most=8)
    now = 0.0
    for number, (rows, kept, pause) in enumerate(steps):
        now += pause
        history.add([line(number, rows, kept)], now)
    history.close(now)
    assert len(history.frames) <= 8
    assert sum(frame.values["q/0/scan0"][ROWS] for frame in history.frames) == sum(rows for rows, _, _ in steps)
    assert history.frames[-1].values["q/0/scan0"][KEPT] == steps[-1][1]
    assert abs(sum(frame.seconds for frame in history.frames) - now) < 1e-6
    assert [frame.at for frame in history.frames] == sorted(frame.at for frame in history.frames)


def test_a_stream_that_two_queries_read_counts_once() -> None:
    history = History(0.0)
    history.add([line(1, 10, 0, operator="source", query=query) for query in ("a", "b")], 1.0)
    assert history.frames[0].values["source/s"][ROWS] == 10


def test_cells_are_summed_and_compared() -> None:
    history = History(0.0)
    history.add([line(1, 300, 3, cell=0), line(1, 100, 4, cell=1)], 1.0)
    assert history.frames[0].values["q/0/scan0"][KEPT] == 7
    assert history.frames[0].values["q/0/scan0"][SKEW] == 1.5
    history.add([line(2, 5, 2, cell=0)], 2.0)
    assert history.frames[1].values["q/0/scan0"][KEPT] == 6  # the other cell keeps what it had
    assert history.cells() == {"q/0/scan0": [[0, 305, 2], [1, 100, 4]]}


def test_a_reader_of_older_frames_is_told_to_read_all_anew() -> None:
    history = History(0.0, seconds=0.1, most=4)
    for step in range(1, 4):
        history.add([line(step, 1, 1)], float(step))
    assert history.epoch == 0
    history.add([line(4, 1, 1)], 4.0)
    assert (history.epoch, len(history.frames)) == (1, 2)


def test_each_query_is_heard_in_each_frame_and_no_step_more() -> None:
    plan = {
        "nodes": [{"id": "a/0/scan0", "kind": "scan", "query": "a"}, {"id": "b/0/scan0", "kind": "scan", "query": "b"}]
    }
    recorder = Recorder(plan, seconds=1000.0)
    heard = []
    for step in range(1, 5):
        for query in ("a", "b"):
            if recorder.is_due:
                heard.append((step, query))
                recorder.take([line(step, 1, 1, query=query)])
    assert heard == [(1, "a"), (1, "b")]


def test_a_frame_with_few_rows_says_what_is_known_of_cells() -> None:
    """At the end of a run there are few rows, and its cells are as uneven as they were."""
    history = History(0.0, seconds=1.0)
    made = {"query": "q", "fragment": 0, "operator": "join1", "step": 1, "watermark": 0, "state_rows": 0}
    history.add([{**made, "cell": 0, "rows_in": 300}, {**made, "cell": 1, "rows_in": 100}], 1.0)
    history.add([{**made, "cell": 0, "rows_in": 1}, {**made, "cell": 1, "rows_in": 1}], 2.0)
    assert [frame.values["q/0/join1"][SKEW] for frame in history.frames] == [1.5, 1.5]
