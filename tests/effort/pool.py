"""Worker processes that answer texts of SQL: one that dies is replaced, and the text that it died of is named."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Answer:
    """What is said of a text, with the seconds that each answer took; or why there is none."""

    text: str | int
    said: dict[str, tuple[str, float]] = field(default_factory=dict)
    failure: str | None = None


class Worker:
    """One process, which is started anew after it has died."""

    def __init__(self, seconds: float, mebibytes: int) -> None:
        self._command = [sys.executable, "-m", "tests.effort.worker", str(seconds), str(mebibytes)]
        self._process = self._started()

    def answer(self, text: str | int, asked: Iterable[str]) -> Answer:
        """What is said of a text, or of the mutant of that number."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"text" if isinstance(text, str) else "mutant": text, "asked": list(asked)}
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self._process.wait()
            self.close()
            self._process = self._started()
            limit = code in (-signal.SIGPROF, -signal.SIGXCPU)
            return Answer(text, failure="took too long" if limit else f"died with {code}")
        said = json.loads(line)
        return Answer(text, {name: (a, s) for name, (a, s) in said.get("answers", {}).items()}, said.get("failure"))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _started(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(self._command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8", cwd=ROOT)
