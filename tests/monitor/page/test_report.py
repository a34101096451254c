"""A report is one file that asks nobody for anything; a replay shows what the page showed while the query ran."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.monitor.page.assets import MODULES, SCRIPTS, STYLES, asset
from penstock.monitor.page.plan_document import plan_path
from penstock.monitor.page.recorder import Recorder
from penstock.monitor.page.report import recorded, write_plan, write_report
from tests.monitor.page.conftest import watched

STATIC = files("penstock.monitor.page") / "static"


def test_a_report_holds_its_document_and_links_nothing(tmp_path: Path, recorder: Recorder) -> None:
    path = tmp_path / "out.html"
    write_report(recorder, str(path))
    page = path.read_text()
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", page)
    assert "Content-Security-Policy" in page
    assert "connect-src 'none'" in page
    held = re.search(r'<script type="application/json" id="document">(.*?)</script>', page, re.DOTALL)
    assert held is not None
    assert json.loads(held[1])["frames"] == recorder.document()["frames"]
    with pytest.raises(PenstockError, match="exists already"):
        write_report(recorder, str(path))
    with pytest.raises(PenstockError, match="it is a folder"):
        write_report(recorder, str(tmp_path))


def test_a_text_that_ends_a_script_element_does_not_end_this_one(tmp_path: Path) -> None:
    statements = """
    CREATE STREAM bid (auction BIGINT, price BIGINT, ts BIGINT) TIMESTAMP BY ts;
    -- </script><script>alert(1)</script>
    CREATE QUERY q AS SELECT ISTREAM(auction) FROM bid [NOW];
    """
    write_report(watched(statements).finish(), str(tmp_path / "out.html"))
    page = (tmp_path / "out.html").read_text()
    assert "<script>alert" not in page
    assert page.count("</script>") == 4


def test_a_replay_shows_what_the_run_showed(tmp_path: Path) -> None:
    run, path = watched(), str(tmp_path / "m.jsonl")
    with Path(path).open("w") as file:
        for result in run.running.results():
            assert result is not None
            if result.ends_step:
                lines = result.engine.metrics()
                run.recorder.take(lines)
                file.writelines(json.dumps(line.as_json()) + "\n" for line in lines)
    run.recorder.end()
    write_plan(run.recorder.plan, path)
    live = json.loads(json.dumps(run.recorder.document()))
    again = json.loads(json.dumps(recorded(path).document()))
    for name in ("nodes", "edges", "queries", "texts", "newest", "cells", "now"):
        assert again[name] == live[name], name
    assert totals(again) == totals(live)
    assert not again["live"]


def totals(document: dict[str, Any]) -> dict[str, float]:
    place = document["properties"].index("rows_in")
    found: dict[str, float] = {}
    for frame in document["frames"]:
        for entity, values in frame["values"].items():
            found[entity] = found.get(entity, 0) + values[place]
    return found


def test_what_is_not_a_file_of_metrics_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "m.jsonl")
    with pytest.raises(PenstockError, match="No such file"):
        recorded(path)
    Path(path).write_text("{}\n")
    with pytest.raises(PenstockError, match="move both together") as found:
        recorded(path)
    assert found.value.hint is not None
    Path(plan_path(path)).write_text("[]")
    with pytest.raises(PenstockError, match="is not a plan of this version"):
        recorded(path)
    Path(plan_path(path)).write_text('{"schema": 1, "nodes": []}')
    with pytest.raises(PenstockError, match="is not a file of metrics"):
        recorded(path)
    Path(path).write_text("")
    with pytest.raises(PenstockError, match="has no metrics"):
        recorded(path)


def test_the_page_is_below_a_hundred_kilobytes() -> None:
    texts = [asset(name) for name in (*MODULES, *SCRIPTS, *STYLES, "index.html")]
    assert sum(len(gzip.compress((text or "").encode(), 9)) for text in texts) < 100_000


def test_the_libraries_of_others_are_as_they_were_published() -> None:
    sums = (STATIC / "vendor" / "SHA256SUMS").read_text().splitlines()
    assert len(sums) == 5
    for line in sums:
        checksum, name = line.split()
        assert hashlib.sha256((STATIC / "vendor" / name).read_bytes()).hexdigest() == checksum


def test_no_file_of_the_page_is_left_out_or_fetches_from_elsewhere() -> None:
    own = {path.name for path in STATIC.iterdir() if path.is_file()}
    assert own == {name for name in (*MODULES, *SCRIPTS, *STYLES, "index.html") if "/" not in name}
    for name in (*own, "vendor/dagre.esm.js", "vendor/uPlot.iife.min.js"):
        text = (asset(name) or "").replace("http://www.w3.org/", "")
        assert not re.search(r"https?://(?!github\.com/leeoniya)", text), name
        assert not re.search(r"\beval\(|new Function|innerHTML|document\.write", text) or name.startswith("vendor/")
