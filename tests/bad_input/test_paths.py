"""Paths that lead to no file, or to something that is none: each is refused at once, with its name."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from penstock.cli import main
from penstock.engines.files import FileSource
from penstock.errors import PenstockError
from tests.bad_input.worker import declared, read

N = "n BIGINT, ts BIGINT"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file that nobody named."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.csv").write_text("1,1\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "folders" / "one").mkdir(parents=True)
    (tmp_path / "folders" / "one" / "s.csv").write_text("1,1\n")
    (tmp_path / "broken.csv").symlink_to("nowhere.csv")
    (tmp_path / "circle.csv").symlink_to("circle.csv")
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "broken.csv").symlink_to("nowhere.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "pipes").mkdir()
    os.mkfifo(tmp_path / "pipes" / "pipe.csv")
    return tmp_path


REFUSED = {
    "": "s: the path is empty",
    "  ": "s: the path is empty",
    "none.csv": "none.csv: there is no such file, which s reads",
    "none/*.csv": "none/*.csv: there is no such file, which s reads",
    "other.csv/x": "other.csv/x: there is no such file, which s reads",
    "empty": "empty: the folder is empty",
    "folders": "folders: the folder holds 1 folder and no files",
    "broken.csv": "broken.csv: the link leads to no file",
    "circle.csv": "circle.csv: ",
    "mixed": "mixed/broken.csv: the link leads to no file",
    "pipe.csv": "pipe.csv: it is a pipe, a socket or a device",
    "pipes": "pipes/pipe.csv: it is a pipe, a socket or a device",
    "/dev/zero": "/dev/zero: it is a pipe, a socket or a device",
    "/dev/stdin": "/dev/stdin: ",
    "x" * 300: "it cannot be read: File name too long",
}


@pytest.mark.parametrize("path", REFUSED)
@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_a_path_that_leads_to_no_file_is_refused(path: str, form: str) -> None:
    if path == "/dev/stdin" and not Path(path).is_char_device():
        pytest.skip("standard input is a file here")
    with pytest.raises(PenstockError) as caught:
        read(f"{form} OPTIONS (path '{path}')", N)
    assert REFUSED[path] in caught.value.message
    assert caught.value.hint


def test_a_socket_is_refused(here: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("s.csv")
        with pytest.raises(PenstockError, match=r"s\.csv: it is a pipe, a socket or a device"):
            read("csv OPTIONS (path 's.csv')", N)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read_is_refused(here: Path) -> None:
    (here / "other.csv").chmod(0)
    with pytest.raises(PenstockError, match=r"other\.csv: it cannot be read: .*[Pp]ermission denied"):
        read("csv OPTIONS (path 'other.csv')", N)


def test_a_folder_may_be_named_like_a_file(here: Path) -> None:
    (here / "s.csv").mkdir()
    (here / "s.csv" / "1.csv").write_text("1,1\n")
    assert read("csv OPTIONS (path 's.csv')", N).to_pylist() == [{"n": 1, "ts": 1}]


def test_results_without_rows_are_no_empty_folder(here: Path) -> None:
    (here / "empty" / "_spark_metadata").mkdir()
    assert read("csv OPTIONS (path 'empty')", N).num_rows == 0


def test_an_empty_folder_may_fill_later(here: Path) -> None:
    batches = FileSource(declared("csv OPTIONS (path 'empty')", N)).following(["n"])
    assert next(batches) is None
    (here / "empty" / "1.csv").write_text("1,1\n")
    assert next(batches).to_pylist() == [{"n": 1}]  # type: ignore[union-attr]


CLI = {
    "": "s: the path is empty",
    "pipe.csv": "pipe.csv: it is a pipe, a socket or a device",
    "bad.csv": "bad.csv:2: 'x' in column n is not a BIGINT",
    "bad.json": "bad.json:1: this is not a JSON object",
    "bad.parquet": "bad.parquet: it cannot be read as parquet",
}


@pytest.mark.parametrize("path", CLI)
def test_the_command_line_says_it_without_a_traceback(
    here: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    (here / "bad.csv").write_text("1,1\nx,2\n")
    (here / "bad.json").write_text("null\n")
    (here / "bad.parquet").write_text("")
    form = Path(path).suffix.removeprefix(".") or "csv"
    (here / "q.sql").write_text(
        f"CREATE STREAM s (n BIGINT, ts BIGINT) TIMESTAMP BY ts USING {form} OPTIONS (path '{path}'); SELECT n FROM s;"
    )
    code = main(["run", "q.sql", "--engine", "embedded", "--until-done", "--allow-unbounded"])
    said = capsys.readouterr().err
    assert (code, said.startswith(CLI[path])) == (2, True), said
    assert "Traceback" not in said
