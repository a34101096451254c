"""The Spark engine: a plan as stateful operators of one Structured Streaming query.

Rows are packed per cell before the shuffle (`source`, `packing`), a stateful operator per level of the plan runs the
machines of the cells (`cell`, `addresses`), and the last one's packets become typed rows (`sink`).
"""

from penstock.engines.spark.query import RunningQuery, build, start
from penstock.engines.spark.session import check_session, spark_session

__all__ = ["RunningQuery", "build", "check_session", "spark_session", "start"]
