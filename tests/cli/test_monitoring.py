"""`penstock run --watch`, `penstock ctl` and `penstock top`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.monitor.bounds import live_bounds
from penstock.monitor.control import Controls
from penstock.monitor.live import Live
from penstock.monitor.requests import answered
from penstock.monitor.run_socket import RunSocket
from penstock.register import check_query
from penstock.sql import bind_text
from tests.cli.conftest import Penstock
from tests.engines.comparing import batch

DDL = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS USING csv OPTIONS (path 's.csv');"
QUERY = "CREATE QUERY q AS SELECT a, COUNT(*) AS n FROM s [ROWS 5] GROUP BY a;"
RUN = ("run", "q.sql", "--engine", "embedded", "--until-done")


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("r")))


@pytest.fixture
def folder(penstock: Penstock) -> Path:
    penstock.file("q.sql", DDL + QUERY)
    penstock.file("s.csv", "".join(f"{n % 3},{n}\n" for n in range(100)))
    return penstock.folder


def test_a_watch_prints_what_the_run_does(penstock: Penstock, folder: Path) -> None:
    watch = "SELECT property, SUM(value) AS total FROM sysstream [RANGE 1 HOUR] WHERE kind = 'source' GROUP BY property"
    done = penstock(*RUN, "--out", "out.csv", "--watch", watch, "--watch", "SELECT * FROM sys.state")
    assert (done.code, done.err.splitlines()[-1].partition(",")[0]) == (0, "100 rows in")
    rows = [line.split(",", 1)[1] for line in done.out.splitlines() if "," in line]
    assert "+,rows_in,100.0" in rows
    assert any(row.startswith("+,q,0.scan") and row.endswith("5.0,5 rows of s") for row in rows)
    assert "# watch1" in done.out
    assert "# watch2" in done.out


def test_a_query_of_the_file_watches_the_others(penstock: Penstock, folder: Path) -> None:
    watch = "CREATE QUERY w AS SELECT ISTREAM(entity, value) FROM sysstream [NOW] WHERE property = 'rows_in';"
    penstock.file("q.sql", DDL + QUERY + watch)
    assert penstock(*RUN, "--out", "{query}.json").code == 0
    rows = [json.loads(line) for line in (folder / "w.json").read_text().splitlines()]
    assert sum(row["value"] for row in rows if row["entity"] == "s") == 100
    assert not any(row["entity"] == "w" for row in rows)
    alone = penstock(*RUN, "--query", "w")
    assert (alone.code, "which other queries of the same run fill" in alone.err) == (2, True)


@pytest.mark.parametrize(
    ("watch", "said"),
    [
        ("SELECT a FROM s [NOW]", "--watch reads no sysstream"),
        ("SELECT * FROM sysstream [NOW]; SELECT 1 FROM sysstream [NOW]", "of several queries each needs a name"),
        ("SELECT * FROM sys.nothing", "there is no system view sys.nothing"),
        ("SELECT entity FROM sysstream GROUP BY entity", "not safe"),
        ("SELECT s.a FROM s [NOW], sysstream [NOW] x WHERE x.value = s.a", "whose times are those of the wall clock"),
    ],
)
def test_a_watch_that_cannot_be_is_refused(penstock: Penstock, folder: Path, watch: str, said: str) -> None:
    done = penstock(*RUN, "--watch", watch)
    assert (done.code, said in done.err) == (2, True), done.err


@pytest.fixture
def engine() -> Iterator[EmbeddedEngine]:
    """A query that runs in this process, and listens."""
    script = bind_text(DDL + QUERY).checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog)
    live = Live({"q": live_bounds(check_query(script.queries[0], script.catalog), engine.plan)})
    controls = Controls([engine])
    listener = RunSocket("orders", partial(answered, "orders", controls, live))
    engine.push("s", batch(engine.streams["s"].definition, [(n % 3, n) for n in range(100)]))
    engine.advance()
    live.take(engine.metrics())
    yield engine
    controls.apply()
    listener.close()


def test_ctl_lists_shows_and_sets(penstock: Penstock, engine: EmbeddedEngine) -> None:
    (name,) = penstock("ctl").out.split()
    assert name.startswith("orders-")
    assert penstock("ctl", "--json").json == {"runs": [name]}
    assert "purge_every" in penstock("ctl", "orders", "show").out
    done = penstock("ctl", "ord", "set", "purge_every", "5000")
    assert (done.code, done.out) == (0, "purge_every will be 5000 from the next step on, until this run ends\n")
    shown = {each["name"]: each["value"] for each in penstock("ctl", name, "show", "--json").json}
    assert shown["purge_every"] == "5000"
    for arguments, said in (
        (("orders", "set", "purge_evry", "1"), "did you mean purge_every"),
        (("orders", "set", "purge_every"), "set needs a property and a value"),
        (("orders", "set", "adaptive", "some"), "choose one of off, orders, full"),
        (("bids", "show"), "there is no run bids"),
    ):
        done = penstock("ctl", *arguments)
        assert (done.code, said in done.err) == (2, True), done.err


def test_top_prints_a_picture(penstock: Penstock, engine: EmbeddedEngine) -> None:
    lines = penstock("top", "--once").out.splitlines()
    assert lines[0].startswith("orders  process ")
    assert lines[1].startswith("  q  step 1  100 rows")
    assert any("of s" in line and "5 rows" in line and line.endswith("at most 5 rows of s") for line in lines)
    assert penstock("top", "orders").out.splitlines()[0] == lines[0]
    assert penstock("top", "bids").code == 2


def test_nothing_runs(penstock: Penstock) -> None:
    assert penstock("ctl").out == penstock("top").out == "nothing runs\n"
