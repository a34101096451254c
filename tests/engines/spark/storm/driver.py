"""A driver of its own, which runs a query of the storm when it reads a line, and has it or others die on the way.

`python -m tests.engines.spark.storm.driver ERRAND`: a JSON object, see `Errand`. The session is made before the line
comes, so one driver can stand by while another one runs.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from penstock.engines.spark.session import spark_session
from tests.engines.comparing import bound
from tests.engines.spark.running import begin, json_results, listed, results
from tests.engines.spark.storm.cases import stormy
from tests.engines.spark.storm.processes import executors
from tests.engines.spark.storm.watching import Marauder, Omen


@dataclass(frozen=True)
class Errand:
    """What a driver is to do."""

    folder: str
    query: str
    seed: int
    files: int
    out: str
    reader: str
    master: str = "local[2,4]"
    #: Who dies: "driver", "executor" or nobody.
    victim: str = ""
    omens: tuple[tuple[str, int, float], ...] = ()

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


def main(errand: Errand) -> None:
    spark = spark_session(errand.master)
    sys.stdin.readline()
    folder = Path(errand.folder)
    made = stormy(errand.query, errand.seed, errand.files)
    query, catalog = bound(made.case)
    omens = [Omen(*omen) for omen in errand.omens]
    with Marauder(folder, omens, _deed(errand)) as marauder:
        given = listed(spark, catalog, folder / "in") if errand.reader == "workers" else None
        options = {"cells": 2, "given": given, "out": errand.out, "forgetting": made.forgetting}
        begin(spark, made.case, query, catalog, folder, **options).await_done()
    read = results if errand.out == "out.parquet" else json_results
    (folder / "found.pickle").write_bytes(pickle.dumps((read(spark, folder, query), marauder.acts)))
    spark.stop()


def _deed(errand: Errand) -> Callable[[], bool]:
    random = Random(errand.seed)

    def kill_driver() -> bool:
        os.killpg(0, signal.SIGKILL)
        return True

    def kill_executor() -> bool:
        found = executors()
        if found:
            os.kill(random.choice(found), signal.SIGKILL)
        return bool(found)

    return kill_driver if errand.victim == "driver" else kill_executor


if __name__ == "__main__":
    main(Errand(**json.loads(sys.argv[1])))
