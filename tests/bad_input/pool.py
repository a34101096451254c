"""Readers in processes of their own. One that dies, or takes too long, is replaced; its file has failed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from select import select
from tempfile import NamedTemporaryFile
from types import TracebackType
from typing import Any

from tests.bad_input.damage import COLUMNS, good_csv

#: Seconds that one file may take. The first one of a process may have to wait for compiled code.
MOST_SECONDS = 20
FIRST_SECONDS = 180
#: Bytes that the process may grow by.
MOST_MEMORY = 600 << 20

_ROOT = Path(__file__).parents[2]


class Reader:
    """One process at a time, which reads many files."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._memory = 0

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def read(self, using: str, columns: str) -> dict[str, Any]:
        """What came of a file: `rows`, `error`, or what must not be, `failure`."""
        if self._process is None:
            self._start()
            self._memory = self._warm_up()
        found = self._ask(using, columns, MOST_SECONDS)
        if "trace" in found:
            found["failure"] = found["trace"]
        elif "failure" not in found and found["memory"] > self._memory + MOST_MEMORY:
            found["failure"] = f"it took {found['memory'] >> 20} MB"
        if "failure" in found and "trace" not in found:
            self._end()
        return found

    def _warm_up(self) -> int:
        """Reads a good file with all types, and gives the memory that the process has then."""
        with NamedTemporaryFile(suffix=".csv") as file:
            file.write(good_csv(Random(0)))
            file.flush()
            found = self._ask(f"csv OPTIONS (path '{file.name}')", COLUMNS, FIRST_SECONDS)
        assert "rows" in found, found
        return int(found["memory"])

    def _ask(self, using: str, columns: str, seconds: int) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([using, columns]) + "\n")
        process.stdin.flush()
        if not select([process.stdout], [], [], seconds)[0]:
            return {"failure": f"it took more than {seconds} seconds"}
        line = process.stdout.readline()
        if not line:
            return {"failure": f"the process ended with {process.wait()}"}
        found: dict[str, Any] = json.loads(line)
        return found

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bad_input.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
        )

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
