"""Other engines that benchmarks compare with, each in an environment of its own: none is a dependency of the project.

A peer is a script beside this file. It is run by an interpreter that has the peer's packages, which are installed from
the package index on first use, into a folder that git ignores; it prints its figures as JSON. A peer that cannot be
installed is reported, and left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parents[1] / ".venv-peers"


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    packages: tuple[str, ...]

    def run(self, *arguments: object) -> Any:
        """Returns what the peer's script prints, or a text that says why there is nothing."""
        python = self._python()
        if isinstance(python, str):
            return python
        command = [str(python), str(HERE / f"{self.name}.py"), *map(str, arguments)]
        one_thread = {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | one_thread)
        if done.returncode:
            return f"it failed: {(done.stderr.strip().splitlines() or ['without a word'])[-1]}"
        return json.loads(done.stdout.splitlines()[-1])

    def _python(self) -> Path | str:
        folder = ENVIRONMENTS / self.name
        python = folder / "bin" / "python"
        ready = folder / "ready"
        if ready.exists() and ready.read_text() == str(self.packages):
            return python
        make = [sys.executable, "-m", "venv", "--clear", str(folder)]
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *self.packages]
        for command in (make, install):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                return f"it cannot be installed: {(done.stderr.strip().splitlines() or ['without a word'])[-1]}"
        ready.write_text(str(self.packages))
        return python


POLARS = Peer("polars_filters", ("polars", "pyarrow"))
BYTEWAX = Peer("bytewax_filters", ("bytewax", "pyarrow"))
