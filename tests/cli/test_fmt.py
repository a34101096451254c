"""`penstock fmt`: prints, checks and writes, and never leaves half a file."""

import os
import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Penstock

BEFORE = "-- one\nselect a from s [range 60 seconds]\r\n"
AFTER = "-- one\nSELECT a\nFROM s [RANGE 1 MINUTE];\n"


def test_it_prints_the_normal_form_and_leaves_the_file(penstock: Penstock) -> None:
    path = penstock.file("q.sql", BEFORE)
    done = penstock("fmt", "q.sql")
    assert (done.code, done.out, done.err) == (0, AFTER, "")
    assert path.read_bytes() == BEFORE.encode()


@pytest.mark.parametrize(("text", "code"), [(BEFORE, 1), (AFTER, 0), ("", 0), (AFTER.replace("\n", "\r\n"), 1)])
def test_check_only_answers(penstock: Penstock, text: str, code: int) -> None:
    path = penstock.file("q.sql", text)
    done = penstock("fmt", "--check", "q.sql")
    assert (done.code, done.out, done.err) == (code, "", "")
    assert path.read_bytes() == text.encode()


def test_write_replaces_the_file_and_keeps_its_mode(penstock: Penstock) -> None:
    path = penstock.file("q.sql", BEFORE)
    path.chmod(0o640)
    done = penstock("fmt", "-w", "q.sql")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert path.read_bytes() == AFTER.encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(penstock.folder) == ["q.sql"]


def test_write_leaves_a_file_in_normal_form_alone(penstock: Penstock) -> None:
    path = penstock.file("q.sql", AFTER)
    before = path.stat()
    assert penstock("fmt", "--write", "q.sql").code == 0
    assert path.stat() == before


def test_write_follows_a_link(penstock: Penstock) -> None:
    path = penstock.file("real.sql", BEFORE)
    (penstock.folder / "link.sql").symlink_to(path)
    assert penstock("fmt", "--write", "link.sql").code == 0
    assert (penstock.folder / "link.sql").is_symlink()
    assert path.read_text() == AFTER


@pytest.mark.parametrize("option", ["--write", "--check"])
def test_what_cannot_be_parsed_is_neither_written_nor_judged(penstock: Penstock, option: str) -> None:
    path = penstock.file("q.sql", "select a from s; select b frm s")
    done = penstock("fmt", option, "q.sql")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("q.sql:1:")
    assert path.read_text() == "select a from s; select b frm s"


def test_a_write_that_fails_leaves_the_old_file(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    path = penstock.file("q.sql", BEFORE)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    done = penstock("fmt", "--write", "q.sql")
    assert done.code == 2
    assert done.err == f"{path}: No space left on device\nhint: the file is as it was\n"
    assert path.read_bytes() == BEFORE.encode()
    assert os.listdir(penstock.folder) == ["q.sql"]


def test_standard_input_is_printed_but_not_written(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    with (penstock.folder / "in").open("w+") as file:
        file.write(BEFORE)
        file.seek(0)
        monkeypatch.setattr("sys.stdin", file)
        assert penstock("fmt", "-").out == AFTER
        file.seek(0)
        done = penstock("fmt", "--write", "-")
    assert (done.code, done.err) == (2, "standard input cannot be written\nhint: leave --write out\n")
