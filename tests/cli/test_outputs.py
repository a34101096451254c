"""What `penstock run` refuses to write to: what exists, what is read, and what cannot be the name of a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.engines.drafts import Draft
from penstock.engines.embedded import EmbeddedEngine
from tests.cli.conftest import Done, Penstock

SCRIPT = """\
CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts USING csv OPTIONS (path 'in/s.csv');
CREATE STREAM u (a BIGINT, ts BIGINT) TIMESTAMP BY ts USING csv OPTIONS (PATH 'in/part-*.csv');
CREATE TABLE t (a BIGINT) USING csv OPTIONS (path 'tables');
CREATE QUERY q AS SELECT ISTREAM(s.a) FROM s [NOW];
"""
NEW = "_ts,_op,a\n5,+,1\n"


@pytest.fixture
def here(penstock: Penstock) -> Penstock:
    for folder in ("in", "tables"):
        (penstock.folder / folder).mkdir()
    penstock.file("q.sql", SCRIPT)
    for name in ("in/s.csv", "in/part-1.csv"):
        penstock.file(name, "1,5\n")
    penstock.file("tables/t.csv", "1\n")
    return penstock


def run(here: Penstock, *arguments: str, engine: str = "embedded") -> Done:
    return here("run", "q.sql", "--engine", engine, "--until-done", *arguments)


@pytest.mark.parametrize("option", ["--out", "--metrics"])
def test_a_file_that_exists_is_refused(here: Penstock, option: str) -> None:
    old = here.file("old.json", "old")
    done = run(here, option, "old.json")
    assert (done.code, done.out) == (2, "")
    assert done.err == "old.json: it exists already\nhint: choose another path, or replace it with --overwrite\n"
    assert old.read_text() == "old"


def test_a_plan_beside_the_metrics_is_refused(here: Penstock) -> None:
    old = here.file("m.json.plan.json", "old")
    done = run(here, "--metrics", "m.json")
    assert (done.code, old.read_text()) == (2, "old")
    assert done.err.startswith("m.json.plan.json: it exists already")
    assert not (here.folder / "m.json").exists()
    assert run(here, "--metrics", "m.json", "--overwrite").code == 0
    assert old.read_text() != "old"


def test_overwrite_replaces_it(here: Penstock) -> None:
    old = here.file("old.csv", "old")
    old.chmod(0o600)
    assert run(here, "--out", "old.csv", "--overwrite").code == 0
    assert old.read_text() == NEW
    assert old.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_one_and_leads_to_the_results(here: Penstock) -> None:
    (here.folder / "kept").mkdir()
    old = here.file("kept/old.csv", "old")
    os.symlink("kept/old.csv", "link.csv")
    os.symlink("kept/new.csv", "dangling.csv")
    assert run(here, "--out", "link.csv").code == 2
    assert run(here, "--out", "link.csv", "--overwrite").code == 0
    assert run(here, "--out", "dangling.csv").code == 0
    assert old.read_text() == Path("kept/new.csv").read_text() == NEW
    assert Path("link.csv").is_symlink()


@pytest.mark.parametrize(
    ("path", "definition"),
    [
        ("in/s.csv", "s"),
        ("./in/../in/s.csv", "s"),
        ("hard.csv", "s"),
        ("soft.csv", "s"),
        ("in/part-1.csv", "u"),
        ("in/part-2.csv", "u"),
        ("hard-part.csv", "u"),
        ("tables/t.csv", "t"),
        ("tables/new.csv", "t"),
        ("hard-table.csv", "t"),
        ("tables", "t"),
    ],
)
@pytest.mark.parametrize("option", ["--out", "--metrics"])
@pytest.mark.parametrize("engine", ["embedded", "spark"])
def test_what_is_read_is_never_written(here: Penstock, path: str, definition: str, option: str, engine: str) -> None:
    os.link("in/s.csv", "hard.csv")
    os.link("in/part-1.csv", "hard-part.csv")
    os.link("tables/t.csv", "hard-table.csv")
    os.symlink("in/s.csv", "soft.csv")
    before = {file: file.read_bytes() for file in here.folder.rglob("*") if file.is_file()}
    done = run(here, option, path, "--overwrite", engine=engine)
    assert (done.code, done.err.splitlines()[0]) == (2, f"{path}: {definition} reads it")
    assert before == {file: file.read_bytes() for file in here.folder.rglob("*") if file.is_file()}


def test_nor_are_the_statements(here: Penstock) -> None:
    os.link("q.sql", "q.json")
    for path in ("q.sql", "q.json"):
        done = run(here, "--metrics", path, "--overwrite")
        assert (done.code, done.err.splitlines()[0]) == (2, f"{path}: the statements are read from it")


@pytest.mark.parametrize("path", ["in/.hidden.csv", "in/part.csv", "in/deeper/part-1.csv"])
def test_what_nothing_reads_may_be_beside_it(here: Penstock, path: str) -> None:
    assert run(here, "--out", path).code == 0
    assert Path(path).read_text() == NEW


def test_results_and_metrics_have_paths_of_their_own(here: Penstock) -> None:
    os.symlink("out.json", "link.json")
    done = run(here, "--out", "out.json", "--metrics", "link.json")
    assert (done.code, done.err.splitlines()[0]) == (2, "link.json: two things would be written to it")


def test_metrics_of_each_step_are_there_at_once(here: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def finish(engine: EmbeddedEngine) -> Iterator[pa.Table]:
        seen.append(Path("metrics.json").read_text())
        return ended(engine)

    ended = EmbeddedEngine.finish_in_blocks
    monkeypatch.setattr(EmbeddedEngine, "finish_in_blocks", finish)
    assert run(here, "--metrics", "metrics.json").code == 0
    whole = Path("metrics.json").read_text()
    assert seen[0]
    assert whole.startswith(seen[0])
    assert run(here, "--metrics", "metrics.json", "--overwrite").code == 0
    assert len(Path("metrics.json").read_text().splitlines()) == len(whole.splitlines())


def test_metrics_may_go_to_a_device_and_a_full_one_is_named(here: Penstock) -> None:
    assert run(here, "--metrics", "/dev/null").code == 0
    done = run(here, "--out", "out.csv", "--metrics", "/dev/full")
    assert (done.code, done.err.splitlines()[0]) == (2, "/dev/full: No space left on device")
    assert not Path("out.csv").exists()


def test_a_folder_and_what_is_not_a_file_are_refused(here: Penstock) -> None:
    Path("out.csv").mkdir()
    os.mkfifo("pipe.csv")
    assert run(here, "--out", "out.csv", "--overwrite").err.startswith("out.csv: it is a folder\n")
    assert run(here, "--out", "pipe.csv", "--overwrite").err.startswith("pipe.csv: it is not a regular file\n")


def test_a_path_that_another_run_writes_to_is_refused(here: Penstock) -> None:
    other = Draft("out.csv")
    done = run(here, "--out", "out.csv")
    assert (done.code, done.err.splitlines()[0]) == (2, "out.csv: another run is writing to it")
    other.file.write(b"of the other run")
    other.finish()
    other.publish()
    assert Path("out.csv").read_text() == "of the other run"


def test_a_file_that_appears_meanwhile_is_kept(here: Penstock) -> None:
    draft = Draft("out.csv")
    draft.file.write(b"new")
    draft.finish()
    here.file("out.csv", "of somebody else")
    with pytest.raises(Exception, match="it exists already"):
        draft.publish()
    draft.abandon()
    assert Path("out.csv").read_text() == "of somebody else"
    assert not list(here.folder.glob(".*"))


@pytest.mark.parametrize("name", ["../q", "a/b", ".."])
def test_a_name_that_leads_elsewhere_is_refused(here: Penstock, name: str) -> None:
    here.file("q.sql", SCRIPT.replace("QUERY q AS", f"QUERY `{name}` AS"))
    done = run(here, "--out", "out/{query}.csv")
    assert (done.code, done.err.splitlines()[0]) == (2, f"the name of the query {name} cannot be part of a path")
    assert run(here, "--out", "out/q.csv").code == 0


def test_names_that_differ_only_in_case_are_one(here: Penstock) -> None:
    here.file("q.sql", SCRIPT + "CREATE QUERY Q AS SELECT a FROM s [NOW];")
    done = run(here, "--out", "out/{query}.csv")
    assert done.code == 2
    assert "there is a query q already" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "full.csv"], "full.csv: it holds files already"),
        (["--out", "file.csv"], "file.csv: it is a file, and Spark writes a folder"),
        (["--out", "full.csv", "--overwrite"], "full.csv: it holds files already"),
    ],
)
def test_spark_writes_over_nothing(here: Penstock, arguments: list[str], message: str) -> None:
    Path("full.csv").mkdir()
    here.file("full.csv/notes.txt", "mine")
    here.file("file.csv", "mine")
    done = run(here, *arguments, engine="spark")
    assert (done.code, done.err.splitlines()[0]) == (2, message)
