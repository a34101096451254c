"""Penstock from Python: sessions, their queries, and what is said of a run."""

from penstock.engines.metric_lines import Metrics
from penstock.session.open_query import OpenQuery
from penstock.session.query import Query
from penstock.session.session import Session, latest_changes, spark_session

__all__ = ["Metrics", "OpenQuery", "Query", "Session", "latest_changes", "spark_session"]
