"""A query of the storm in the session of the tests: its files, how it is started, and what it has written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.engines.spark.query import RunningQuery
from tests.engines.comparing import Log, bound, expected
from tests.engines.spark.running import begin, json_results, listed, results, write_files
from tests.engines.spark.storm.cases import ROWS_PER_FILE, Stormy


@dataclass(frozen=True)
class Started:
    spark: SparkSession
    made: Stormy
    folder: Path
    out: str = "out.parquet"
    #: Who reads its files: "workers" or "spark".
    reader: str = "workers"

    def write_files(self, only: int | None = None) -> None:
        _, catalog = bound(self.made.case)
        write_files(self.made.case, catalog, self.folder / "in", rows_per_file=ROWS_PER_FILE, only=only)

    def begin(self, *, until_done: bool = True) -> RunningQuery:
        query, catalog = bound(self.made.case)
        given = listed(self.spark, catalog, self.folder / "in") if self.reader == "workers" else None
        options = {"cells": 2, "given": given, "out": self.out, "forgetting": self.made.forgetting}
        return begin(self.spark, self.made.case, query, catalog, self.folder, until_done=until_done, **options)

    def read_what_is_there(self) -> None:
        """Runs until all files have been read, and stops without closing time."""
        running = self.begin(until_done=False)
        assert running._query is not None
        try:
            running._query.processAllAvailable()
        finally:
            running.stop()

    def results(self) -> Log:
        query, _ = bound(self.made.case)
        return (results if self.out == "out.parquet" else json_results)(self.spark, self.folder, query)

    def reference(self) -> Log:
        return expected(self.made.case, *bound(self.made.case))
