"""What the Python half of Spark prints when Java's process is gone: nothing, where a command says so itself.

A signal to a whole process group ends Java while Python still talks to it. py4j then logs a traceback to the root
logger, and the thread that collects accumulators prints one.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer
from typing import Any

from pyspark import accumulators

#: The servers that collect accumulators, over TCP and over a Unix socket.
_SERVERS = [
    each
    for each in vars(accumulators).values()
    if isinstance(each, type) and issubclass(each, BaseServer) and each.__module__ == accumulators.__name__
]


@contextmanager
def silent_about_lost_java() -> Iterator[None]:
    """Keeps py4j and PySpark from printing tracebacks because Java is gone, inside of the block."""
    root = logging.getLogger()
    root.addFilter(_is_not_of_py4j)
    for server in _SERVERS:
        server.handle_error = _handle_error  # type: ignore[assignment]
    try:
        yield
    finally:
        root.removeFilter(_is_not_of_py4j)
        for server in _SERVERS:
            del server.handle_error


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


def _handle_error(server: BaseServer, request: Any, client_address: Any) -> None:
    """Reports an error as servers do, unless the other end of the connection is gone."""
    if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
        BaseServer.handle_error(server, request, client_address)
