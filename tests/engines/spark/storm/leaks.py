"""Starts and stops a query in one application again and again, and counts what the processes hold after each stop."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from penstock.engines.spark.session import spark_session
from penstock.engines.spark.state_directory import StateDirectory
from tests.engines.spark.storm.cases import stormy
from tests.engines.spark.storm.processes import jvm, workers
from tests.engines.spark.storm.started import Started


def main(folder: Path, starts: int) -> None:
    # Spark unloads the state of queries that have ended when it maintains its state stores.
    spark = spark_session("local[2,4]", **{"spark.sql.streaming.stateStore.maintenanceInterval": "2s"})
    started = Started(spark, stormy("join", 0, starts), folder)
    java = Path(f"/proc/{jvm()}")
    with open(folder / "held.json", "w") as file:
        for number in range(starts):
            started.write_files(only=number + 1)
            running = started.begin(until_done=False)
            assert running._query is not None
            running._query.processAllAvailable()
            running.stop()
            # Spark closes connections and removes what it shuffled when Java has found that nobody uses them.
            assert spark.sparkContext._jvm is not None
            spark.sparkContext._jvm.System.gc()
            held = {
                "threads of Python": threading.active_count(),
                "threads of Java": sum(1 for task in (java / "task").iterdir() if not _is_pooled(task)),
                "open files of Python": _count(Path("/proc/self/fd")),
                "open files of Java": _count(java / "fd"),
                "workers": len(workers()),
                "machines in shared memory": int(StateDirectory(running._work.run)._folder.exists()),
                "temporary files": sum(1 for _ in (folder / "tmp").rglob("*")),
            }
            print(json.dumps(held), file=file, flush=True)
    spark.stop()


def _is_pooled(thread: Path) -> bool:
    """Whether a thread is one of Spark's block manager, which has up to two hundred, more or fewer as it likes."""
    try:
        return (thread / "comm").read_text().startswith("block-manager")
    except FileNotFoundError:
        return True


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.iterdir())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
