"""`penstock run --ui` and `--report`, and `penstock ui`."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.monitor.page import report
from tests.cli.conftest import Penstock

STATEMENTS = """
CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts USING csv OPTIONS (path 's.csv');
CREATE QUERY q AS SELECT a, COUNT(*) AS n FROM s [ROWS 3] GROUP BY a;
"""
RUN = ("run", "q.sql", "--engine", "embedded", "--until-done", "--out", "out.csv", "--overwrite")


@pytest.fixture
def files(penstock: Penstock) -> Penstock:
    penstock.file("q.sql", STATEMENTS)
    penstock.file("s.csv", "".join(f"{n % 3},{n}\n" for n in range(20)))
    return penstock


def held(path: str) -> Any:
    found = re.search(r'id="document">(.*?)</script>', Path(path).read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_a_run_shows_its_page_and_writes_a_report(files: Penstock) -> None:
    done = files(*RUN, "--ui", "--report", "out.html")
    assert done.code == 0
    assert re.match(r"page: http://127\.0\.0\.1:\d+/[\w-]{20,}/\n", done.err)
    document = held("out.html")
    assert document["title"] == "q.sql"
    assert not document["live"]
    place = document["properties"].index("rows_in")
    assert sum(frame["values"]["source/s"][place] for frame in document["frames"]) == 20


def test_what_a_run_gives_does_not_depend_on_who_looks(files: Penstock) -> None:
    files(*RUN)
    alone = Path("out.csv").read_text()
    files(*RUN, "--ui", "--report", "out.html", "--metrics", "m.jsonl")
    assert Path("out.csv").read_text() == alone


def test_metrics_can_be_replayed(files: Penstock) -> None:
    files(*RUN, "--metrics", "m.jsonl")
    assert files("ui", "m.jsonl", "--report", "again.html").code == 0
    document = held("again.html")
    assert [query["name"] for query in document["queries"]] == ["q"]
    assert files("ui", "m.jsonl", "--report", "again.html").err.startswith("again.html: it exists already")


def test_metrics_that_go_nowhere_have_no_plan_beside_them(files: Penstock) -> None:
    assert files(*RUN, "--metrics", "/dev/null").code == 0
    assert not Path("/dev/null.plan.json").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--ui=x", "x is not a port"),
        ("--ui=99999", "99999 is not a port"),
        ("--ui=example.org:80", "example.org is not an address of this machine"),
    ],
)
def test_a_place_that_is_none_is_refused(files: Penstock, given: str, said: str) -> None:
    done = files(*RUN, given)
    assert (done.code, done.err.splitlines()[0]) == (2, said)


def test_a_report_that_exists_is_not_written_over(files: Penstock) -> None:
    files.file("out.html", "mine")
    done = files(*RUN[:-1], "--report", "out.html")
    assert (done.code, done.err.splitlines()[0]) == (2, "out.html: it exists already")
    assert Path("out.html").read_text() == "mine"


def test_without_the_extra_it_is_said_how_to_get_it(files: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.monitor.page.address.find_spec", lambda name: None)
    done = files(*RUN, "--ui")
    assert done.code == 2
    assert done.err == "the page needs starlette and uvicorn\nhint: install them with: pip install 'penstock[ui]'\n"
    assert files(*RUN, "--report", "out.html").code == 0


def test_nothing_is_recorded_where_nobody_looks(files: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a step was recorded")

    monkeypatch.setattr("penstock.monitor.page.recorder.Recorder.take", refuse)
    assert files(*RUN).code == 0
    assert files(*RUN, "--metrics", "m.jsonl").code == 0


def test_a_report_that_does_not_fit_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(PenstockError, match="No space left on device"):
        report._write(str(tmp_path / "out.html"), "text", overwrite=False)
    assert not list(tmp_path.iterdir())


def test_metrics_that_are_not_there_are_named(files: Penstock) -> None:
    assert files("ui", "nothing.jsonl").err.startswith("nothing.jsonl: No such file or directory")
