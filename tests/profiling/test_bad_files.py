"""Files that profiling cannot guess the columns of: each is refused with its name, and none ends the process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.profiling.sources import stream_of

BAD: dict[str, tuple[str, bytes, str]] = {
    "only null": ("s.json", b"null\n", "s.json:1: this is not a JSON object"),
    "deep": ("s.json", b'{"a": ' + b"[" * 20_000 + b"]" * 20_000 + b"}\n", "s.json:1: values nest more than 200 deep"),
    "many names": (
        "s.json",
        b"".join(b'{"k%d": 1}\n' % i for i in range(20_000)),
        "s.json: more than 1,000 names of fields",
    ),
    "half a pair": ("s.json", b'{"a": 1}\n{"a": "\\ud800"}\n', "s.json: it cannot be read as json"),
    "not UTF-8": ("s.json", b'{"a": "\xff"}\n', "s.json:1: it is not UTF-8"),
    "lone CR": ("s.csv", b"a\rb\n1\n", "s.csv: no column is a TIMESTAMP"),
    "quotes": ("s.csv", b'"a\n1\n', "s.csv:1: the file ends inside a quoted field"),
    "gzip": ("s.csv", b"\x1f\x8b\x08", "s.csv: it is compressed by gzip"),
    "no parquet": ("s.parquet", b"x" * 100, "s.parquet: it cannot be read as parquet"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    file, data, message = BAD[name]
    (tmp_path / file).write_bytes(data)
    with pytest.raises(PenstockError) as caught:
        stream_of(file, None)
    assert caught.value.message.startswith(message)


def test_empty_lines_are_no_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text('\n{"a": 1, "t": "2024-01-01 00:00:00"}\n\n{"a": 2}\n')
    assert [attribute.name for attribute in stream_of("s.json", None).attributes] == ["a", "t"]


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.csv")
    with pytest.raises(PenstockError, match="it is a pipe, a socket or a device"):
        stream_of(str(tmp_path / "s.csv"), None)
