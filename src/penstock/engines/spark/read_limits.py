"""How much the next micro-batch of a running query reads.

Spark reads a limit from the options of a source when a query starts, and asks the source for at most so much before
each micro-batch. That limit is replaced in the query itself, where Spark keeps it by source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery


def set_most_files(query: StreamingQuery, jvm: Any, files: Mapping[str, int | None]) -> bool:
    """Sets how many files micro-batches read at most from the next on: of all streams, in the order of the query.

    Returns whether the query has its sources by now, and so whether it is done.
    """
    execution = query._jsq.streamingQuery()
    limits, sources = execution.uniqueSources(), execution.sources()
    if limits.isEmpty() or sources.size() < len(files):
        return False
    made = jvm.org.apache.spark.sql.connector.read.streaming.ReadLimit
    for number, most in enumerate(files.values()):
        limits = limits.updated(sources.apply(number), made.allAvailable() if most is None else made.maxFiles(most))
    getattr(execution, "uniqueSources_$eq")(limits)
    return True
