"""The Prometheus endpoint of a run: `/metrics` on the loopback address, by the standard library's server."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from penstock.errors import PenstockError
from penstock.monitor.prometheus import CONTENT_TYPE

#: Seconds that a client may take for its request, or for taking an answer.
_PATIENCE = 5


class PrometheusServer:
    """Serves what `text` gives, in threads of its own, until it is closed."""

    def __init__(self, port: int, text: Callable[[], str]) -> None:
        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(text))
        except (OSError, OverflowError) as error:
            said = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
            raise PenstockError(f"port {port}: {said}", "choose another port for --prometheus") from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="penstock-prometheus", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Returns where Prometheus finds it."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(text: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _PATIENCE

        def do_GET(self) -> None:
            # A page of another origin whose name leads here has that name for a host.
            if (self.headers.get("Host") or "").rpartition(":")[0] not in ("127.0.0.1", "localhost"):
                self.send_error(403)
                return
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404)
                return
            body = text().encode()
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: standard error is the run's."""

    return Handler
