"""Runs queries whose checkpoint or output folder is on a disk that fills up, in a mount namespace (`confinement`).

The disk gets more room twice, the first time too little; each time the query is started again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.engines.spark.session import spark_session
from penstock.errors import PenstockError
from tests.engines.comparing import bound
from tests.engines.spark.running import begin, json_results, listed, results, write_files
from tests.engines.spark.storm.confinement import Verdict, mount_memory, write_verdicts
from tests.engines.spark.storm.counting import ROWS_PER_FILE, counted, counting
from tests.generators import Case

FILES = 6

#: Which folder is on the small disk, where results go, and the disk's sizes in KB: the last one is enough.
DISKS = (
    ("checkpoint", "out.parquet", (800, 1600, 1 << 20)),
    ("checkpoint", "out.json", (1000, 2000, 1 << 20)),
    ("out.parquet", "out.parquet", (200, 400, 1 << 20)),
    ("out.json", "out.json", (1500, 3000, 1 << 20)),
)


def main(folder: Path, seed: int) -> None:
    spark = spark_session("local[2,4]")
    case = counting(seed, FILES)
    found = [
        verdict
        for number, (small, out, sizes) in enumerate(DISKS)
        for verdict in run(spark, case, folder / str(number), small, out, sizes)
    ]
    write_verdicts(folder, found)
    spark.stop()


def run(spark: SparkSession, case: Case, at: Path, small: str, out: str, sizes: tuple[int, ...]) -> list[Verdict]:
    query, catalog = bound(case)
    write_files(case, catalog, at / "in", rows_per_file=ROWS_PER_FILE)
    kind = f"the disk of {'the checkpoint' if small == 'checkpoint' else 'the output'} fills up"
    reference, found = counted(case), []
    for number, size in enumerate(sizes):
        mount_memory(at / small, size << 10, again=number > 0)
        try:
            given = listed(spark, catalog, at / "in")
            begin(spark, case, query, catalog, at, cells=2, given=given, out=out).await_done()
        except PenstockError as error:
            found.append(Verdict(kind, reference, reference, str(error)))
    read = results if out == "out.parquet" else json_results
    return [*found, Verdict(kind, read(spark, at, query), reference)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
