"""Joins on the page: probes along the paths that they have now, and their caches with what these save and cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.engines.metrics import OperatorMetrics
from penstock.monitor.page.history import PROPERTIES
from penstock.monitor.page.recorder import Recorder
from penstock.monitor.prometheus import exposition
from penstock.monitor.sysstream import properties
from penstock.plan.decisions import JoinDecision
from penstock.plan.waiting_report import WaitingReport

PLACE = "fragment 0 cell 0 join1"
CACHE = {"path": "t", "caches": ["r", "s"]}
USED: dict[str, Any] = {
    "place": PLACE,
    "number": 0,
    "at": 900,
    "verdict": "used",
    "used": [CACHE],
    "estimates": [{**CACHE, "miss": 0.25, "saves": 0.5, "costs": 0.125}],
}
LINE = OperatorMetrics(
    *(1, 7, "q", "join1", 0, None, 0, 10, 4),
    probes=((5, 3), (2, 1)),
    matches=((3, 3), (1, 0)),
    cache_lookups=100,
    cache_hits=75,
    cache_bytes=4096,
)


def decided(number: int, *paths: tuple[str, ...]) -> JoinDecision:
    return JoinDecision(PLACE, number, 10, "start", paths, ((), ()), 64, 100, 2.0, 3.0, 2.5)


def recorded(*lines: OperatorMetrics) -> dict[str, Any]:
    recorder = Recorder({"nodes": [{"id": "q/0/join1", "kind": "join", "query": "q", "name": "join1"}]}, seconds=0.0)
    for line in lines:
        recorder.take([line])
    recorder.end()
    return recorder.document()


def test_probes_add_up_along_the_paths_of_now_and_begin_anew_with_others() -> None:
    first = replace(LINE, decisions=(decided(0, ("r", "s"), ("s", "r")),))
    again = replace(LINE, step=2)
    now = recorded(first, again)["now"]["q/0/join1"]
    assert (now["probes"], now["matches"]) == ([[10, 6], [4, 2]], [[6, 6], [2, 0]])
    other = replace(LINE, step=3, decisions=(decided(1, ("r", "t"), ("s", "r")),))
    assert recorded(first, again, other)["now"]["q/0/join1"]["probes"] == [[5, 3], [2, 1]]
    same = replace(LINE, step=3, decisions=(decided(0, ("r", "s"), ("s", "r")),))
    assert recorded(first, again, same)["now"]["q/0/join1"]["probes"] == [[15, 9], [6, 3]]


def test_decisions_on_caches_and_on_paths_of_one_join_are_both_in_the_timeline() -> None:
    line = replace(LINE, decisions=(decided(0, ("r", "s"), ("s", "r")),), cache_decisions=(USED,))
    found = recorded(line)["decisions"]
    assert [("paths" in each, each.get("verdict"), each["entity"]) for each in found] == [
        (True, None, "q/0/join1"),
        (False, "used", "q/0/join1"),
    ]
    assert found[1]["estimates"] == USED["estimates"]


def test_the_use_of_caches_can_be_drawn() -> None:
    values = recorded(LINE)["frames"][0]["values"]["q/0/join1"]
    found = {name: values[PROPERTIES.index(name)] for name in ("cache_lookups", "cache_hits", "cache_bytes")}
    assert found == {"cache_lookups": 100, "cache_hits": 75, "cache_bytes": 4096}


def test_caches_are_entities_of_sysstream_and_families_of_prometheus() -> None:
    line = replace(LINE, cache_decisions=(USED,))
    rows = [row for row in properties([line], 0) if row.kind == "cache"]
    assert [(row.entity, row.property, row.value) for row in rows] == [
        ("0.join1", "lookups", 100),
        ("0.join1", "hits", 75),
        ("0.join1", "bytes", 4096),
        (PLACE, "decision", 0),
    ]
    assert rows[-1].text == "used after 900 rows: r with s for rows of t"
    assert 'penstock_cache_hits_total{query="q",operator="join1",fragment="0",cell="0"} 75' in exposition([line])


def test_pending_rows_of_all_cells_are_shown_by_what_they_wait_for() -> None:
    until = "punctuation (auction) of b"
    first = replace(
        LINE, state_rows=14, waiting=(WaitingReport("i", until, 5), WaitingReport("b", "the row (id) of i", 9))
    )
    second = replace(LINE, cell=1, waiting=(WaitingReport("i", until, 6),))
    assert recorded(first, second)["now"]["q/0/join1"]["waiting"] == [
        {"input": "i", "waits_for": until, "rows": 11},
        {"input": "b", "waits_for": "the row (id) of i", "rows": 9},
    ]
    rows = [row for row in properties([first], 0) if row.property == "waiting_rows"]
    assert [(row.entity, row.kind, row.value, row.text) for row in rows] == [
        ("0.join1", "synopsis", 5, f"i: {until}"),
        ("0.join1", "synopsis", 9, "b: the row (id) of i"),
    ]
    sample = 'penstock_waiting_rows{query="q",input="i",waits_for="punctuation (auction) of b",operator="join1"'
    assert f'{sample},fragment="0",cell="0"}} 5' in exposition([first])
