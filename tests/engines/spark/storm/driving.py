"""Starts drivers one after the other; the next one makes its session while the one before it runs."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from tests.engines.comparing import Log
from tests.engines.spark.storm.driver import Errand

ROOT = Path(__file__).parents[4]

#: Seconds after which a driver hangs.
_HANGS = 900


class Driver:
    """A driver that stands by."""

    def __init__(self, errand: Errand) -> None:
        command = [sys.executable, "-m", "tests.engines.spark.storm.driver", errand.text]
        with open(Path(errand.folder) / "driver.log", "ab") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, start_new_session=True, stdin=subprocess.PIPE, stdout=log, stderr=log
            )

    def run(self) -> int:
        """Has it run its errand, and gives its exit code."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"go\n")
            self._process.stdin.flush()
            return self._process.wait(_HANGS)
        finally:
            self.end()

    def end(self) -> None:
        """Ends all that it has started; the process itself too, if it has not run."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with suppress(BrokenPipeError):
            self._process.stdin.close()


def each_code(errands: Iterable[Errand]) -> Iterator[int]:
    """The exit codes of drivers that run one after the other."""
    waiting = iter(errands)
    standing = Driver(next(waiting))
    try:
        while True:
            running, after = standing, next(waiting, None)
            if after is None:
                yield running.run()
                return
            standing = Driver(after)
            yield running.run()
    finally:
        standing.end()


def until_done(codes: Iterator[int]) -> list[int]:
    """The exit codes up to the first driver that nothing killed."""
    seen = []
    for code in codes:
        seen.append(code)
        if code == 0:
            break
    return seen


def found_by(folder: Path) -> tuple[Log, int]:
    """What the last driver found written, and how many it killed."""
    found, acts = pickle.loads((folder / "found.pickle").read_bytes())
    return found, acts


def log_of(folder: Path) -> str:
    """The end of what the drivers said."""
    return (folder / "driver.log").read_text()[-3000:]
