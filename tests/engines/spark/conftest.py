"""One Spark session for all tests of a process: to make one takes many seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.session import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # A task may die four times, as on a cluster.
    session = spark_session("local[2,4]")
    yield session
    session.stop()
