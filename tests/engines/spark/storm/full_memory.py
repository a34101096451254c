"""Runs queries in a shared memory that is all but full, in a mount namespace of its own (`confinement`)."""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.engines.spark.session import spark_session
from penstock.errors import PenstockError
from tests.engines.comparing import Log, bound
from tests.engines.spark.running import begin, listed, results, write_files
from tests.engines.spark.storm.confinement import Verdict, fill, mount_memory, write_verdicts
from tests.engines.spark.storm.counting import ROWS_PER_FILE, counted, counting

FILES = 7
_SHARED = Path("/dev/shm")

#: The least that `state_directory` takes for a shared memory.
_SIZE = 1 << 30


def main(folder: Path, seed: int, sizes: list[int]) -> None:
    mount_memory(_SHARED, _SIZE)
    spark = spark_session("local[2,4]")
    case = counting(seed, FILES)
    query, catalog = bound(case)
    reference = counted(case)
    found = []
    for size in sizes:
        fill(_SHARED, size << 10)
        at = folder / str(size)
        write_files(case, catalog, at / "in", rows_per_file=ROWS_PER_FILE)
        given = listed(spark, catalog, at / "in")
        refused = None
        try:
            begin(spark, case, query, catalog, at, cells=2, given=given).await_done()
            wrote = results(spark, at, query)
        except PenstockError as error:
            refused, wrote = str(error), Log()
        found.append(Verdict(f"{size} KB free", wrote, reference, refused))
    write_verdicts(folder, found)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), [int(size) for size in sys.argv[3:]])
