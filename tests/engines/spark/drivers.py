"""Runs an example in a driver of its own, and has it die, or one of its executors, when a file appears.

`python -m tests.engines.spark.drivers FOLDER QUERY MASTER VICTIM FILE...`: the victim, `driver` or `executor`, dies
when a file is there, a pattern below the folder; one executor for each file.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from penstock.engines.spark.session import spark_session
from tests.engines.comparing import bound
from tests.engines.spark.examples import example
from tests.engines.spark.running import begin


def main(folder: Path, name: str, master: str, victim: str, files: list[str]) -> None:
    spark = spark_session(master)
    threading.Thread(target=watch, args=(folder, victim, files), daemon=True).start()
    case = example(name)
    query, catalog = bound(case)
    running = begin(spark, case, query, catalog, folder, cells=2)
    (folder / f"run-{os.getpid()}").write_text(running._work.run)
    running.await_done()
    spark.stop()


def watch(folder: Path, victim: str, files: list[str]) -> None:
    for file in files:
        while not any(folder.glob(file)):
            time.sleep(0.002)
        if victim == "driver":
            os.killpg(0, signal.SIGKILL)
        executor = min(executors())
        (folder / f"lost-{executor}").touch()
        os.kill(executor, signal.SIGKILL)


def executors() -> Iterator[int]:
    """The executors that this driver, or a process of its, has started."""
    parents = {int(path.name): _parent(path) for path in Path("/proc").iterdir() if path.name.isdigit()}
    for process in parents:
        above: int | None = process
        while above is not None and above != os.getpid():
            above = parents.get(above)
        if above is not None and "CoarseGrainedExecutorBackend" in _command(process):
            yield process


def _parent(process: Path) -> int | None:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:5], sys.argv[5:])
