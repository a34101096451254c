"""From `penstock run` to the first row of a small job, embedded and on Spark, and the parts that it takes.

Every figure is the median wall time of several processes; the kernels are compiled once before. `RUNS` in the
environment says of how many.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from penstock.workloads import network

RUNS = int(os.environ.get("RUNS", "3"))

PARTS = {
    "the interpreter": "pass",
    "and the language": "import penstock; penstock.bind_text",
    "and the embedded engine": "import penstock.engines.embedded_run",
    "and its kernels": "from penstock.engines.spark.daemon import load_kernels; load_kernels()",
    "a Spark session": "from penstock.engines.spark.session import spark_session; spark_session('local[2,4]')",
}


def main() -> None:
    print(f"first result of a small job, medians of {RUNS}; load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network.write(folder / "data", 1200)
        (folder / "small.sql").write_text(network.ddl(Path("data")) + network.RESULTS)
        run = [sys.executable, "-m", "penstock.cli", "run", "small.sql", "--until-done"]
        first_line([*run, "--engine", "embedded"], folder)
        for part, program in PARTS.items():
            report(part, [until_done([sys.executable, "-c", program], folder) for _ in range(RUNS)])
        report("embedded, first row", [first_line([*run, "--engine", "embedded"], folder) for _ in range(RUNS)])
        report("Spark, first row", [first_line(run, folder) for _ in range(RUNS)])


def report(what: str, seconds: list[float]) -> None:
    print(f"  {what:24} {statistics.median(seconds):6.2f} s", flush=True)


def until_done(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - start


def first_line(command: list[str], folder: Path) -> float:
    """The time until a process writes the first line of its results, which stands behind a header."""
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert process.stdout.readline(), command
        spent = time.perf_counter() - start
        process.stdout.read()
    return spent


if __name__ == "__main__":
    main()
