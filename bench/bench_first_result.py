"""From `penstock run` to the first row of a small job, embedded and on Spark, and the parts that it takes.

Every figure is the median of several processes, `RUNS` in the environment says of how many: of wall time, and of the
CPU time that the process and all that it started had used by then, which says more on a busy machine. Spark's own join
of the same files, with as many partitions as there are cores, runs in turn with Penstock's.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
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
            report(part, [(until_done([sys.executable, "-c", program], folder), None) for _ in range(RUNS)])
        first: dict[str, list[Spent]] = {"embedded": [], "embedded, cold": [], "Spark": [], "Spark's own join": []}
        for number in range(RUNS):
            cold = {"NUMBA_CACHE_DIR": str(folder / f"cache-{number}")}
            first["embedded"].append(first_line([*run, "--engine", "embedded"], folder))
            first["embedded, cold"].append(first_line([*run, "--engine", "embedded"], folder, cold))
            first["Spark's own join"].append(first_line([sys.executable, "-c", OWN], folder))
            first["Spark"].append(first_line(run, folder))
        for what, spent in first.items():
            report(f"first row, {what}", spent)


#: Spark's join of the same files, in a session with its own settings; it prints a header, too.
OWN = """
from pathlib import Path
from pyspark.sql import SparkSession
from penstock.workloads import spark_own
spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)
print("c_pid,c_size", flush=True)
show = lambda rows, _: [print(*row, sep=",", flush=True) for row in rows.take(1)]
joined = spark_own.network_join(spark_own.streams(spark, Path("data")))
joined.writeStream.foreachBatch(show).trigger(availableNow=True).start().awaitTermination()
"""

#: Seconds of wall time, and of CPU time if that was measured.
Spent = tuple[float, float | None]


def report(what: str, spent: list[Spent]) -> None:
    wall = statistics.median(seconds for seconds, _ in spent)
    used = [seconds for _, seconds in spent if seconds is not None]
    cpu = f"  CPU {statistics.median(used):6.2f} s" if used else ""
    print(f"  {what:28} {wall:6.2f} s{cpu}", flush=True)


def until_done(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - start


def first_line(command: list[str], folder: Path, environment: Mapping[str, str] | None = None) -> Spent:
    """The time until a process writes the first line of its results, which stands behind a header."""
    start = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert process.stdout.readline(), command
        spent = time.perf_counter() - start, cpu_of_session(process.pid)
        process.stdout.read()
    return spent


def cpu_of_session(session: int) -> float | None:
    """The CPU time of all processes of a session, and of their children that have ended; None where /proc is not."""
    ticks = 0
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = process.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else None


if __name__ == "__main__":
    main()
