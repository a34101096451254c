"""`penstock` runs a command in this process, in a folder of its own; `golden` compares with a file, or rewrites it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import main

GOLDEN = Path(__file__).parent / "golden"

Golden = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Penstock:
    """Calls `main` where the files are that it was given."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def file(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def __call__(self, *arguments: str) -> Done:
        code = main(arguments)
        out, err = self._capsys.readouterr()
        return Done(code, out, err)


@pytest.fixture
def penstock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Penstock:
    monkeypatch.chdir(tmp_path)
    return Penstock(tmp_path, capsys)


@pytest.fixture
def golden() -> Golden:
    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("PENSTOCK_GOLDEN") == "rewrite":
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), "`make golden` rewrites this"

    return compare
