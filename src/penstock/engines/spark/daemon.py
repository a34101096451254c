"""The process that Spark's Python workers are forked from. It imports what they need, once for all of them."""

from pyspark.daemon import manager

import penstock.engines.spark.cell
import penstock.engines.spark.sink
import penstock.engines.spark.source  # noqa: F401

if __name__ == "__main__":
    manager()
