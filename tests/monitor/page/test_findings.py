"""Findings name the cause of a lag, and all that was lost."""

from __future__ import annotations

from typing import Any

from penstock.monitor.page.findings import findings
from penstock.monitor.page.history import PROPERTIES, Frame
from tests.monitor.page.conftest import watched

NODES: dict[str, dict[str, Any]] = {
    "source/a": {"title": "a", "kind": "source"},
    "source/b": {"title": "b", "kind": "source"},
    "q/0/scan1": {
        "title": "a",
        "name": "scan1",
        "kind": "scan",
        "query": "q",
        "stream": "a",
        "bounds": [{"size": 100, "words": "100 rows of a"}],
    },
    "q/0/join0": {"title": "join", "name": "join0", "kind": "join", "bounds": []},
}


def frame(at: float = 1.0, **values: dict[str, float]) -> Frame:
    named = {name.replace("_", "/") if name.startswith(("source", "q")) else name: own for name, own in values.items()}
    of = {entity: [float(own.get(name, 0)) for name in PROPERTIES] for entity, own in named.items()}
    return Frame(at, 1.0, 1, {"q": 0}, of)


def test_the_slowest_operator_is_the_cause_and_not_those_behind_it() -> None:
    found = findings([frame(q_0_join0={"nanoseconds": 900, "rows_in": 3}, q_0_scan1={"nanoseconds": 100})], NODES, {})
    assert [(each.entity, each.what) for each in found] == [("q/0/join0", "join0 takes 90% of the time")]


def test_the_stream_that_holds_others_back_is_named() -> None:
    (found,) = findings([frame(q_0_scan1={"in_flight_rows": 5000})], NODES, {"a": 9_000_000, "b": 2_000_000})
    assert (found.level, found.entity, found.what) == ("warning", "source/b", "b is 7.0 s behind")
    assert findings([frame(q_0_scan1={"in_flight_rows": 5000})], NODES, {"a": 1_000_000, "b": 2_000_000}) == []


def test_rows_that_are_lost_are_said_with_the_reason(document: dict[str, Any]) -> None:
    found = {each["entity"]: each for each in document["findings"] if each["level"] == "loss"}
    assert found["source/bid"]["what"] == "40 rows of bid were late, and dropped"


def test_state_that_only_grows_is_named_and_bounded_state_is_not() -> None:
    frames = [frame(float(n), q_0_join0={"state_rows": 1000 * n}, q_0_scan1={"state_rows": 100}) for n in range(20)]
    assert [each.entity for each in findings(frames, NODES, {})] == ["q/0/join0"]


def test_uneven_cells_are_named() -> None:
    found = findings([frame(q_0_join0={"rows_in": 9000, "skew": 3.2})], NODES, {})
    assert [each.what for each in found] == ["the busiest cell of join0 gets 3.2 times the mean"]


def test_a_run_without_faults_has_no_warning() -> None:
    data = {"bid": watched_rows()}
    recorder = watched(
        "CREATE STREAM bid (a BIGINT, ts BIGINT) TIMESTAMP BY ts; CREATE QUERY q AS SELECT ISTREAM(a) FROM bid [NOW]",
        data,
    ).finish()
    assert [each for each in recorder.document()["findings"] if each["level"] != "note"] == []


def watched_rows() -> Any:
    import pyarrow as pa

    return pa.table({"a": list(range(100)), "ts": list(range(100))})
