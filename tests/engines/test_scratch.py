"""Temporary folders of processes that were killed go at the next start; those of living ones stay."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from penstock.engines.owners import owner
from penstock.engines.scratch import scratch_prefix

KILLED = """
import os, signal, tempfile
from penstock.engines.scratch import scratch_prefix
print(tempfile.mkdtemp(prefix=scratch_prefix(), dir=tempfile.gettempdir()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_folder_of_a_killed_process_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine = tmp_path / f"penstock-{owner()}-mine"
    others = tmp_path / "penstock-notes"
    for folder in (mine, others):
        folder.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", KILLED],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    left = Path(ended.stdout.strip())
    assert left.is_dir(), ended.stderr
    assert scratch_prefix().startswith("penstock-")
    assert sorted(tmp_path.iterdir()) == sorted([mine, others])


def test_a_scratch_folder_goes_with_its_process(tmp_path: Path) -> None:
    text = """
from penstock.engines.scratch import scratch_folder
folder = scratch_folder()
(folder / "file").write_text("kept as long as the process runs")
print(folder)
"""
    ended = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(ended.stdout.strip()).parent == tmp_path
    assert list(tmp_path.iterdir()) == []
