"""The connections by which Java calls Python for a query: `foreachBatch` has one, with a thread that serves it.

PySpark keeps both until the application ends, so an application that starts and stops queries would hold more and more
of them. They are closed when the query has ended.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession


class Callbacks:
    """The connections of one query."""

    def __init__(self) -> None:
        self._connections: list[Any] = []

    def note(self, spark: SparkSession) -> None:
        """Takes note of the connection by which this thread was called."""
        gateway: Any = spark.sparkContext._gateway
        connection = gateway._gateway_client.get_thread_connection()
        if connection is not None and connection not in self._connections:
            self._connections.append(connection)

    def close(self) -> None:
        """Closes the connections, whose threads then end. Java calls by them no more, for its query has ended."""
        connections, self._connections = self._connections, []
        for connection in connections:
            with suppress(OSError, AttributeError):  # it may be closed already
                connection.socket.shutdown(socket.SHUT_RDWR)
