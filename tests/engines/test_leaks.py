"""Nothing grows in a process that starts queries again and again, or that reads ever-new values for a long time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engines.leaking import STARTS, WINDOWS

ROOT = Path(__file__).parents[2]
MB = 1 << 20


def measured(*arguments: str) -> Any:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT)))}
    command = [sys.executable, "-m", "tests.engines.leaking", *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_queries_that_start_and_end_leave_nothing() -> None:
    """Of files and of pushed batches, with rows on disk and without, to their end or left in the middle."""
    after = measured("starts")
    assert len(after) == STARTS
    warm, later = after[9:20], after[20:]
    for what in ("threads", "native threads", "files", "shared memory", "folders"):
        assert max(each[what] for each in later) <= max(each[what] for each in warm), what
    assert later[-1]["arrow"] == 0
    assert max(each["rss"] for each in later) < max(each["rss"] for each in warm) + 12 * MB


def assert_flat(query: str, rows: int) -> None:
    found = measured("rows", query, str(rows))
    assert len(found) >= 10
    warm, later = found[1:5], found[5:]
    assert max(each["arrow"] for each in later) <= 1.1 * max(each["arrow"] for each in warm)
    assert max(each["rss"] for each in later) < max(each["rss"] for each in warm) + 16 * MB


@pytest.mark.parametrize("query", ["join of windows", "groups that close"])
def test_ever_new_strings_take_no_more_memory(query: str) -> None:
    assert_flat(query, 500_000)


@pytest.mark.slow
@pytest.mark.parametrize("query", WINDOWS)
def test_many_ever_new_strings_take_no_more_memory(query: str) -> None:
    assert_flat(query, 20_000_000 if query == "groups that close" else 5_000_000)
